"""Pages of what was asked for by, or through, a token: newest first, at the same cost however much there is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import Table, and_, func, or_, select, tuple_
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import Listed, Subject, Token, TokenKind
from gate.rules.action import Action, Session
from gate.rules.task import Task
from storage import tables
from storage.api_tables import made
from storage.audiences import PARTIES, subjects, with_makers
from storage.columns import Packed, Words, clock
from storage.database import ask
from storage.rows import PAGE_CHARS, to_action, to_task
from storage.tables import actions, turns
from storage.task_tables import tasks

T = TypeVar("T")


class SqlPages:
    """Methods raise Unavailable when the database cannot be had, and LookupError where nothing has the id `after`."""

    def __init__(self, engine: AsyncEngine, offset: timedelta = timedelta(0)) -> None:
        self._engine = engine
        self.offset = offset

    async def actions(
        self, token: Token, *, pending: bool, session: Session | None, after: str, limit: int
    ) -> Listed[Action]:
        """Of an agent what it proposed, the steps of its tasks included; of a person what they asked for."""
        asked = _page(actions, token, after)
        if token.kind is TokenKind.AGENT:
            mine = select(made.c.id).where(made.c.token == token.id)
            asked = asked.where(or_(actions.c.id.in_(mine), actions.c.task.in_(mine)))
        if pending:
            asked = asked.where(*self._undecided())
        if session is not None:
            asked = asked.where(actions.c.session == session)
        return await self._listed(
            actions, await self._sizes(actions, token, after, asked, limit), limit, to_action
        )

    async def tasks(self, token: Token, *, after: str, limit: int) -> Listed[Task]:
        asked = _page(tasks, token, after)
        if token.kind is TokenKind.AGENT:
            asked = asked.where(tasks.c.id.in_(select(made.c.id).where(made.c.token == token.id)))
        return await self._listed(tasks, await self._sizes(tasks, token, after, asked, limit), limit, to_task)

    async def waiting(self, team: str, session: Session | None) -> dict[str, Subject]:
        """id -> what a ruling on it needs, of all actions that wait for a decision, newest first."""
        asked = select(*PARTIES).where(*self._undecided(), actions.c.team == team)
        if session is not None:
            asked = asked.where(actions.c.session == session)
        rows = await ask(self._engine, asked.order_by(*(column.desc() for column in tables.ORDER)))
        return await with_makers(self._engine, rows, {})

    async def waiting_of(self, task: Task) -> Sequence[str]:
        """The ids of the actions of a task that wait for a decision, oldest first; without what is asked again once it
        is over."""
        its_turns = select(turns.c.id).where(turns.c.task == task.id, turns.c.session == task.session)
        own = or_(actions.c.task == task.id, and_(actions.c.turn.in_(its_turns), actions.c.renews == ""))
        asked = select(actions.c.id).where(*self._undecided(), actions.c.session == task.session, own)
        return [row.id for row in await ask(self._engine, asked.order_by(*tables.ORDER))]

    async def load(self, ids: Sequence[str], limit: int) -> Listed[Action]:
        """The first of these actions, in their order."""
        asked = select(actions.c.id, _size(actions)).where(actions.c.id.in_(ids[:limit]))
        sizes = dict(map(tuple, await ask(self._engine, asked)))
        known = [(one, sizes[one]) for one in ids[:limit] if one in sizes]
        page = await self._listed(actions, known, limit, to_action)
        return Listed(page.items, page.more or len(ids) > limit)

    async def subjects(self, of_actions: Collection[str], of_tasks: Collection[str]) -> dict[str, Subject]:
        """id -> what a ruling on it needs, of the actions and tasks that exist."""
        return await subjects(self._engine, of_actions, of_tasks)

    def _undecided(self) -> tuple[Any, ...]:
        return tables.PREPARED, actions.c.expires_at > select(clock(self.offset)).scalar_subquery()

    async def _sizes(
        self, table: Table, token: Token, after: str, asked: Any, limit: int
    ) -> Sequence[tuple[str, int]]:
        """The id and size of each row of a page and of one more."""
        rows = await ask(self._engine, asked.limit(limit + 1))
        if after and not rows:
            there = select(table.c.id).where(table.c.id == after, *_own(table, token))
            if not await ask(self._engine, there):
                raise LookupError(after)
        return [tuple(row) for row in rows]

    async def _listed(
        self, table: Table, sizes: Sequence[tuple[str, int]], limit: int, read: Callable[[Any], T]
    ) -> Listed[T]:
        """As many of these rows as a page has room for. They are read beside the loop: one can take 0.1 s."""
        ids = list(_fitting(sizes[:limit]))
        rows = await ask(self._engine, select(table).where(table.c.id.in_(ids))) if ids else []
        found = {row.id: row for row in rows}
        items = await asyncio.to_thread(lambda: [read(found[one]) for one in ids if one in found])
        return Listed(items, len(sizes) > len(ids))


def _fitting(sizes: Sequence[tuple[str, int]]) -> Iterator[str]:
    """The ids of the first rows that are no larger together than PAGE_CHARS; of one at least."""
    room = PAGE_CHARS
    for place, (one, size) in enumerate(sizes):
        room -= size
        if place and room < 0:
            return
        yield one


def _size(table: Table) -> Any:
    """The characters of a row's parts and words together."""
    return sum(func.length(column) for column in table.c if isinstance(column.type, Packed | Words))


def _own(table: Any, token: Token) -> tuple[Any, ...]:
    return table.c.team == token.team, table.c.requester == token.user


def _page(table: Any, token: Token, after: str) -> Any:
    """Ids and sizes of what the token's person asked for, newest first, from behind the row with the id `after`."""
    order = (table.c.created_at, table.c.id)
    asked = select(table.c.id, _size(table)).where(*_own(table, token))
    if after:
        there = table.alias("there")
        at = select(there.c.created_at).where(there.c.id == after).scalar_subquery()
        asked = asked.where(tuple_(*order) < tuple_(at, after))
    return asked.order_by(*(column.desc() for column in order))
