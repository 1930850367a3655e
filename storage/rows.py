"""Values to rows of their tables and back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any, NoReturn, TypeVar

from sqlalchemy import ColumnElement, Row, Table
from sqlalchemy.dialects import postgresql, sqlite

from gate.rules.access import Audience
from gate.rules.action import ALTERED, EARLIER, Action, Origin, Vote
from gate.rules.action_states import State
from gate.rules.audit import Entry, Line
from gate.rules.due_times import due_after
from gate.rules.planner_port import Exchange, Incoming, Turn
from gate.rules.plans import without_results
from gate.rules.ports import Limits
from gate.rules.task import (
    Clarification,
    Input,
    Pause,
    Planning,
    Request,
    Specification,
    Task,
    TaskOutcome,
)
from storage.columns import Stored, clock, unpacked
from storage.row_macs import RowMacs
from storage.tables import actions, exchanges, inbox, turns, votes
from storage.task_tables import tasks

T = TypeVar("T")
LARGE = 100_000  # characters of rows: reading these takes 20 ms
PAGE_CHARS = 1_000_000  # of the rows of one page, unless the first alone has more
GRACE = timedelta(seconds=30)  # in which somebody should have begun to carry out what was approved
ORIGIN = [field.name for field in fields(Origin)]
# Fields of an action whose columns have their names; its origin has a column for each field.
ACTION = [field.name for field in fields(Action) if field.name not in ("origin", "flaw")]
# What stands beside the parts of an action, to be asked for. It is not read from there.
PROPOSAL_COLUMNS = ("server", "tool", "definition", "review", "expires_at")
# Parts of a task that have a column for each of their fields.
TASK_PARTS: dict[str, Any] = {
    "request": Request,
    "clarification": Clarification,
    "specification": Specification,
    "planning": Planning,
    "pause": Pause,
    "input": Input,
    "outcome": TaskOutcome,
}
KEPT_FLAW = {EARLIER: "", ALTERED: "altered"}  # what stands in the place of a MAC
# Fields of an entry whose columns have the names of docs/promises.md ACT-19.
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


def loaded(kind: Callable[..., T], row: Row[Any], **others: Any) -> T:
    """The dataclass whose fields stand in the columns of the same names; `others` stand in none."""
    found, names = row._mapping, _names(kind)
    return kind(**{name: unpacked(found[name]) for name in names if name not in others}, **others)


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def action_row(action: Action, offset: timedelta, seals: RowMacs) -> dict[str, Any]:
    """The row with its MAC; one that was read with a flaw keeps it, whatever else is changed of it."""
    row = {name: getattr(action, name) for name in (*ACTION, *ORIGIN, *PROPOSAL_COLUMNS)}
    row["audience"] = Audience(action.approvers, action.private)
    row["team"], row["held"] = action.session.team, action.under_review  # a MAC covers the name of the column
    mac = KEPT_FLAW[action.flaw] if action.flaw else seals.mac(actions, row)
    return {**row, "mac": mac, "due": due(action, offset)}


def inbox_row(incoming: Incoming, seals: RowMacs) -> dict[str, Any]:
    """The row of a message that nobody reads yet, with its MAC."""
    return seals.sealed(inbox, {**plain(incoming), "reader": ""})


def due(action: Action, offset: timedelta) -> datetime | ColumnElement[datetime] | None:
    """When the sweep should look at the action, if it stands as it does now by then; None: never."""
    if action.state is State.PREPARED:
        return action.expires_at
    if action.state is State.EXECUTING:
        return action.claim.until if action.claim else action.created_at
    return clock(offset + GRACE) if action.state is State.APPROVED else None


def to_action(row: Row[Any], seals: RowMacs | None = None) -> Action:
    """The action of a row. Without `seals` its MAC is not looked at, which is enough to show it: it counts as flawed,
    so that nothing can be decided by it."""
    flaw = seals.flaw(actions, row) if seals else ALTERED
    return loaded(Action, row, origin=loaded(Origin, row), flaw=flaw)


async def to_actions(rows: Sequence[Row[Any]], seals: RowMacs | None = None) -> tuple[Action, ...]:
    """The actions of rows."""
    return await _read(rows, lambda: tuple(to_action(row, seals) for row in rows))


async def _read(rows: Sequence[Row[Any]], read: Callable[[], T]) -> T:
    """What these rows hold; read beside the event loop where they are large, as one can take 0.1 s."""
    return await asyncio.to_thread(read) if sum(map(size, rows)) > LARGE else read()


def size(row: Row[Any]) -> int:
    """The characters of its parts together."""
    return sum(len(value) for value in row if isinstance(value, Stored))


class RowAltered(Exception):
    """A stored row is not as it was written, and nothing goes on from it."""


def raise_altered(kind: str, of: str) -> NoReturn:
    raise RowAltered(f"The stored {kind} {of} is not as it was written: it was changed in the database.")


def to_votes(rows: Iterable[Row[Any]], seals: RowMacs) -> tuple[Vote, ...]:
    """The votes that are as they were written; others count for nothing."""
    return tuple(loaded(Vote, row) for row in rows if seals.holds(votes, row))


def to_voted(rows: Sequence[Row[Any]], seals: RowMacs) -> tuple[Action, tuple[Vote, ...]]:
    """The action of rows that each have one vote beside it, or none, and its votes. There is a row at least."""
    given = [_side(row, votes) for row in rows if row._mapping[votes.c.action] is not None]
    return to_action(_side(rows[0], actions), seals), to_votes(given, seals)


def to_turn(row: Row[Any], said: Sequence[Row[Any]], seals: RowMacs) -> Turn | None:
    """The turn with what was said in it; None where any of it is not as it was written."""
    if not seals.holds(turns, row) or not all(seals.holds(exchanges, one) for one in said):
        return None
    replies = tuple(map(to_exchange, said))
    return Turn(row.id, row.session, row.requester, row.text, row.at, replies, row.task, row.mode)


def to_turns(rows: Iterable[Row[Any]], said: Iterable[Row[Any]], seals: RowMacs) -> Iterator[Turn | None]:
    """`to_turn` of several turns. `said`: what was said in all of them, in order."""
    told: dict[str, list[Row[Any]]] = {}
    for one in said:
        told.setdefault(one.turn, []).append(one)
    return (to_turn(row, told.get(row.id, []), seals) for row in rows)


def to_joined_turn(rows: Sequence[Row[Any]], seals: RowMacs) -> Turn | None:
    """The turn of rows that each have one exchange beside it, or none; as `to_turn`. There is a row at least."""
    said = [_side(row, exchanges) for row in rows if row._mapping[exchanges.c.turn] is not None]
    return to_turn(_side(rows[0], turns), said, seals)


def _side(row: Row[Any], table: Table) -> Any:
    """The columns of one table in a row that has those of two."""
    found = {column.name: row._mapping[column] for column in table.c}
    return SimpleNamespace(_mapping=found, **found)


def to_exchange(row: Row[Any]) -> Exchange:
    return loaded(Exchange, row)


def task_row(task: Task) -> dict[str, Any]:
    """The row without when it is due."""
    row = plain(task)
    parts = [plain(row.pop(name)) for name in TASK_PARTS]
    columns = {name: value for part in parts for name, value in part.items()}
    return {**row, **columns, "team": task.session.team, "holds_thread": task.holds_thread}


def task_due(task: Task, offset: timedelta, limits: Limits) -> ColumnElement[datetime] | None:
    """When the sweep should look at the task, if it waits for the same by then; None: never."""
    seconds = due_after(task, limits)
    return None if seconds is None else clock(offset + timedelta(seconds=seconds))


def to_task(row: Row[Any]) -> Task:
    return loaded(Task, row, **{name: loaded(kind, row) for name, kind in TASK_PARTS.items()})


async def to_tasks(rows: Sequence[Row[Any]], seals: RowMacs) -> tuple[Task, ...]:
    """The tasks that are as they were written; others are as if they were not there."""
    return await _read(rows, lambda: tuple(to_task(row) for row in rows if seals.holds(tasks, row)))


async def to_listed_task(row: Row[Any], seals: RowMacs) -> Task | None:
    """As `to_one_task`, without the results of its steps: it is never to be written back."""
    return await _read([row], lambda: without_results(to_task(row)) if seals.holds(tasks, row) else None)


async def to_one_task(row: Row[Any] | None, seals: RowMacs) -> Task | None:
    """As `to_tasks`, of one row, or of none."""
    return next(iter(await to_tasks([row] if row else [], seals)), None)


def entry_row(entry: Entry) -> dict[str, Any]:
    return {column: getattr(entry, name) for name, column in ENTRY.items()}


def to_line(row: Row[Any]) -> Line:
    found = row._mapping
    given = {name: found[column] for name, column in ENTRY.items()}
    if row.format == 1:
        given["requester"] = given["requester"] or ""
    return Line(row.seq, row.timestamp, Entry(**given), row.prev, row.mac, row.team, row.format)
