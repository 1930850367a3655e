"""The SQLite file: its one table, rows in and out, each change alone and only onto what was expected."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import ValidationError

from servers.sqlite.files import FOREIGN, foreign
from servers.task.models import Task

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
