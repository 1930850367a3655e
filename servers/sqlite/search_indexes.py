"""Full-text indexes about the texts of another table, and whether they say what is in it. Runs in the sandbox."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from servers.sandbox.protocol import Refused
from servers.sqlite.reading import quoted

_QUOTED = r"""'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|\[[^\]]*+\]"""
_NAME = rf"(?:{_QUOTED}|[\w$\u0080-\U0010ffff]++)"
_ARGUMENT = rf"""(?:{_QUOTED}|[^'"`\[\]();/,-])*+"""
_INDEX = re.compile(
    rf"CREATE VIRTUAL TABLE {_NAME}\s+USING\s+(fts[45])\s*\(({_ARGUMENT}(?:,{_ARGUMENT})*+)\)",
    re.IGNORECASE | re.ASCII,
)
_MADE = re.compile(rf"CREATE TABLE {_NAME}", re.ASCII)
_ARGUMENTS = re.compile(rf"(?:\A|,)({_ARGUMENT})")
_CONTENT = re.compile(rf"\s*content\s*=\s*({_NAME})?.*", re.IGNORECASE | re.ASCII | re.DOTALL)
_OWN = {  # the tables that an index makes for itself, but those with settings
    "fts4": {
        "segments": "(blockid INTEGER PRIMARY KEY, block BLOB)",
        "segdir": "(level INTEGER,idx INTEGER,start_block INTEGER,leaves_end_block INTEGER,end_block INTEGER,"
        "root BLOB,PRIMARY KEY(level, idx))",
        "docsize": "(docid INTEGER PRIMARY KEY, size BLOB)",
        "stat": "(id INTEGER PRIMARY KEY, value BLOB)",
    },
    "fts5": {
        "data": "(id INTEGER PRIMARY KEY, block BLOB)",
        "idx": "(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
        "docsize": "(id INTEGER PRIMARY KEY, sz BLOB)",
    },
}


@dataclass(frozen=True)
class Index:
    """One full-text index. `tables` hold it; nothing but the index writes them, and no texts are in them."""

    name: str
    kind: str  # fts4 or fts5
    tables: tuple[str, ...]

    def differs(self, one: sqlite3.Connection, other: sqlite3.Connection) -> bool:
        """Whether two databases hold it in different rows."""
        selects = [f"SELECT * FROM main.{quoted(table)}" for table in self.tables]
        return any(a != b for sql in selects for a, b in zip_longest(one.execute(sql), other.execute(sql)))

    def make_anew(self, base: sqlite3.Connection) -> None:
        name = quoted(self.name)
        base.execute(f"INSERT INTO main.{name}({name}) VALUES ('rebuild')")

    def is_right(self, base: sqlite3.Connection) -> bool:
        """Whether it says what is in its table, by its own sums, which a trigger may keep while it changes the words.
        Raises sqlite3.Error when there is no time to look."""
        name = quoted(self.name)
        columns, values = name, "'integrity-check'"
        if self.kind == "fts5":  # fts4 compares with the texts by itself
            columns, values = f"{name}, rank", "'integrity-check', 1"
        try:
            base.execute(f"INSERT INTO main.{name}({columns}) VALUES ({values})")
        except sqlite3.Error as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
                raise
            return False
        return True


def about(base: sqlite3.Connection, watched: Collection[str]) -> list[Index]:
    """The full-text indexes about one of the watched tables."""
    told = base.execute("SELECT type, name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL").fetchall()
    tables = {name: sql for kind, name, sql in told if kind == "table"}
    triggers = _folded("\n".join(sql for kind, _, sql in told if kind == "trigger"))
    texts, names = set(map(_folded, watched)), set(map(_folded, tables))
    defined = ((name, found) for name, sql in tables.items() if (found := _INDEX.fullmatch(sql)))
    return [
        Index(name, kind := found[1].lower(), tuple(_own(name, kind, tables, triggers)))
        for name, found in defined
        if _content(found[2]) in texts and _folded(f"{name}_content") not in names
    ]


def must_stay_right(index: Index, before: sqlite3.Connection, after: sqlite3.Connection) -> bool:
    """Whether a change touched an index and left it right. Raises Refused where it made it wrong."""
    if not index.differs(before, after):
        return False
    is_right = index.is_right(after)
    if not is_right and index.is_right(before):
        raise Refused(
            f"After that the search index {index.name} would not say what is in the table that it is about. Change "
            "these by hand, or mend the trigger that changes the index."
        )
    return is_right


def _own(name: str, kind: str, tables: dict[str, str], triggers: str) -> Iterator[str]:
    """The tables of an index that are as it makes them, and that no trigger may change without it: none names them."""
    for part, columns in _OWN[kind].items():
        table = f"{name}_{part}"
        if _is_as_made(tables.get(table, ""), columns) and _folded(table) not in triggers:
            yield table


def _content(arguments: str) -> str | None:
    """The table that an index is about, None where it keeps no texts and is about none."""
    said = [found for one in _ARGUMENTS.findall(arguments) if (found := _CONTENT.fullmatch(one))]
    if len(said) != 1 or not (value := said[0][1]):
        return None
    mark = value[0]
    is_quoted = mark in "'\"`["
    return _folded(value[1:-1].replace(mark * 2, mark) if is_quoted else value) or None


def _is_as_made(sql: str, columns: str) -> bool:
    """Whether this makes a table with these columns, with none and no rule besides."""
    made = _MADE.match(sql)
    return made is not None and sql[made.end() :] == columns


def _folded(name: str) -> str:
    """A name as SQLite compares it."""
    return name.encode().lower().decode()
