"""Databases that others wrote, opened by a descriptor for reading only, and asked. Runs in the sandbox."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pydantic_core import to_json

from servers.sandbox.confinement import name_of
from servers.sandbox.protocol import Refused
from servers.sqlite.files import too_long
from servers.sqlite.tables_read import TablesRead

Cell = str | int | float | bool | None
Given = Sequence[Cell] | Mapping[str, Cell]  # the parameters of a statement
MOST_DESCRIPTORS = 256  # more than the process may have open
_STEPS = 10_000  # of SQLite's machine between two looks at the clock
_BATCH = 10_000  # rows of a table that are made JSON together
_PLAIN = {str, int, type(None)}  # what is the same in JSON
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


@dataclass(frozen=True)
class Asked:
    """A database: its descriptor, how people call it, and how many seconds a statement may take."""

    file: int
    said: str
    seconds: float


@contextmanager
def opened(asked: Asked) -> Iterator[sqlite3.Connection]:
    """A connection that can only read the database. Raises Refused.

    It is opened as immutable, so SQLite looks for no journal and no log, takes no lock and makes no file: the caller
    holds the lock, and has seen that no change is unfinished.
    """
    with spoken(asked), closing(_connected(asked.file)) as base:
        base.text_factory = _text
        base.execute("PRAGMA temp_store=MEMORY")
        base.execute("PRAGMA trusted_schema=OFF")
        base.execute("PRAGMA query_only=ON")
        base.execute("PRAGMA cell_size_check=ON")
        for limit, value in _LIMITS.items():
            base.setlimit(limit, value)
        limited(base, asked.seconds)
        base.execute("SELECT count(*) FROM sqlite_schema")
        base.set_authorizer(_authorize)
        yield base


@contextmanager
def spoken(asked: Asked) -> Iterator[None]:
    """What SQLite refuses, as Refused with a sentence."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Refused(sentence(error, asked)) from None


def _connected(file: int) -> sqlite3.Connection:
    """SQLite opens by name: it reads the link that a descriptor is, and opens where that leads. So what it has opened
    is compared with the descriptor, before a byte of it is told."""
    before = _regular_files()
    uri = f"file:{name_of(file)}?mode=ro&immutable=1"
    base = sqlite3.connect(uri, uri=True, isolation_level=None)
    new = {which for number, which in _regular_files().items() if before.get(number) != which}
    if new != {before[file]}:
        base.close()
        raise Refused("The file was exchanged while it was opened. Look again, then ask again.")
    return base


def _regular_files() -> dict[int, tuple[int, int]]:
    """Device and inode of every regular file that this process has open, by descriptor."""
    found = {}
    for number in range(MOST_DESCRIPTORS):
        try:
            info = os.fstat(number)
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode):
            found[number] = (info.st_dev, info.st_ino)
    return found


def limited(base: sqlite3.Connection, seconds: float) -> None:
    """Stop what runs on this connection when the seconds are over, as soon as SQLite looks at the clock."""
    end = time.monotonic() + seconds
    base.set_progress_handler(lambda: int(time.monotonic() > end), _STEPS)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _authorize(action: int, first: str | None, second: str | None, _base: str | None, _by: str | None) -> int:
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _REFUSED_FUNCTIONS:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_PRAGMA and (
        (first in ("page_size", "encoding") and second is None) or first in _PRAGMAS
    ):
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_UPDATE and first == "sqlite_master":
        return sqlite3.SQLITE_OK  # asked when a search index is opened; SQLite itself lets nobody write there
    return sqlite3.SQLITE_DENY


