"""Values to rows of their tables and back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Table
from sqlalchemy.dialects import postgresql, sqlite

from gate.action import Action
from gate.audit import Entry, Line
from gate.states import State
from gate.talk import Exchange, Turn
from gate.task import Task
from gate.task_states import TaskState
from storage.columns import clock

LOOK = timedelta(minutes=10)  # longer than a card waits: by then every task should have gone on
GRACE = timedelta(seconds=30)  # in which somebody should have begun to carry out what was approved
ACTION = [field.name for field in fields(Action)]
TASK = [field.name for field in fields(Task)]
DRIVEN = (TaskState.CLARIFYING, TaskState.PLANNING, TaskState.RUNNING)  # goes on without anybody's doing
# Fields of an entry whose columns have the names of spec 000.
RENAMED = {
    "session": "session_id",
    "action": "action_id",
    "tool": "tool_name",
    "status": "result_status",
    "execution_ms": "execution_time_ms",
}
ENTRY = {field.name: RENAMED.get(field.name, field.name) for field in fields(Entry)}


def insert(table: Table, dialect: str) -> Any:
    """An INSERT that knows ON CONFLICT, which both databases have, each in a construct of its own."""
    return {"sqlite": sqlite.insert, "postgresql": postgresql.insert}[dialect](table)


def plain(value: Any) -> dict[str, Any]:
    """The row of a dataclass whose fields are columns of the same names."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def action_row(action: Action, offset: timedelta) -> dict[str, Any]:
    return {**plain(action), "team": action.session.team, "due": due(action, offset)}


def due(action: Action, offset: timedelta) -> datetime | ColumnElement[datetime] | None:
    """When the janitor should look at the action, if it stands as it does now by then; None: never."""
    if action.state is State.PREPARED:
        return action.expires_at
    if action.state is State.EXECUTING:
        return action.claim.until if action.claim else action.created_at
    return clock(offset + GRACE) if action.state is State.APPROVED else None


def to_action(row: Row[Any]) -> Action:
    found = row._mapping
    return Action(**{name: found[name] for name in ACTION})


def to_turn(row: Row[Any], exchanges: Iterable[Row[Any]]) -> Turn:
    said = tuple(map(to_exchange, exchanges))
    return Turn(row.id, row.session, row.requester, row.text, row.at, said, row.task, row.mode)


def to_exchange(row: Row[Any]) -> Exchange:
    return Exchange(row.reply, row.told, row.memo, row.usage)


def task_row(task: Task, offset: timedelta) -> dict[str, Any]:
    waits = task.state is TaskState.CLARIFYING and bool(task.questions)
    look = clock(offset + LOOK) if task.state in DRIVEN and not waits else None
    return {**plain(task), "team": task.session.team, "holds_thread": task.holds_thread, "due": look}


def to_task(row: Row[Any]) -> Task:
    found = row._mapping
    return Task(**{name: found[name] for name in TASK})


def entry_row(entry: Entry) -> dict[str, Any]:
    return {column: getattr(entry, name) for name, column in ENTRY.items()}


def to_line(row: Row[Any]) -> Line:
    found = row._mapping
    entry = Entry(**{name: found[column] for name, column in ENTRY.items()})
    return Line(row.seq, row.timestamp, entry, row.prev, row.mac)
