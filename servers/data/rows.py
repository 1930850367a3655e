"""Changes to rows: every row that one touches, also through triggers and cascades, with its values before and after."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mcp.server.mcpserver.exceptions import ToolError

from servers.data.models import Cell, Change, Value
from servers.data.query import quoted
from servers.data.shape import Image, Shape, Stored, shape_of, shapes

MOST_ROWS = 500  # in one change: what a person can still read
MOST_CHANGES = 200
ROUNDS = 2  # triggers may change what is put back; then it is put back again, at last without them
_NOTED = quoted("countersign touched")


@dataclass(frozen=True)
class Touched:
    """One row before and after. None: not there."""

    shape: Shape
    key: Image
    before: Image | None
    after: Image | None

    def turned(self) -> Touched:
        return Touched(self.shape, self.key, self.after, self.before)


class Watch:
    """Notes the key of every row that a connection touches, in temporary triggers of its own."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self.base = base
        self.tables = shapes(base)
        self.order = list(self.tables.values())
        width = max((len(shape.key) for shape in self.order), default=1)
        self.marks = [f"k{n}" for n in range(width)]
        base.execute(f"CREATE TEMP TABLE {_NOTED} (t, {', '.join(self.marks)})")
        for number, shape in enumerate(self.order):
            for event, sides in (("INSERT", ("new",)), ("UPDATE", ("old", "new")), ("DELETE", ("old",))):
                self._trigger(number, shape, event, sides)

    def _trigger(self, number: int, shape: Shape, event: str, sides: Sequence[str]) -> None:
        into = f"INSERT INTO {_NOTED} (t, {', '.join(self.marks[: len(shape.key)])})"
        notes = " ".join(
            f"{into} VALUES ({number}, {', '.join(f'{side}.{part}' for part in shape.key)});"
            for side in sides
        )
        name = quoted(f"countersign {event} {number}")
        self.base.execute(f"CREATE TEMP TRIGGER {name} AFTER {event} ON {shape.named} BEGIN {notes} END")

    def seen(self) -> list[tuple[Shape, Image]]:
        """Every row touched so far, each once, in the order of tables and keys."""
        rows = self.base.execute(f"SELECT DISTINCT * FROM {_NOTED} ORDER BY 1, 2").fetchmany(MOST_ROWS + 1)
        if len(rows) > MOST_ROWS:
            raise ToolError(f"That touches more than {MOST_ROWS} rows. Change fewer at once.")
        found = [(self.order[number], tuple(key)) for number, *key in rows]
        return [(shape, key[: len(shape.key)]) for shape, key in found]

    def touched(self, before: sqlite3.Connection) -> list[Touched]:
        """The rows that differ between `before`, which sees the database as it was, and this connection."""
        rows = [
            Touched(shape, key, shape.image(before, key), shape.image(self.base, key))
            for shape, key in self.seen()
        ]
        for table in {row.shape for row in rows}:
            self._all_seen(table, before, [row for row in rows if row.shape == table])
        return [row for row in rows if exact(row.before) != exact(row.after)]

    def _all_seen(self, shape: Shape, before: sqlite3.Connection, rows: Sequence[Touched]) -> None:
        """Raise ToolError when rows went that no trigger told of: those that ON CONFLICT REPLACE pushes aside."""
        told = sum((row.after is not None) - (row.before is not None) for row in rows)
        if shape.count(self.base) - shape.count(before) != told:
            raise ToolError(
                f"That would push aside other rows of {shape.table}. Remove those first, and say so."
            )


def settled(base: sqlite3.Connection, strict: bool) -> sqlite3.Connection:
    """A connection made ready to change rows. `strict`: foreign keys are held."""
    base.text_factory = str
    for line in (
        f"foreign_keys={'ON' if strict else 'OFF'}",
        "cache_spill=OFF",
    ):
        base.execute(f"PRAGMA {line}")
    return base


def apply(base: sqlite3.Connection, tables: dict[str, Shape], changes: Sequence[Change]) -> None:
    """Carry the changes out. Raises ToolError for one that means no row, and sqlite3.Error."""
    if not 1 <= len(changes) <= MOST_CHANGES:
        raise ToolError(f"{len(changes)} changes were given. Give between 1 and {MOST_CHANGES}.")
    for change in changes:
        _apply(base, shape_of(tables, change.table), change)


def _apply(base: sqlite3.Connection, shape: Shape, change: Change) -> None:
    where, values = _pairs(change.where), _pairs(change.values)
    shape.must_have([*where, *values])
    if change.op == "insert":
        return _insert(base, shape, where, values)
    if not where or (change.op == "update") is not bool(values):
        raise ToolError(
            f"An {change.op} needs “where”"
            + (" and “values”." if change.op == "update" else " and no “values”.")
        )
    picked = " AND ".join(f"{quoted(name)} IS ?" for name in where)
    sets = ", ".join(f"{quoted(name)} = ?" for name in values)
    verb = f"UPDATE {shape.named} SET {sets}" if values else f"DELETE FROM {shape.named}"
    if base.execute(f"{verb} WHERE {picked}", _bound([*values.values(), *where.values()])).rowcount == 0:
        said = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise ToolError(f"No row of {shape.table} has {said}. Look at the rows with query_sqlite.")