# How errors of statements that run begin which quote no value of a row, and codes of such: others may quote one.
_BEGINS = (
    "no such table",
    "no such module",
    "no such fts5 table",
    "no such collation",
    "malformed JSON",
    "malformed database schema",
    "database ",
    "file is not a database",
    "unsupported file format",
    "unable to use function",
    "integer overflow",
    "string or blob too big",
    "datatype mismatch",
    "foreign key mismatch",
    "too many",
    "non-deterministic use of",
    "unsafe use of",
    "user-defined function raised exception",
    "out of memory",
    "vtable constructor failed",
)
_RULES_OF_TABLES = frozenset(
    (
        sqlite3.SQLITE_CONSTRAINT_CHECK,
        sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY,
        sqlite3.SQLITE_CONSTRAINT_NOTNULL,
        sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        sqlite3.SQLITE_CONSTRAINT_ROWID,
        sqlite3.SQLITE_CONSTRAINT_UNIQUE,
        3091,  # SQLITE_CONSTRAINT_DATATYPE, which Python does not name
    )
)
VALUE_IN_THE_WAY = (
    "SQLite stopped at a value: a number, a path into JSON, or words to search for, that it does not take. Look at "
    "what stands in the tables and at what is asked of it, then ask again."
)


def quotes_no_row(error: Exception) -> bool:
    """Whether what SQLite says when a statement runs cannot have a value of a row in it."""
    return getattr(error, "sqlite_errorcode", None) in _RULES_OF_TABLES or str(error).startswith(_BEGINS)


@contextmanager
def noted(base: sqlite3.Connection, asked: Asked) -> Iterator[TablesRead]:
    """What is read inside the block. Raises Refused, which quotes SQLite where nothing had been read yet."""
    read = TablesRead(_authorize)
    base.set_authorizer(read)
    base.set_trace_callback(read.begun)
    try:
        yield read
    except sqlite3.Error as error:
        raise Refused(sentence(error, asked, not (read.runs and read.names))) from None
    finally:
        base.set_trace_callback(None)
        base.set_authorizer(_authorize)


