"""Pages of what was asked for by, or through, a token: newest first, at the same cost however much there is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import Token, TokenKind
from gate.rules.action import Action, Session
from gate.rules.task import Task
from storage import tables
from storage.api_tables import made
from storage.columns import clock
from storage.database import ask
from storage.rows import to_action, to_task
from storage.tables import actions
from storage.task_tables import tasks


class SqlPages:
    """Methods raise Unavailable when the database cannot be had, and LookupError where nothing has the id `after`."""

    def __init__(self, engine: AsyncEngine, offset: timedelta = timedelta(0)) -> None:
        self._engine = engine
        self.offset = offset

    async def actions(
        self, token: Token, *, pending: bool, session: Session | None, after: str, limit: int
    ) -> Sequence[Action]:
        """Of an agent what it proposed, the steps of its tasks included; of a person what they asked for."""
        asked = _page(actions, token, after)
        if token.kind is TokenKind.AGENT:
            mine = select(made.c.id).where(made.c.token == token.id)
            asked = asked.where(or_(actions.c.id.in_(mine), actions.c.task.in_(mine)))
        if pending:
            now = select(clock(self.offset)).scalar_subquery()
            asked = asked.where(tables.PREPARED, actions.c.expires_at > now)
        if session is not None:
            asked = asked.where(actions.c.session == session)
        return [to_action(row) for row in await self._rows(actions, token, after, asked.limit(limit))]

    async def tasks(self, token: Token, *, after: str, limit: int) -> Sequence[Task]:
        asked = _page(tasks, token, after)
        if token.kind is TokenKind.AGENT:
            asked = asked.where(tasks.c.id.in_(select(made.c.id).where(made.c.token == token.id)))
        return [to_task(row) for row in await self._rows(tasks, token, after, asked.limit(limit))]

    async def _rows(self, table: Any, token: Token, after: str, asked: Any) -> Sequence[Any]:
        rows = await ask(self._engine, asked)
        if after and not rows:
            there = select(table.c.id).where(table.c.id == after, *_own(table, token))
            if not await ask(self._engine, there):
                raise LookupError(after)
        return rows


def _own(table: Any, token: Token) -> tuple[Any, ...]:
    return table.c.team == token.team, table.c.requester == token.user


def _page(table: Any, token: Token, after: str) -> Any:
    """What the token's person asked for, newest first, from behind the row with the id `after`."""
    order = (table.c.created_at, table.c.id)
    asked = select(table).where(*_own(table, token))
    if after:
        there = table.alias("there")
        at = select(there.c.created_at).where(there.c.id == after).scalar_subquery()
        asked = asked.where(tuple_(*order) < tuple_(at, after))
    return asked.order_by(*(column.desc() for column in order))
