"""Which tables a statement reads, also those below views and behind search indexes. Runs in the sandbox."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from servers.sandbox.protocol import Refused

MOST_TABLES, MOST_CHARACTERS = 1_000, 32_000  # that one answer names, and of these names
Authorizer = Callable[[int, str | None, str | None, str | None, str | None], int]
_STATISTICS = "sqlite_stat"  # whose samples are values of all tables
_NUMBERED = "sqlite_sequence"  # tells how many rows tables have had
_PAGES = frozenset(
    {"sqlite_dbpage", "dbstat"}
)  # values of all tables as well; no table of the database itself
_ALL = "\0"  # stands for every table and view; SQLite has no such name
_SCHEMA = frozenset({"sqlite_schema", "sqlite_temp_schema"})
_WRITES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
_TOKEN = re.compile(  # a comment, spaces, a name or a sign, as SQLite has them; what does not end goes on to the end
    r"""--[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)|\s++|'((?:[^']|'')*+)'?|"((?:[^"]|"")*+)"?|`((?:[^`]|``)*+)`?|"""
    r"""\[([^\]]*+)\]?|([\w$\u0080-\U0010ffff]++)|([\s\S])""",
    re.ASCII,
)
_MARKS = "'\"`]"
_SIGN = 6  # the group of a character that is in no name
_SPACE = "\ufeff"  # what SQLite reads as a space before a name


def folded(name: str) -> str:
    """A name as SQLite compares it."""
    return name.encode(errors="replace").lower().decode()


@dataclass
class TablesRead:
    """Notes what an authorizer of a connection is asked about. `by_triggers`: only what triggers and views read."""

    decide: Authorizer
    by_triggers: bool = False
    but: frozenset[str] = frozenset()  # triggers that do not count
    virtual: frozenset[str] = frozenset()  # tables of which writes count, too: no row of them is watched
    names: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    runs: bool = False  # whether a statement has been more than prepared

    def __call__(
        self, action: int, first: str | None, second: str | None, base: str | None, by: str | None
    ) -> int:
        counts = by not in self.but if by else not self.by_triggers
        if counts and (
            action == sqlite3.SQLITE_READ or (action in _WRITES and folded(first or "") in self.virtual)
        ):
            self.names.update(filter(None, (first, by)))
        if counts and first and action in _WRITES:
            self.written.add(first)
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
    """What notes the tables that triggers and views read, and the virtual ones that they write. `own`: the triggers
    that do not count, where the database has none of the same names."""
    theirs = {name for (name,) in base.execute("SELECT name FROM main.sqlite_schema WHERE type = 'trigger'")}
    virtual = frozenset(
        folded(name) for _, name, kind, *_ in base.execute("PRAGMA main.table_list") if kind == "virtual"
    )
    return TablesRead(_anything, by_triggers=True, but=frozenset(own) - theirs, virtual=virtual)


def _anything(*_: object) -> int:
    return sqlite3.SQLITE_OK


def told(base: sqlite3.Connection, names: Iterable[str]) -> list[str]:
    """The tables and views among these names, each with what it holds or searches: a table that a virtual one made for
    itself stands for that. What is below a view is among the names where SQLite has read that view; of one that only
    gave an index its content, every name in its SQL counts. Raises Refused for more than an answer names."""
    factory, base.text_factory = base.text_factory, _replaced
    try:
        schema = _Schema.of(base)
    finally:
        base.text_factory = factory
    read, behind = {*map(folded, names)}, set[str]()
    left = [key for name in read for key in schema.beside(name)]
    while left:
        if (name := left.pop()) not in behind:
            behind.add(name)
            left += (*schema.beside(name), *schema.below(name))
    told_of = (schema.tables.keys() & (read | behind)) - schema.own
    tables = sorted(schema.tables[name] for name in told_of)
    if len(tables) > MOST_TABLES or sum(map(len, tables)) > MOST_CHARACTERS:
        raise Refused(
            "That reads more tables, or tables of longer names, than can be told. Ask for less at once."
        )
    return tables


@dataclass(frozen=True)
class _Schema:
    """The tables and views of a database by their folded names. `virtual`, `views`: what each was made by, by more than
    one where names differ in bytes that are no text; `own`: the tables that virtual ones made for themselves."""

    tables: dict[str, str]
    virtual: dict[str, list[str]]
    views: dict[str, list[str]]
    own: frozenset[str]

    @classmethod
    def of(cls, base: sqlite3.Connection) -> _Schema:
        made = (
            "SELECT CAST(name AS TEXT), CAST(sql AS TEXT) FROM main.sqlite_schema "
            "WHERE type IN ('table', 'view') AND sql IS NOT NULL"
        )
        sql = defaultdict[str, list[str]](list)
        for name, text in base.execute(made):
            sql[folded(_text(name))].append(text)
        listed = [
            (folded(_text(one)), _text(one), kind)
            for _, one, kind, *_ in base.execute("PRAGMA main.table_list")
        ]
        tables = {key: name for key, name, _ in listed if key not in _SCHEMA}
        virtual, views = (
            {key: sql[key] for key, _, kind in listed if kind == wanted} for wanted in ("virtual", "view")
        )
        own = frozenset(
            key for key, _, kind in listed if kind == "shadow" and key.rpartition("_")[0] in virtual
        )
        return cls(tables, virtual, views, own)

    def beside(self, name: str) -> Iterator[str]:
        """The tables of whose content this one gives something, but those that SQLite reads for a view."""
        if name.startswith(_STATISTICS) or name == _NUMBERED or name in _PAGES:
            yield _ALL
        if (owner := name.rpartition("_")[0]) in self.virtual:
            yield owner
        for sql in self.virtual.get(name, ()):
            yield from self._known((*_names_in(sql), *_values_in(sql)))

    def below(self, name: str) -> Iterator[str]:
        """The tables that a view may read, by the names in its SQL."""
        if name == _ALL:
            yield from self.tables
        for sql in self.views.get(name, ()):
            yield from self._known(_names_in(sql))

    def _known(self, names: Iterable[str]) -> Iterator[str]:
        return (name for name in names if name in self.tables or name in _PAGES)


def _names_in(sql: str) -> Iterator[str]:
    """Every name and every text in a statement, without its marks."""
    for found in _TOKEN.finditer(sql):
        for mark, text in zip((*_MARKS, ""), found.groups()[:-1], strict=True):
            if text is not None:
                yield folded(text.replace(mark * 2, mark) if mark else text.lstrip(_SPACE))


def _values_in(sql: str) -> Iterator[str]:
    """The arguments of a virtual table, whole and behind the first =: some modules read a name with spaces and signs
    there that no marks are around."""
    depth = begin = end = 0
    for found in _TOKEN.finditer(sql):
        if found.lastindex is None:
            continue  # a comment or spaces, which belong to an argument only inside it
        sign = found[_SIGN] or " "
        if depth == 1 and sign in ",)" and begin:
            said = folded(sql[begin:end])
            yield from (said, said.partition("=")[2])
        if depth >= 1 and not (depth == 1 and sign in ",)"):
            begin, end = begin or found.start(), found.end()
        else:
            begin = 0
        depth += (sign == "(") - (sign == ")")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _replaced(data: bytes) -> str:
    return data.decode("utf-8", "replace")
