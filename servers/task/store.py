"""What the task tools take and answer, checked; and the SQLite file that holds tasks, one table, each change alone."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from servers.days import Days
from servers.filesystem.models import Sha256, Strict
from servers.lines import one_line
from servers.sqlite.files import FOREIGN, foreign

Status = Literal["open", "started", "done", "cancelled"]
Priority = Literal["low", "normal", "high", "urgent"]
Wanted = Literal["active", "open", "started", "done", "cancelled", "all"]
Why = Literal["overdue", "due today", "coming up", "in progress", "done"]
ABSENT = "absent"
LONGEST_TITLE, LONGEST_NOTES = 200, 8000
LARGEST_ID = 2**31

IdArg = Annotated[
    int, Field(ge=1, le=LARGEST_ID, description="The task's number, as the list of tasks has it.")
]
TitleArg = Annotated[str, Field(max_length=LONGEST_TITLE, description="What is to be done, in one line.")]
NotesArg = Annotated[str, Field(max_length=LONGEST_NOTES, description="Anything else worth knowing.")]
DayArg = Annotated[
    str,
    Field(
        max_length=40, description="A day: 2026-11-24, today, tomorrow, friday or in 3 days. none: no day."
    ),
]
ExpectedArg = Annotated[
    Sha256 | None,
    Field(description="SHA-256 of the task as it must be now. Empty: anything."),
]
ExpectedDay = Annotated[
    str | None,
    Field(description="The day that was shown, “” for none. Refused when the words now mean another one."),
]


class NewTask(Strict):
    """The arguments of create_task."""

    title: TitleArg
    due: DayArg | None = None
    priority: Priority | None = None
    notes: NotesArg | None = None


class Update(Strict):
    """The arguments of update_task. What is left out stays as it is."""

    task_id: IdArg
    title: TitleArg | None = None
    status: Status | None = None
    due: DayArg | None = None
    priority: Priority | None = None
    notes: NotesArg | None = None


class Task(Strict):
    """One row, exactly as it is stored."""

    id: IdArg
    title: TitleArg
    status: Status
    priority: Priority
    due: date | None
    notes: NotesArg
    created_at: AwareDatetime
    updated_at: AwareDatetime
    completed_at: AwareDatetime | None


class Saved(Task):
    sha256: str = Field(description="of the row as it is now")


class Deleted(BaseModel):
    id: int
    title: str
    sha256: Sha256 = Field(description="“absent”: what is there now")


class Thing(BaseModel):
    """The task, as a card lists what is affected."""

    name: str
    kind: str
    modified: datetime


class Found(BaseModel):
    """One task, or that there is none under this number."""

    exists: bool
    what: str = Field(description="like “task 12: Call the printer”")
    noun: str = Field(description="like “task 12”")
    title: str
    sha256: Sha256
    task: Task | None
    items: list[Thing]


class Words(BaseModel):
    """What a task says, as it is written."""

    title: str
    notes: str


class Plan(BaseModel):
    """What a change would do to one task."""

    what: str = Field(description="like “task 12: Call the printer”")
    title: str = Field(description="as it is now; of a new one as it will be")
    change: str = Field(description="the lines that go (-) and come (+)")
    sha256: Sha256 = Field(description="of the row as it is now")
    due: str = Field(description="the day it would be due; “” for none")
    before: Task | None
    words: Words = Field(description="as they are now; of a new task as they will be")


class Line(BaseModel):
    """A task in a list."""

    id: int
    title: str
    due: date | None
    priority: Priority
    status: Status


class Tasks(BaseModel):
    tasks: list[Line]
    total: int = Field(description="how many there are, listed or not")
    truncated: bool
    note: str = ""


class Item(Line):
    why: Why


class Briefing(BaseModel):
    day: date
    tasks: list[Item]
    overdue: int
    due_today: int
    coming_up: int
    in_progress: int = Field(description="started, and due on no day named here")
    done: int = Field(description="done since the day before began")
    truncated: bool
    note: str


SHOWN = ("title", "status", "priority", "due", "notes")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def fresh(asked: NewTask, days: Days) -> Task:
    """The row a create_task would give; its number comes with the writing. Raises ToolError."""
    now = days.now()
    return Task(
        id=1,
        title=_title(asked.title),
        status="open",
        priority=asked.priority or "normal",
        due=days.day(asked.due or ""),
        notes=_notes(asked.notes or ""),
        created_at=now,
        updated_at=now,
        completed_at=None,
    )


def updated(task: Task, asked: Update, days: Days) -> Task:
    """The row an update_task would give. Raises ToolError, also when nothing would change."""
    given: dict[str, Any] = {
        "title": None if asked.title is None else _title(asked.title),
        "status": asked.status,
        "priority": asked.priority,
        "notes": None if asked.notes is None else _notes(asked.notes),
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if asked.due is not None:
        changes["due"] = days.day(asked.due)
    after = task.model_copy(update=changes)
    if after == task:
        raise ToolError(f"Task {task.id} is like that already. Say what to change: {', '.join(SHOWN)}.")
    return after.model_copy(
        update={"updated_at": days.now(), "completed_at": _completed(task, after, days.now())}
    )


def _completed(before: Task, after: Task, now: datetime) -> datetime | None:
    if after.status != "done":
        return None
    return before.completed_at if before.status == "done" else now


def plan(before: Task | None, after: Task, what: str) -> Plan:
    """A change as the gate shows it. It names no time of now: it must be the same when it is looked at again."""
    now = before or after
    return Plan(
        what=what,
        title=one_line(now.title),
        change="\n".join(_lines(before, after)),
        sha256=sha256(before),
        due=str(after.due or ""),
        before=before,
        words=Words(title=now.title, notes=now.notes),
    )


def _lines(before: Task | None, after: Task) -> list[str]:
    told: list[str] = []
    for name in SHOWN if before else SHOWN[1:]:  # the first line has the title
        old, new = (_said(task, name) if task else [] for task in (before, after))
        if old != new and (before or not _is_usual(after, name)):
            told += [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]
    return told


def _said(task: Task, name: str) -> list[str]:
    value = getattr(task, name)
    if name == "notes":
        return [f"notes: {line}" for line in value.splitlines()]
    return [f"{name}: {one_line(str(value))}"] if value else []


def _is_usual(task: Task, name: str) -> bool:
    """Whether a new task has this value where nothing is said of it."""
    return bool(getattr(task, name) == {"status": "open", "priority": "normal"}.get(name))


def named(task: Task) -> str:
    return f"task {task.id}: {one_line(task.title)}"


def _title(text: str) -> str:
    title = text.strip()
    if not title:
        raise ToolError("The title is empty. Say in one line what is to be done.")
    if CONTROL.search(title) or UNWRITABLE.search(title):
        raise ToolError("The title has a line break or another character that is not text. Write one line.")
    return title


def _notes(text: str) -> str:
    if UNWRITABLE.search(text):
        raise ToolError("The notes hold a NUL or half a character. Write them in whole characters.")
    return text


def sha256(task: Task | None) -> str:
    """Of everything in the row; “absent” where there is none."""
    if task is None:
        return ABSENT
    whole = task.model_dump_json(include=set(Task.model_fields))
    return hashlib.sha256(whole.encode()).hexdigest()


def agree(task_id: int, task: Task | None, expected: str | None) -> None:
    """Raises ToolError when the row is not the one that was shown."""
    if expected is not None and sha256(task) != expected:
        now = "it is not there any more" if task is None else "it is not as it was shown"
        raise ToolError(f"Task {task_id} has changed since it was shown: {now}. Look again, then ask again.")


OURS = 0x54534B31  # the application id of our files, so that nobody else's is written to
COLUMNS = tuple(Task.model_fields)
WAIT_SECONDS = 5.0
TABLE = """CREATE TABLE task (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- AUTOINCREMENT: a number is never given twice
    title TEXT NOT NULL, status TEXT NOT NULL, priority TEXT NOT NULL, due TEXT, notes TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, completed_at TEXT
) STRICT"""
BY_URGENCY = """due IS NULL, due, CASE priority WHEN 'urgent' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2
    ELSE 3 END, id"""


@dataclass(frozen=True)
class Store:
    """The tasks in one file. A connection lives as long as one call."""

    path: Path

    @classmethod
    def at(cls, path: Path) -> Store:
        """The store in this file, which is made when it is not there. Raises ValueError with a sentence."""
        if not path.parent.is_dir():
            raise ValueError(f"The folder {path.parent} is not there. Make it, or name another file.")
        if path.exists() and not path.is_file():
            raise ValueError(f"{path} is not a file. Name another one.")
        try:
            with closing(_open(path)) as db, _alone(db):
                _ours(db, path)
        except ToolError as error:
            raise ValueError(str(error)) from error
        except sqlite3.Error as error:
            raise ValueError(
                f"{path} cannot be used as a list of tasks: {error}. Name another file."
            ) from error
        return cls(path.resolve())

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that cannot write."""
        with _spoken(), closing(_open(self.path)) as db:
            db.execute("PRAGMA query_only = ON")
            yield db

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """The only change going on: all of it, or none."""
        with _spoken(), closing(_open(self.path)) as db, _alone(db):
            yield db


