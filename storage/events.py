"""The stream of events as it stands in SQL: the table decides what happened, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import EventFilter, StreamEvent, Subject
from gate.rules.action import Action
from gate.rules.task import Task
from storage.api_tables import made
from storage.columns import clock, unpacked
from storage.database import ask
from storage.rows import to_action, to_task
from storage.tables import actions
from storage.task_tables import events, tasks


class EventLog:
    """Methods raise Unavailable when the database cannot be had."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def after(self, seq: int, limit: int) -> Sequence[StreamEvent]:
        """The events behind `seq`, oldest first, each with what it is about as that stands now."""
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
        if not rows:
            return []
        about = await self._actions(set(map(_about, rows)))
        of_tasks = await self._tasks({row.task for row in rows})
        ids = {
            *about,
            *of_tasks,
            *(one.task for one in about.values()),
            *(one.undoes for one in about.values()),
        }
        makers = {
            row.id: row.token
            for row in await ask(self._engine, select(made).where(made.c.id.in_(ids - {""})))
        }
        return [_stream_events(row, about, of_tasks, makers) for row in rows]

    async def ends(self) -> tuple[int, int]:
        """The numbers of the oldest event that is kept and of the newest; 0, 0 without any."""
        ((first, last),) = await ask(self._engine, select(func.min(events.c.seq), func.max(events.c.seq)))
        return first or 0, last or 0

    async def _actions(self, ids: Collection[str]) -> dict[str, Action]:
        rows = await ask(self._engine, select(actions).where(actions.c.id.in_(set(ids) - {""})))
        return {row.id: to_action(row) for row in rows}

    async def _tasks(self, ids: Collection[str]) -> dict[str, Task]:
        rows = await ask(self._engine, select(tasks).where(tasks.c.id.in_(set(ids) - {""})))
        return {row.id: to_task(row) for row in rows}


def _about(row: Any) -> str:
    """The action that an event is about: what is reviewed outside of plans is its own execution."""
    body = unpacked(row.body)
    return str(body.get("action_id") or body.get("executionId", ""))


def _stream_events(
    row: Any, about: Mapping[str, Action], of_tasks: Mapping[str, Task], makers: Mapping[str, str]
) -> StreamEvent:
    action = about.get(_about(row))
    task = None if action else of_tasks.get(row.task)
    ids = (action.id, action.task, action.undoes) if action else (row.task,)
    made_by = frozenset(makers[one] for one in ids if one in makers)
    subject = Subject(action, task, made_by)
    return StreamEvent(row.seq, row.at, row.kind, row.session, row.task, dict(unpacked(row.body)), subject)


@cache
def event_of_row(offset: timedelta) -> Any:
    """Insert an event, at the time of the database's clock."""
    return insert(events).values(at=clock(offset))