def _insert(base: sqlite3.Connection, shape: Shape, where: dict[str, Cell], values: dict[str, Cell]) -> None:
    if where or not values:
        raise ToolError("An insert needs “values” and no “where”.")
    names, marks = ", ".join(map(quoted, values)), ", ".join("?" * len(values))
    base.execute(f"INSERT INTO {shape.named} ({names}) VALUES ({marks})", _bound(values.values()))


def _pairs(given: dict[str, Cell] | list[Value]) -> dict[str, Cell]:
    pairs = given if isinstance(given, dict) else {one.column: one.value for one in given}
    if len(pairs) < len(given):
        raise ToolError("A column is named twice. Name each once.")
    return pairs


def _bound(values: Iterable[Cell]) -> list[Stored]:
    found: list[Stored] = list(values)
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in found):
        raise ToolError("A number is too large for SQLite. Give it as text.")
    return found


def put_back(watch: Watch, now: sqlite3.Connection, rows: Sequence[Touched]) -> None:
    """Make each row what it was before. What triggers do to others meanwhile is taken back too: `now` sees those.

    Raises sqlite3.Error when the database refuses it.
    """
    wanted: Wanted = {(row.shape, row.key): row.before for row in rows}
    for _ in range(ROUNDS):
        if not (wrong := _wrong(watch, now, wanted)):
            return
        _set(watch.base, wrong)
    if wrong := _wrong(watch, now, wanted):
        with _no_triggers(watch.base):
            _set(watch.base, wrong)


Wanted = dict[tuple[Shape, Image], Image | None]
Wrong = list[tuple[Shape, Image, Image | None]]


def _wrong(watch: Watch, now: sqlite3.Connection, wanted: Wanted) -> Wrong:
    """The rows that are not what they should be; those that triggers touched meanwhile should be as they are."""
    for shape, key in watch.seen():
        if (shape, key) not in wanted:
            wanted[shape, key] = shape.image(now, key)
    return [
        (shape, key, image)
        for (shape, key), image in wanted.items()
        if exact(shape.image(watch.base, key)) != exact(image)
    ]


@contextmanager
def _no_triggers(base: sqlite3.Connection) -> Iterator[None]:
    """The database without its triggers, inside a transaction: they are back, letter by letter, after the block."""
    triggers = base.execute(
        "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' ORDER BY rowid"
    ).fetchall()
    for name, _ in triggers:
        base.execute(f"DROP TRIGGER main.{quoted(name)}")
    yield
    for _, sql in triggers:
        base.execute(sql)


def _set(base: sqlite3.Connection, wrong: Wrong) -> None:
    """Rows that go first, then the others; where they get into each other's way, all go and come anew."""
    base.execute("SAVEPOINT back")
    try:
        _exchange(base, wrong, only_gone=True)
    except sqlite3.IntegrityError:
        base.execute("ROLLBACK TO back")
        _exchange(base, wrong, only_gone=False)
    base.execute("RELEASE back")


def _exchange(base: sqlite3.Connection, wrong: Wrong, only_gone: bool) -> None:
    for shape, key, image in wrong:
        if image is None or not only_gone:
            shape.remove(base, key)
    for shape, key, image in wrong:
        if image is not None:
            shape.put(base, key, image)


class Later(str):
    """Stands for a value that nobody knows before it is done: a time of day, a number by chance."""


def later(rows: Sequence[Touched], other: Sequence[Touched]) -> list[Touched]:
    """The rows of one trial, with Later for each value that came out otherwise in the other."""
    elsewhere = {(row.shape, row.key): row.after for row in other}
    if elsewhere.keys() != {(row.shape, row.key) for row in rows}:
        raise ToolError("Which row this is about depends on chance or on the time. Do this one by hand.")
    return [replace(row, after=_known(row.after, elsewhere[row.shape, row.key])) for row in rows]


def _known(one: Image | None, other: Image | None) -> Image | None:
    if one is None or other is None:
        return one
    return tuple(
        a if exact((a,)) == exact((b,)) else Later("(known when it is done)")
        for a, b in zip(one, other, strict=True)
    )


def exact(image: Image | None) -> object:
    """An image that is equal to another only where the types are too: 1 and 1.0 are two things in a table."""
    return None if image is None else [(type(value), value) for value in image]


def encoded(image: Image | None) -> list[object] | None:
    """An image as JSON that keeps every type and every bit."""
    return None if image is None else [_encode(value) for value in image]


def _encode(value: Stored) -> object:
    if isinstance(value, bytes):
        return {"blob": value.hex()}
    return {"real": value.hex()} if isinstance(value, float) else value


def decoded(kept: list[object] | None) -> Image | None:
    """The image again."""
    return None if kept is None else tuple(_decode(value) for value in kept)


def _decode(value: object) -> Stored:
    if isinstance(value, dict):
        return bytes.fromhex(value["blob"]) if "blob" in value else float.fromhex(value["real"])
    assert value is None or isinstance(value, str | int)
    return value


def digest(rows: Iterable[tuple[str, Image, Image | None]]) -> str:
    """SHA-256 over tables, keys and images: the same for the same rows, whatever else the database holds."""
    told = [[table, encoded(key), encoded(image)] for table, key, image in rows]
    text = json.dumps(sorted(told, key=json.dumps), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
