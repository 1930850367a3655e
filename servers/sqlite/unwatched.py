"""The tables whose rows no trigger can watch, and whether a change touched them. Runs in the sandbox."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from servers.sandbox.protocol import Refused
from servers.sqlite import search_indexes, stored
from servers.sqlite.reading import quoted, row_id

_SEQUENCE = (
    "sqlite_sequence"  # the last number that a row of each table was given; every new row may write it
)
_APART = ("sqlite_schema", _SEQUENCE)  # no trigger writes the one
_TRIED = quoted("countersign tried")
Digests = dict[str, str]  # by table
Numbers = dict[str, list[object]]  # by table: more than one, or no number, where others wrote it


class Others:
    """The tables that no trigger can watch, as they are when this is made."""

    def __init__(self, base: sqlite3.Connection, watched: Collection[str]) -> None:
        self.watched = list(watched)
        self.digests = digests(base, watched)
        self.numbers = _numbers(base)
        base.execute(f"CREATE TEMP TABLE {_TRIED} (t)")
        for number, table in enumerate(self.watched):
            name = quoted(f"countersign try {number}")
            base.execute(
                f"CREATE TEMP TRIGGER {name} BEFORE INSERT ON main.{quoted(table)} "
                f"BEGIN INSERT INTO {_TRIED} VALUES ({number}); END"
            )

    def must_stand(self, base: sqlite3.Connection, made: Mapping[str, object]) -> None:
        """Raise Refused where one was changed. `made`: the highest row id that came to each table with new rows."""
        must_be_as(self.digests, digests(base, self.watched))
        tried = Counter(self.watched[number] for (number,) in base.execute(f"SELECT t FROM {_TRIED}"))
        now = _numbers(base)
        for table in self.numbers.keys() | now.keys():
            old, new = self.numbers.get(table, []), now.get(table, [])
            if repr(old) != repr(new) and not _follows(old, new, made.get(table, 0), tried[table]):
                raise _cannot_be_shown(_SEQUENCE)


def _follows(old: list[object], new: list[object], made: object, tried: int) -> bool:
    """Whether a last number is one that new rows give, up to `made`. Of the rows that SQLite tried to put in, each that
    it then left out, as OR IGNORE does, takes one number more."""
    match old or [0], new, made:
        case [int(was)], [int(now)], int(last):
            return tried > 0 and was <= now <= max(was, last) + tried
    return False


def _numbers(base: sqlite3.Connection) -> Numbers:
    found: Numbers = defaultdict(list)
    if base.execute("SELECT count(*) FROM main.sqlite_schema WHERE name = ?", [_SEQUENCE]).fetchone()[0]:
        for table, number in base.execute(f"SELECT name, seq FROM main.{_SEQUENCE} ORDER BY rowid"):
            found[table].append(number)
    return found


def digests(base: sqlite3.Connection, watched: Collection[str]) -> Digests:
    """The SHA-256 over all rows of every table but the watched ones.

    A virtual table stands here by the tables that hold what is in it. Those of a search index about a watched table
    are left out: whether it stays right is looked at when the change is made.
    """
    listed = base.execute("PRAGMA main.table_list").fetchall()
    follow = {table for index in search_indexes.about(base, watched) for table in index.tables}
    return {
        name: _digest(base, name, bool(without_id))
        for _, name, kind, _, without_id, _ in listed
        if kind in ("table", "shadow") and not (name in watched or name in _APART or name in follow)
    }


def must_be_as(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise Refused where a table is not what it was."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            raise _cannot_be_shown(name)


def _cannot_be_shown(table: str) -> Refused:
    return Refused(
        f"That would change rows of {table}, too, which can neither be shown nor put back. Change these by hand, or "
        "take out the trigger that changes that table."
    )


def _digest(base: sqlite3.Connection, table: str, without_id: bool) -> str:
    """The SHA-256 over the row ids, where they can be named, and all values."""
    found, factory = hashlib.sha256(), base.text_factory
    info = base.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    number = None if without_id else row_id(name for _, name, *_ in info)
    columns = f"{number}, *" if number else "*"
    if stored.encoding(base) != stored.UTF_8:
        columns += f", {stored.text_bytes(quoted(name) for _, name, *_ in info)}"
    base.text_factory = bytearray  # which is no type of a blob, and takes texts that are no UTF-8
    try:
        for row in base.execute(f"SELECT {columns} FROM main.{quoted(table)}"):
            for value in row:
                data = value if isinstance(value, bytes | bytearray) else repr(value).encode()
                found.update(f"{type(value).__name__} {len(data)} ".encode())
                found.update(data)
    finally:
        base.text_factory = factory
    return found.hexdigest()
