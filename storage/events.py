"""The stream of events as it stands in SQL: the table decides what happened, and in which order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import EventFilter, StreamEvent, Subject
from gate.rules.action import Json
from storage.audiences import subjects
from storage.columns import clock, unpacked
from storage.database import ask
from storage.task_tables import events


class EventLog:
    """Methods raise Unavailable when the database cannot be had."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def after(self, seq: int, limit: int) -> Sequence[StreamEvent]:
        """The events behind `seq`, oldest first, each with who may know of what it is about."""
        return await self._found(select(events).where(events.c.seq > seq).limit(limit))

    async def between(self, seq: int, until: int, wanted: EventFilter) -> Sequence[StreamEvent]:
        """What is wanted of the events behind `seq` up to `until`, oldest first."""
        found = select(events).where(events.c.seq > seq, events.c.seq <= until, events.c.team == wanted.team)
        if wanted.kind:
            found = found.where(events.c.kind == wanted.kind)
        if wanted.task:
            found = found.where(events.c.task == wanted.task)
        return await self._found(found)

    async def _found(self, statement: Any) -> Sequence[StreamEvent]:
        rows = await ask(self._engine, statement.order_by(events.c.seq))
        bodies = [dict(unpacked(row.body)) for row in rows]
        about = [_about(body) for body in bodies]
        known = await subjects(self._engine, about, {row.task for row in rows})
        return [
            StreamEvent(
                row.seq, row.at, row.kind, row.session, row.task, body,
                known.get(action) or known.get(row.task) or Subject(),
            )
            for row, body, action in zip(rows, bodies, about, strict=True)
        ]  # fmt: skip

    async def ends(self) -> tuple[int, int]:
        """The numbers of the oldest event that is kept and of the newest; 0, 0 without any."""
        ((first, last),) = await ask(self._engine, select(func.min(events.c.seq), func.max(events.c.seq)))
        return first or 0, last or 0


def _about(body: Mapping[str, Json]) -> str:
    """The action that an event is about: what is reviewed outside of plans is its own execution."""
    return str(body.get("action_id") or body.get("executionId", ""))


@cache
def event_of_row(offset: timedelta) -> Any:
    """Insert an event, at the time of the database's clock."""
    return insert(events).values(at=clock(offset))
