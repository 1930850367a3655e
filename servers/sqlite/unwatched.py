"""The tables whose rows no trigger can watch, and whether a change touched them. Runs in the sandbox."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Collection, Mapping

from servers.sandbox.protocol import Refused
from servers.sqlite import search_indexes
from servers.sqlite.reading import quoted

_SCHEMA = ("sqlite_schema", "sqlite_sequence")  # no trigger writes the one; every new row may write the other
Digests = dict[str, str]  # by table


def digests(base: sqlite3.Connection, watched: Collection[str]) -> Digests:
    """The SHA-256 over all rows of every table but the watched ones.

    A virtual table stands here by the tables that hold what is in it. Those of a search index about a watched table
    are left out: whether it stays right is looked at when the change is made.
    """
    kinds = {name: kind for _, name, kind, *_ in base.execute("PRAGMA main.table_list").fetchall()}
    follow = {table for index in search_indexes.about(base, watched) for table in index.tables}
    return {
        name: _digest(base, name)
        for name, kind in kinds.items()
        if kind in ("table", "shadow") and not (name in watched or name in _SCHEMA or name in follow)
    }


def must_be_as(before: Mapping[str, str], after: Mapping[str, str]) -> None:
    """Raise Refused where a table is not what it was."""
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            raise Refused(
                f"That would change rows of {name}, too, which can neither be shown nor put back. Change these "
                "by hand, or take out the trigger that changes that table."
            )


def _digest(base: sqlite3.Connection, table: str) -> str:
    found, factory = hashlib.sha256(), base.text_factory
    base.text_factory = bytearray  # which is no type of a blob, and takes texts that are no UTF-8
    try:
        for row in base.execute(f"SELECT * FROM main.{quoted(table)}"):
            for value in row:
                data = value if isinstance(value, bytes | bytearray) else repr(value).encode()
                found.update(f"{type(value).__name__} {len(data)} ".encode())
                found.update(data)
    finally:
        base.text_factory = factory
    return found.hexdigest()