def _open(path: Path) -> sqlite3.Connection:
    """A connection, which takes back a change that a crash cut off. Raises ToolError for a journal of others."""
    if foreign(path):
        raise ToolError(FOREIGN.format(path.name))
    db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    db.row_factory = sqlite3.Row
    return db


@contextmanager
def _alone(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.rollback()
        raise
    db.commit()


def _ours(db: sqlite3.Connection, path: Path) -> None:
    [mark] = db.execute("PRAGMA application_id").fetchone()
    if mark == OURS:
        return
    if mark or db.execute("SELECT 1 FROM sqlite_master").fetchone():
        raise ValueError(f"{path} is another program's database. Name another file.")
    db.execute(TABLE)
    db.execute(f"PRAGMA application_id = {OURS}")


@contextmanager
def _spoken() -> Iterator[None]:
    """What SQLite refuses, as a sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise ToolError("The list of tasks is being changed. Try again in a moment.") from error
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_FULL:
            raise ToolError("The disk is full. Free some space and try again.") from error
        if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN):
            raise ToolError(
                "The server may not write its file. Ask whoever set it up for the right."
            ) from error
        raise


def found(db: sqlite3.Connection, where: str = "1", values: Sequence[object] = ()) -> Iterator[Task]:
    """The rows that fit, the most urgent first."""
    for row in db.execute(f"SELECT * FROM task WHERE {where} ORDER BY {BY_URGENCY}", values):
        try:
            yield Task(**{name: row[name] for name in COLUMNS})
        except ValidationError as error:
            raise ToolError(
                f"Task {row['id']} was written by another program and cannot be read. Mend it, or name another file."
            ) from error


def one(db: sqlite3.Connection, task_id: int) -> Task | None:
    return next(found(db, "id = ?", [task_id]), None)


def last_id(db: sqlite3.Connection) -> int:
    """The highest number that was ever given."""
    row = db.execute("SELECT seq FROM sqlite_sequence WHERE name = 'task'").fetchone()
    return int(row[0]) if row else 0


def add(db: sqlite3.Connection, task: Task) -> Task:
    """A new row under the next number. The number in `task` does not count."""
    number = last_id(db) + 1
    _insert(db, new := task.model_copy(update={"id": number}))
    return new


def put(db: sqlite3.Connection, task: Task) -> None:
    """Make the row exactly this, whether it is there or not."""
    db.execute("DELETE FROM task WHERE id = ?", [task.id])
    _insert(db, task)


def remove(db: sqlite3.Connection, task_id: int) -> None:
    db.execute("DELETE FROM task WHERE id = ?", [task_id])


def _insert(db: sqlite3.Connection, task: Task) -> None:
    values = task.model_dump(mode="json")
    marks = ", ".join("?" for _ in COLUMNS)
    db.execute(
        f"INSERT INTO task ({', '.join(COLUMNS)}) VALUES ({marks})", [values[name] for name in COLUMNS]
    )
