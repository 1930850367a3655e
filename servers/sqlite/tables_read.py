"""Which tables a statement reads, also those below views and behind search indexes. Runs in the sandbox."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from servers.sandbox.protocol import Refused

MOST_TABLES, MOST_CHARACTERS = 1_000, 32_000  # that one answer names, and of these names
Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]
_STATISTICS = "sqlite_stat"  # whose samples are values of all tables
_PAGES = frozenset({"sqlite_dbpage", "dbstat"})  # the same; no table of the database itself
_SCHEMA = frozenset({"sqlite_schema", "sqlite_temp_schema"})
_NAME = re.compile(  # what does not end goes on to the end, and is gone through once
    r"""'((?:[^']|'')*+)'?|"((?:[^"]|"")*+)"?|`((?:[^`]|``)*+)`?|\[([^\]]*+)\]?|([\w$\u0080-\U0010ffff]++)""",
    re.ASCII,
)
_MARKS = "'\"`]"


def folded(name: str) -> str:
    """A name as SQLite compares it."""
    return name.encode(errors="replace").lower().decode()


@dataclass
class TablesRead:
    """Notes what an authorizer of a connection is asked about. `by_triggers`: only what triggers and views read."""

    decide: Authorizer
    by_triggers: bool = False
    but: frozenset[str] = frozenset()  # triggers that do not count
    names: set[str] = field(default_factory=set)
    runs: bool = False  # whether a statement has been more than prepared

    def __call__(
        self, action: int, first: str | None, second: str | None, base: str | None, by: str | None
    ) -> int:
        counts = by not in self.but if by else not self.by_triggers
        if action == sqlite3.SQLITE_READ and counts:
            self.names.update(filter(None, (first, by)))
        return self.decide(action, first, second, base, by)

    @contextmanager
    def noting(self, base: sqlite3.Connection) -> Iterator[None]:
        """Note what is read inside the block."""
        base.set_authorizer(self)
        try:
            yield
        finally:
            base.set_authorizer(None)

    def begun(self, _: str) -> None:
        """A statement begins to run."""
        self.runs = True


def of_triggers(base: sqlite3.Connection, own: Iterable[str]) -> TablesRead:
    """What notes the tables that triggers and views read. `own`: those that do not count, where the database has none
    of the same names."""
    theirs = {name for (name,) in base.execute("SELECT name FROM main.sqlite_schema WHERE type = 'trigger'")}
    return TablesRead(_anything, by_triggers=True, but=frozenset(own) - theirs)


def _anything(*_: object) -> int:
    return sqlite3.SQLITE_OK


def told(base: sqlite3.Connection, names: Iterable[str]) -> list[str]:
    """The tables and views among these names, each with what it holds or searches: a table that a virtual one made for
    itself stands for that. Raises Refused for more than an answer names."""
    factory, base.text_factory = base.text_factory, _replaced
    try:
        schema = _Schema.of(base)
    finally:
        base.text_factory = factory
    found: dict[str, None] = {}
    left = [folded(name) for name in names]
    while left:
        name = left.pop()
        if name not in found:
            found[name] = None
            left += schema.beside(name)
    tables = sorted(schema.tables[name] for name in found if name in schema.tables and name not in schema.own)
    if len(tables) > MOST_TABLES or sum(map(len, tables)) > MOST_CHARACTERS:
        raise Refused(
            "That reads more tables, or tables of longer names, than can be told. Ask for less at once."
        )
    return tables


@dataclass(frozen=True)
class _Schema:
    """The tables and views of a database by their folded names. `virtual`: what each of these was made by; `own`: those
    that virtual ones made for themselves."""

    tables: dict[str, str]
    virtual: dict[str, str]
    own: frozenset[str]

    @classmethod
    def of(cls, base: sqlite3.Connection) -> _Schema:
        sql = {
            folded(_text(name)): _text(made)
            for name, made in base.execute("SELECT name, sql FROM main.sqlite_schema WHERE type = 'table'")
        }
        listed = [
            (folded(_text(one)), _text(one), kind)
            for _, one, kind, *_ in base.execute("PRAGMA main.table_list")
        ]
        tables = {key: name for key, name, _ in listed if key not in _SCHEMA}
        virtual = {key: sql.get(key, "") for key, _, kind in listed if kind == "virtual"}
        own = frozenset(
            key for key, _, kind in listed if kind == "shadow" and key.rpartition("_")[0] in virtual
        )
        return cls(tables, virtual, own)

    def beside(self, name: str) -> Iterator[str]:
        """The tables of whose content this one gives something."""
        if name.startswith(_STATISTICS) or name in _PAGES:
            yield from self.tables
        if (owner := name.rpartition("_")[0]) in self.virtual:
            yield owner
        if name in self.virtual:
            yield from (key for key in _names_in(self.virtual[name]) if key in self.tables)


def _names_in(sql: str) -> Iterator[str]:
    """Every name and every text in a statement, without its marks."""
    for found in _NAME.finditer(sql):
        for mark, text in zip((*_MARKS, ""), found.groups(), strict=True):
            if text is not None:
                yield folded(text.replace(mark * 2, mark) if mark else text)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _replaced(data: bytes) -> str:
    return data.decode("utf-8", "replace")
