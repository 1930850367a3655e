"""The tables of a database as changes need them: which columns are stored, and what names a row for good."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.data.query import quoted

Stored = str | int | float | bytes | None
Image = tuple[Stored, ...]


@dataclass(frozen=True)
class Shape:
    """One table. `key` are the expressions that name a row: the row id, or the primary key where there is none."""

    table: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    by_id: bool

    @property
    def named(self) -> str:
        return f"main.{quoted(self.table)}"

    @property
    def here(self) -> str:
        """The condition that picks one row by its key."""
        return " AND ".join(f"{part} IS ?" for part in self.key)

    def image(self, base: sqlite3.Connection, key: Image) -> Image | None:
        """The stored values of one row, None when it is not there."""
        columns = ", ".join(quoted(name) for name in self.columns)
        row = base.execute(f"SELECT {columns} FROM {self.named} WHERE {self.here}", key).fetchone()
        return None if row is None else tuple(row)

    def remove(self, base: sqlite3.Connection, key: Image) -> None:
        base.execute(f"DELETE FROM {self.named} WHERE {self.here}", key)

    def put(self, base: sqlite3.Connection, key: Image, image: Image) -> None:
        """Make the row what `image` says, whether it is there or not; only what differs is set."""
        now = self.image(base, key)
        if now is None:
            return self._insert(base, key, image)
        pairs = zip(self.columns, now, image, strict=True)
        differ = {name: new for name, old, new in pairs if (type(old), old) != (type(new), new)}
        if differ:
            sets = ", ".join(f"{quoted(name)} = ?" for name in differ)
            base.execute(f"UPDATE {self.named} SET {sets} WHERE {self.here}", (*differ.values(), *key))

    def _insert(self, base: sqlite3.Connection, key: Image, image: Image) -> None:
        names = [quoted(name) for name in self.columns]
        names, values = ([*self.key, *names], (*key, *image)) if self.by_id else (names, image)
        marks = ", ".join("?" * len(values))
        base.execute(f"INSERT INTO {self.named} ({', '.join(names)}) VALUES ({marks})", values)

    def count(self, base: sqlite3.Connection) -> int:
        return int(base.execute(f"SELECT count(*) FROM {self.named}").fetchone()[0])

    def label(self, key: Image) -> str:
        said = ", ".join(map(str, key))
        return f"{self.table}, {'row ' if self.by_id else ''}{said}"

    def must_have(self, names: Sequence[str]) -> None:
        """Raise ToolError for a column that is not there: SQLite would read its name as a text."""
        for name in names:
            if name not in self.columns:
                raise ToolError(
                    f"{self.table} has no column “{name}” that can be written. It has: {', '.join(self.columns)}."
                )


def shapes(base: sqlite3.Connection) -> dict[str, Shape]:
    """Every table whose rows can be written, by name."""
    listed = base.execute("PRAGMA main.table_list").fetchall()
    return {
        name: shape
        for _, name, kind, _, without_id, _ in listed
        if kind == "table"
        and not name.startswith("sqlite_")
        and (shape := _shape(base, name, bool(without_id)))
    }


def _shape(base: sqlite3.Connection, table: str, without_id: bool) -> Shape | None:
    info = base.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    columns = tuple(name for _, name, _, _, _, _, hidden in info if not hidden)
    if without_id:
        keys = sorted((place, name) for _, name, _, _, _, place, _ in info if place)
        return Shape(table, columns, tuple(quoted(name) for _, name in keys), by_id=False)
    taken = {name.lower() for _, name, *_ in info}
    names = [name for name in ("rowid", "_rowid_", "oid") if name not in taken]
    return Shape(table, columns, (names[0],), by_id=True) if names else None


def shape_of(tables: dict[str, Shape], table: str) -> Shape:
    """The table by its name. Raises ToolError when there is none, or it is a view or a virtual table."""
    if table not in tables:
        raise ToolError(
            f"There is no table “{table}” whose rows can be written. There are: {', '.join(tables) or 'none'}."
        )
    return tables[table]
