"""Reading SQLite and nothing else: one statement, a file that cannot be written, limits on time and size."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp.server.mcpserver.exceptions import ToolError

from servers.data.models import Cell, Column, Table
from servers.filesystem import disk
from servers.filesystem.disk import Found
from servers.filesystem.room import MOST_CHARACTERS
from servers.filesystem.roots import Place, Spot, spot

SECONDS = 5.0
MOST_ROWS = 1_000
LARGEST_COPY = 256 << 20  # bytes: a database with changes beside it is read from a copy
_HEADER = b"SQLite format 3\0"
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: 16 << 20,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
_REFUSED_FUNCTIONS = {"load_extension", "fts3_tokenizer", "writefile", "readfile", "edit"}
_PRAGMAS = set(
    ("table_info table_xinfo table_list index_list index_info foreign_key_list data_version").split()
)


class Refused(sqlite3.DatabaseError):
    """A statement that would do more than read."""


@contextmanager
def reading(place: Place) -> Iterator[sqlite3.Connection]:
    """A connection that can only read the database at `place`. Raises ToolError when there is none.

    The file is opened with mode=ro. A database in WAL mode without a log is opened as immutable, and one with
    changes beside it (a log or a journal) is read from a copy of its own, so that no file is made next to it.
    """
    with spot(place) as here, disk.reading(here) as file:
        head, info = os.pread(file, 100, 0), os.fstat(file)
        if not head.startswith(_HEADER):
            raise ToolError(f"{place.said} is not a SQLite database. Name one, or use a .csv file.")
        beside = [Spot(here.folder, here.name + end, place.said) for end in ("-wal", "-journal")]
        beside = [one for one in beside if (found := disk.status(one)) and found.st_size]
        if beside:
            with _copied(here, beside) as copy, _guarded(f"{copy.as_uri()}?mode=rw", place.said) as base:
                yield base
            return
        mode = "mode=ro&immutable=1" if head[18] == 2 else "mode=ro"
        path = place.root.path.joinpath(*place.parts)
        with _guarded(f"{path.as_uri()}?{mode}", place.said) as base:
            same(path, info, place.said)
            yield base


def same(path: Path, info: os.stat_result, said: str) -> None:
    """Raise ToolError when a path leads to another file than was looked at: SQLite opens by path alone."""
    with suppress(OSError):
        now = os.stat(path, follow_symlinks=False)
        if (now.st_dev, now.st_ino) == (info.st_dev, info.st_ino) and path.resolve() == path:
            return
    raise ToolError(f"{said} was exchanged while it was opened. Look again, then ask again.")


@contextmanager
def _copied(here: Spot, beside: Sequence[Spot]) -> Iterator[Path]:
    with TemporaryDirectory(prefix="countersign-") as folder:
        for one in (here, *beside):
            with disk.reading(one) as file, open(Path(folder, one.name), "wb") as copy:
                if os.fstat(file).st_size > LARGEST_COPY:
                    raise ToolError(
                        f"{here.said} is in use and too large to be copied. Ask again when it is closed."
                    )
                disk.measure(file, here.said, copy_to=copy.fileno())
        yield Path(folder, here.name)


@contextmanager
def _guarded(uri: str, said: str) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=2, isolation_level=None)) as base:
            base.text_factory = _text
            base.execute("PRAGMA trusted_schema=OFF")
            base.execute("PRAGMA query_only=ON")
            base.execute("PRAGMA cell_size_check=ON")
            for limit, value in _LIMITS.items():
                base.setlimit(limit, value)
            base.execute("SELECT count(*) FROM sqlite_schema")
            base.set_authorizer(_authorize)
            limited(base, SECONDS)
            yield base
    except sqlite3.Error as error:
        raise ToolError(sentence(error, said)) from None


def limited(base: sqlite3.Connection, seconds: float) -> None:
    """Stop what runs on this connection when the seconds are over."""
    end = time.monotonic() + seconds
    base.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _authorize(action: int, first: str | None, second: str | None, _base: str | None, _by: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and ((first == "page_size" and second is None) or first in _PRAGMAS):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK  # asked when a search index is opened; SQLite itself lets nobody write there
    return sqlite3.SQLITE_DENY


def sentence(error: sqlite3.Error, said: str) -> str:
    """What SQLite says, as a sentence that says what to do next."""
    text = str(error)
    if "interrupted" in text:
        return f"The question took longer than {SECONDS:g} seconds and was stopped. Ask for less at once."
    if "one statement at a time" in text:
        return "That is more than one statement. Ask one question at a time; it can only read."
    if any(word in text for word in ("not authorized", "authorization", "prohibited", "readonly")):
        return "That would do more than read. This tool only reads: use write_sqlite to change rows."
    if "locked" in text or "busy" in text:
        return f"{said} is being written by another program. Try again in a minute."
    return f"SQLite says: {text}. Mend the question, or look at the tables with describe_database."


def select(
    base: sqlite3.Connection,
    sql: str,
    parameters: Sequence[Cell] | Mapping[str, Cell] = (),
    limit: int = MOST_ROWS,
    room: int = MOST_CHARACTERS,
) -> tuple[list[str], list[list[Cell]], bool]:
    """Columns, rows up to a number and to as many characters, and whether there are more.

    Raises ToolError or sqlite3.Error.
    """
    try:
        found = base.execute(sql, parameters)
    except (sqlite3.ProgrammingError, sqlite3.Warning, OverflowError) as error:
        raise ToolError(sentence(sqlite3.Error(str(error)), "")) from None
    if found.description is None:
        raise ToolError("That asks nothing. Write a SELECT.")
    rows: list[list[Cell]] = []
    for values in found:
        row = [_cell(value) for value in values]
        room -= sum(len(json.dumps(value)) + 12 for value in row) + 20
        if len(rows) == limit or room < 0:
            return _names(found), rows, True
        rows.append(row)
    return _names(found), rows, False


def _names(found: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in found.description]


def _cell(value: Cell | bytes) -> Cell:
    if isinstance(value, bytes):
        return f"(binary, {len(value)} bytes, SHA-256 {disk.sha256(value)[:16]}…)"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def known(base: sqlite3.Connection, table: str) -> None:
    """Raise ToolError when there is no such table or view."""
    names = [one.name for one in tables(base)]
    if table not in names:
        raise ToolError(f"There is no table “{table}”. The tables are: {', '.join(names) or 'none'}.")


def tables(base: sqlite3.Connection) -> list[Table]:
    """Every table and view that people made."""
    listed = base.execute(
        "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    ).fetchall()
    return [Table(name=name, kind=kind, columns=_columns(base, name)) for name, kind in listed]


def _columns(base: sqlite3.Connection, table: str) -> list[Column]:
    rows = base.execute(f"PRAGMA table_info({quoted(table)})").fetchall()
    return [
        Column(name=name, type=kind or "any", key=key > 0, required=bool(required))
        for _, name, kind, required, _, key in rows
    ]


def whole(place: Place) -> Found:
    """The database file as it is, hashed."""
    with spot(place) as here:
        return disk.examine(here)