@contextmanager
def plainly(base: sqlite3.Connection, asked: Asked) -> Iterator[None]:
    """What a trigger says to stop a change is told where it stands so in it: later versions of SQLite work it out."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        said = str(error).replace("'", "''")
        triggers = "SELECT count(*) FROM main.sqlite_schema WHERE type = 'trigger' AND instr(sql, ?)"
        if said and base.execute(triggers, [f"'{said}'"]).fetchone()[0]:
            raise Refused(sentence(error, asked, may_quote=True)) from None
        raise


def sentence(error: Exception, asked: Asked, may_quote: bool = False) -> str:
    """What SQLite says, as a sentence that says what to do next. `may_quote`: no value of a row can be in it."""
    text = str(error)
    if "interrupted" in text:
        return too_long(asked.seconds)
    if "one statement at a time" in text:
        return "That is more than one statement. Ask one question at a time; it can only read."
    if any(word in text for word in ("not authorized", "authorization", "prohibited", "readonly")):
        return "That would do more than read. This only reads: write rows to change them."
    if "unable to open" in text:
        return f"{asked.said} was exchanged while it was opened. Look again, then ask again."
    if not (may_quote or quotes_no_row(error)):
        return VALUE_IN_THE_WAY
    return f"SQLite says: {text}. Mend the question, or look first which tables it has."


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def row_id(columns: Iterable[str]) -> str | None:
    """The name by which the row id of a table with these columns can be asked for."""
    taken = {name.lower() for name in columns}
    return next((name for name in ("rowid", "_rowid_", "oid") if name not in taken), None)


def named_in(base: sqlite3.Connection, sql: str) -> set[str]:
    """What a statement reads. It never begins to run: no statement takes so many parameters."""
    read = TablesRead(_authorize)
    base.set_authorizer(read)
    with suppress(sqlite3.Error, sqlite3.Warning):
        base.execute(sql, [None] * (base.getlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER) + 1))
    base.set_authorizer(_authorize)
    return read.names


def select(
    base: sqlite3.Connection,
    asked: Asked,
    sql: str,
    parameters: Given,
    most: tuple[int, int],
) -> dict[str, Any]:
    """Columns, rows up to a number and to so many characters (`most`), and whether there are more. Raises Refused."""
    limit, room = most
    try:
        found = base.execute(sql, parameters)
    except (sqlite3.ProgrammingError, sqlite3.Warning, OverflowError) as error:
        raise Refused(sentence(error, asked, may_quote=True)) from None
    if found.description is None:
        raise Refused("That asks nothing. Write a SELECT.")
    rows: list[list[Cell]] = []
    for values in found:
        row = [_cell(value) for value in values]
        room -= sum(len(json.dumps(value)) + 12 for value in row) + 20
        if len(rows) == limit or room < 0:
            return {"columns": _names(found), "rows": rows, "more": True}
        rows.append(row)
    return {"columns": _names(found), "rows": rows, "more": False}


def _names(found: sqlite3.Cursor) -> list[str]:
    return [column[0] for column in found.description]


def _cell(value: Cell | bytes) -> Cell:
    if isinstance(value, bytes):
        return f"(binary, {len(value)} bytes, SHA-256 {hashlib.sha256(value).hexdigest()[:16]}…)"
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value


def table_named(base: sqlite3.Connection, asked: Asked, name: str | None) -> str:
    """The table of that name. Raises Refused when there is none."""
    names = [one["name"] for one in tables(base)]
    listed = ", ".join(names) or "none"
    if name is None:
        raise Refused(f"{asked.said} is a database. Say which table: {listed}.")
    if name not in names:
        raise Refused(f"There is no table “{name}”. The tables are: {listed}.")
    return name


def table(
    base: sqlite3.Connection, asked: Asked, name: str, most: tuple[int, int]
) -> tuple[list[str], bytes, list[str]]:
    """The columns of a table, all its rows as JSON, a list of some thousands a line, and which values JSON does not
    know, in sentences. `most`: rows and bytes; raises Refused when it has more."""
    try:
        base.text_factory = str
        return _rows(base, asked, name, most, Unlike())
    except sqlite3.OperationalError as error:
        if "UTF-8" not in str(error):
            raise
    unlike = Unlike()
    base.text_factory = unlike.text  # which takes twice as long
    return _rows(base, asked, name, most, unlike)


@dataclass
class Unlike:
    """How many values JSON does not know, and what is read in their place."""

    binary: int = 0
    endless: int = 0
    texts: int = 0

    def text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.texts += 1
            return _text(data)

    def cell(self, value: Cell | bytes) -> Cell:
        read = _cell(value)
        if read is not value:
            self.binary += isinstance(value, bytes)
            self.endless += isinstance(value, float)
        return read

    def said(self) -> list[str]:
        counts = (
            (self.binary, "binary", "their size and SHA-256"),
            (self.texts, "not UTF-8 text", "text with \ufffd for what is none"),
            (self.endless, "infinite", "the words for that"),
        )
        return [
            f"Values that are {kind}, read as {place}: {count:,}." for count, kind, place in counts if count
        ]


def _rows(
    base: sqlite3.Connection, asked: Asked, name: str, most: tuple[int, int], unlike: Unlike
) -> tuple[list[str], bytes, list[str]]:
    limit, room = most
    found = base.execute(f"SELECT * FROM {quoted(name)}")
    lines: list[bytes] = []
    while rows := found.fetchmany(_BATCH):
        plain = {*map(type, chain.from_iterable(rows))} <= _PLAIN
        lines.append(to_json(rows if plain else [[*map(unlike.cell, row)] for row in rows]))
        limit, room = limit - len(rows), room - len(lines[-1])
        if limit < 0 or room < 0:
            raise Refused(f"{asked.said} has too many records. Ask for a part of it.")
    return _names(found), b"\n".join(lines), unlike.said()


def tables(base: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every table and view that people made."""
    listed = base.execute(
        "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' "
        "ESCAPE '\\' ORDER BY name"
    ).fetchall()
    return [{"name": name, "kind": kind, "columns": _columns(base, name)} for name, kind in listed]


GENERATED = (2, 3)  # what table_xinfo tells of a column that is worked out; 1 is one that no SELECT * gives


def _columns(base: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    rows = base.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return [
        {
            "name": name,
            "type": (kind or "any") + " (generated)" * (hidden in GENERATED),
            "key": key > 0,
            "required": bool(required),
        }
        for _, name, kind, required, _, key, hidden in rows
        if hidden != 1
    ]
