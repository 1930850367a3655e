"""Grants, taints and history in SQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any, Protocol

from sqlalchemy import CursorResult, Row, select, update

from gate.action import Action, Session
from gate.grants import Grant
from storage.columns import clock
from storage.learnt_tables import STANDING, grants, taints
from storage.rows import insert, plain
from storage.tables import SUCCEEDED, actions

COLUMNS = [grants.c[field.name] for field in fields(Grant)]


def to_grant(row: Row[Any]) -> Grant:
    return Grant(**{field.name: row._mapping[field.name] for field in fields(Grant)})


class Executing(Protocol):
    """What is needed of a transaction."""

    async def execute(self, statement: Any, values: Any = None) -> CursorResult[Any]: ...


class LearntTx:
    """gate.learnt.LearntTx. `dialect`: of the database; `offset` is added to its clock."""

    def __init__(self, tx: Executing, dialect: str, offset: timedelta) -> None:
        self._tx, self._dialect, self._clock = tx, dialect, clock(offset)

    async def give(self, grant: Grant) -> bool:
        row = {**plain(grant), "team": grant.session.team}
        new = insert(grants, self._dialect).values(row).on_conflict_do_nothing()
        return (await self._tx.execute(new.returning(grants.c.id))).first() is not None

    async def grant(self, grant_id: str) -> Grant | None:
        found = select(*COLUMNS).where(grants.c.id == grant_id).with_for_update()  # no-op on SQLite
        row = (await self._tx.execute(found)).one_or_none()
        return to_grant(row) if row else None

    async def grants_for(self, action: Action) -> tuple[Grant, ...]:
        found = select(*COLUMNS).where(
            STANDING,
            grants.c.session == action.session,
            grants.c.until > self._clock,
            grants.c.user == action.requester,
            grants.c.server == action.server,
            grants.c.tool == action.tool,
        )
        rows = await self._tx.execute(found.order_by(grants.c.given_at, grants.c.id))
        return tuple(map(to_grant, rows))

    async def revoke(self, grant_id: str, user: str) -> bool:
        standing = (grants.c.id == grant_id, STANDING, grants.c.until > self._clock)
        ended = update(grants).where(*standing).values(revoked_at=self._clock, revoked_by=user)
        return (await self._tx.execute(ended.returning(grants.c.id))).first() is not None

    async def taint(self, session: Session, tool: str) -> None:
        new = insert(taints, self._dialect).values(session=session, tool=tool, at=self._clock)
        latest = {"at": new.excluded.at}
        await self._tx.execute(new.on_conflict_do_update(index_elements=["session", "tool"], set_=latest))

    async def tainted(self, session: Session, since: datetime | None = None) -> bool:
        found = select(taints.c.tool).where(taints.c.session == session)
        found = found.where(taints.c.at >= since) if since else found
        return (await self._tx.execute(found.limit(1))).first() is not None


class Learnt:
    """gate.learnt.Learnt. `ask` answers questions, each with its rows; `offset` is added to the clock."""

    def __init__(
        self, ask: Callable[..., Awaitable[list[Sequence[Row[Any]]]]], offset: Callable[[], timedelta]
    ) -> None:
        self._ask, self._offset = ask, offset

    async def grant(self, grant_id: str) -> Grant | None:
        (rows,) = await self._ask(select(*COLUMNS).where(grants.c.id == grant_id))
        return to_grant(rows[0]) if rows else None

    async def grants(self, session: Session) -> tuple[Grant, ...]:
        return await self._standing(grants.c.session == session)

    async def grants_of(self, team: str, user: str) -> tuple[Grant, ...]:
        return await self._standing(grants.c.team == team, grants.c.user == user)

    async def _standing(self, *whose: Any) -> tuple[Grant, ...]:
        now = select(clock(self._offset())).scalar_subquery()
        found = select(*COLUMNS).where(STANDING, *whose, grants.c.until > now)
        (rows,) = await self._ask(found.order_by(grants.c.given_at.desc(), grants.c.id.desc()))
        return tuple(map(to_grant, rows))

    async def tainted(self, session: Session, since: datetime) -> bool:
        (rows,) = await self._ask(
            select(taints.c.tool).where(taints.c.session == session, taints.c.at >= since).limit(1)
        )
        return bool(rows)

    async def went_well(self, action: Action) -> bool:
        like_it = (
            actions.c.team == action.session.team,
            actions.c.server == action.server,
            actions.c.tool == action.tool,
            actions.c.definition == action.definition,
        )
        other = select(actions.c.id).where(SUCCEEDED, *like_it, actions.c.id != action.id)
        (rows,) = await self._ask(other.limit(1))
        return bool(rows)
