"""The rows that a change touches, with the shapes of their tables. Runs in the sandbox."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypedDict

from servers.sandbox.protocol import Refused
from servers.sqlite import stored, tables_read, unwatched
from servers.sqlite.files import LARGEST_RECORD, MOST_CHANGES
from servers.sqlite.reading import GENERATED, Cell, quoted, quotes_no_row, row_id
from servers.sqlite.stored import Image, Later, Stored, decoded, encoded, exact


@dataclass(frozen=True)
class Shape:
    """One table. `key` are the expressions that name a row: the row id, or the primary key where there is none.

    Images have the values in the order of `columns`, which may be another one than that of the table; then those of
    `derived`: columns that are worked out, and cannot be set. `code`: how the database keeps its texts.
    """

    table: str
    columns: tuple[str, ...] = field(compare=False)
    key: tuple[str, ...]
    by_id: bool
    derived: tuple[str, ...] = field(compare=False, default=())
    code: str = field(compare=False, default=stored.UTF_8)

    @property
    def shown(self) -> tuple[str, ...]:
        return self.columns + self.derived

    @property
    def named(self) -> str:
        return f"main.{quoted(self.table)}"

    @property
    def here(self) -> str:
        """The condition that picks one row by its key, which comes first among what is bound. A collation finds a row
        under other keys, too: an index by it is used, and BINARY has the last word."""
        picked = [f"{part} IS ?{n}" for n, part in enumerate(self.key, 1)]
        return " AND ".join(picked if self.by_id else [*picked, *(f"{one} COLLATE BINARY" for one in picked)])

    def image(self, base: sqlite3.Connection, key: Image) -> Image | None:
        """The stored values of one row, None when it is not there."""
        names = [*map(quoted, self.shown)]
        here = f"FROM {self.named} WHERE {self.here}"
        row = base.execute(f"SELECT {', '.join(names)} {here}", key).fetchone()
        if row is not None and self.code != stored.UTF_8:
            data = base.execute(f"SELECT {stored.text_bytes(names)} {here}", key).fetchone()
            stored.must_be_as_stored(self.table, row, data, self.code)
        return None if row is None else tuple(row)

    def remove(self, base: sqlite3.Connection, key: Image) -> None:
        base.execute(f"DELETE FROM {self.named} WHERE {self.here}", key)

    def put(self, base: sqlite3.Connection, key: Image, image: Image) -> None:
        """Make the row what `image` says, whether it is there or not; only what differs is set."""
        now = self.image(base, key)
        if now is None:
            return self._insert(base, key, image)
        if differ := self._differing(now, image):
            sets = ", ".join(f"{quoted(name)} = ?{n}" for n, name in enumerate(differ, len(key) + 1))
            base.execute(f"UPDATE {self.named} SET {sets} WHERE {self.here}", (*key, *differ.values()))

    def set_again(
        self, base: sqlite3.Connection, key: Image, before: Image | None, after: Image | None
    ) -> None:
        """Set what differs to what it is, so that everything that follows from it is worked out anew."""
        if after is None:
            return
        differ = self.columns if before is None else (self._differing(before, after) or self.columns[:1])
        sets = ", ".join(f"{name} = {name}" for name in map(quoted, differ))
        base.execute(f"UPDATE {self.named} SET {sets} WHERE {self.here}", key)

    def _differing(self, old: Image, new: Image) -> dict[str, Stored]:
        """The new values of the columns that can be set and are not the same."""
        pairs = zip(self.columns, old, new, strict=False)
        return {name: value for name, was, value in pairs if exact((was,)) != exact((value,))}

    def _insert(self, base: sqlite3.Connection, key: Image, image: Image) -> None:
        names, image = [*map(quoted, self.columns)], image[: len(self.columns)]
        names, values = ([*self.key, *names], (*key, *image)) if self.by_id else (names, image)
        marks = ", ".join("?" * len(values))
        base.execute(f"INSERT INTO {self.named} ({', '.join(names)}) VALUES ({marks})", values)

    def count(self, base: sqlite3.Connection) -> int:
        return int(base.execute(f"SELECT count(*) FROM {self.named}").fetchone()[0])

    def label(self, key: Image) -> str:
        said = ", ".join(map(str, key))
        return f"{self.table}, {'row ' if self.by_id else ''}{said}"

    def must_have(self, names: Sequence[str]) -> None:
        """Raise Refused for a column that is not there: SQLite would read its name as a text."""
        for name in names:
            if name not in self.columns:
                raise Refused(
                    f"{self.table} has no column “{name}” that can be written. It has: {', '.join(self.columns)}."
                )


def shapes(base: sqlite3.Connection) -> dict[str, Shape]:
    """Every table whose rows can be written, by name."""
    listed, code = base.execute("PRAGMA main.table_list").fetchall(), stored.encoding(base)
    return {
        name: shape
        for _, name, kind, _, without_id, _ in listed
        if kind == "table"
        and not name.startswith("sqlite_")
        and (shape := _shape(base, name, bool(without_id), code))
    }


def _shape(base: sqlite3.Connection, table: str, without_id: bool, code: str) -> Shape | None:
    info = base.execute(f"PRAGMA main.table_xinfo({quoted(table)})").fetchall()
    columns = tuple(name for _, name, _, _, _, _, hidden in info if not hidden)
    derived = tuple(name for _, name, _, _, _, _, hidden in info if hidden in GENERATED)
    if without_id:
        keys = sorted((place, name) for _, name, _, _, _, place, _ in info if place)
        return Shape(table, columns, tuple(quoted(name) for _, name in keys), False, derived, code)
    name = row_id(name for _, name, *_ in info)
    return Shape(table, columns, (name,), True, derived, code) if name else None


def shape_of(tables: dict[str, Shape], table: str) -> Shape:
    """The table by its name. Raises Refused when there is none, or it is a view or a virtual table."""
    if table not in tables:
        raise Refused(
            f"There is no table “{table}” whose rows can be written. There are: {', '.join(tables) or 'none'}."
        )
    return tables[table]


MOST_ROWS = 500  # in one change: what a person can still read
ROUNDS = 2  # triggers may change what is put back; then it is put back again, at last without them
_NOTED = quoted("countersign touched")
_SIDES = {"INSERT": ("new",), "UPDATE": ("old", "new"), "DELETE": ("old",)}
Pairs = dict[str, Cell] | list[dict[str, Any]]  # a list has “column” and “value” in each


class Change(TypedDict):
    """One change to one table, as servers.data.models has it. Values are bound; nothing in here is read as SQL."""

    table: str
    op: str  # insert, update or delete
    where: Pairs
    values: Pairs


@dataclass(frozen=True)
class Touched:
    """One row before and after. None: not there."""

    shape: Shape
    key: Image
    before: Image | None
    after: Image | None

    @property
    def weight(self) -> int:
        """The bytes that it has at least, before any of it is written down."""
        values = (*(self.before or ()), *(self.after or ()))
        return sum(len(value) for value in values if isinstance(value, str | bytes))

    def turned(self) -> Touched:
        return Touched(self.shape, self.key, self.after, self.before)


class Watch:
    """Notes the key of every row that a connection touches, in temporary triggers of its own."""

    def __init__(self, base: sqlite3.Connection) -> None:
        self.base = base
        self.tables = shapes(base)
        self.others = unwatched.Others(base, self.tables)
        self.order = list(self.tables.values())
        own = (_name(event, number) for number in range(len(self.order)) for event in _SIDES)
        self.read = tables_read.of_triggers(base, own)
        width = max((len(shape.key) for shape in self.order), default=1)
        self.marks = [f"k{n}" for n in range(width)]
        self.named = set[str]()  # the tables that a change is about so far, and of which it touches rows
        base.execute(f"CREATE TEMP TABLE {_NOTED} (t, {', '.join(self.marks)})")
        for number, shape in enumerate(self.order):
            for event, sides in _SIDES.items():
                self._trigger(number, shape, event, sides)

    def _trigger(self, number: int, shape: Shape, event: str, sides: Sequence[str]) -> None:
        into = f"INSERT INTO {_NOTED} (t, {', '.join(self.marks[: len(shape.key)])})"
        notes = " ".join(
            f"{into} VALUES ({number}, {', '.join(f'{side}.{part}' for part in shape.key)});"
            for side in sides
        )
        name = quoted(_name(event, number))
        self.base.execute(f"CREATE TEMP TRIGGER {name} AFTER {event} ON {shape.named} BEGIN {notes} END")

    def seen(self) -> list[tuple[Shape, Image]]:
        """Every row touched so far, each once, in the order of tables and keys."""
        asked = f"SELECT DISTINCT *, {stored.text_bytes(self.marks)} FROM {_NOTED} ORDER BY 1, 2"
        rows = self.base.execute(asked).fetchmany(MOST_ROWS + 1)
        if len(rows) > MOST_ROWS:
            raise Refused(f"That touches more than {MOST_ROWS} rows. Change fewer at once.")
        found = [(self.order[number], tuple(key)) for number, *key in rows]
        for shape, key in found:
            stored.must_be_as_stored(shape.table, key[: len(key) // 2], key[len(key) // 2 :], shape.code)
        return [(shape, key[: len(shape.key)]) for shape, key in found]

    def touched(self, before: sqlite3.Connection) -> list[Touched]:
        """The rows that differ between `before`, which sees the database as it was, and this connection."""
        rows = [
            Touched(shape, key, shape.image(before, key), shape.image(self.base, key))
            for shape, key in self.seen()
        ]
        self.named |= {row.shape.table for row in rows}
        for table in {row.shape for row in rows}:
            self._all_seen(table, before, [row for row in rows if row.shape == table])
        new = sorted((row.shape.table, row.key[0]) for row in rows if row.before is None and row.shape.by_id)
        self.others.must_stand(self.base, dict(new))
        return [row for row in rows if exact(row.before) != exact(row.after)]

    def _all_seen(self, shape: Shape, before: sqlite3.Connection, rows: Sequence[Touched]) -> None:
        """Raise Refused when rows went that no trigger told of: those that ON CONFLICT REPLACE pushes aside."""
        told = sum((row.after is not None) - (row.before is not None) for row in rows)
        if shape.count(self.base) - shape.count(before) != told:
            raise Refused(
                f"That would push aside other rows of {shape.table}. Remove those first, and say so."
            )


def _name(event: str, number: int) -> str:
    return f"countersign {event} {number}"


def settled(base: sqlite3.Connection, strict: bool) -> sqlite3.Connection:
    """A connection made ready to change rows. `strict`: foreign keys are held."""
    base.text_factory = str
    for line in (
        f"foreign_keys={'ON' if strict else 'OFF'}",
        "cache_spill=OFF",
    ):
        base.execute(f"PRAGMA {line}")
    return base


def apply(watch: Watch, changes: Sequence[Change]) -> None:
    """Carry the changes out. Raises Refused for one that means no row, and sqlite3.Error."""
    if not 1 <= len(changes) <= MOST_CHANGES:
        raise Refused(f"{len(changes)} changes were given. Give between 1 and {MOST_CHANGES}.")
    for change in changes:
        watch.named.add(change["table"])
        _apply(watch.base, shape_of(watch.tables, change["table"]), change)


def _apply(base: sqlite3.Connection, shape: Shape, change: Change) -> None:
    where, values, op = _pairs(change["where"]), _pairs(change["values"]), change["op"]
    shape.must_have([*where, *values])
    if op == "insert":
        return _insert(base, shape, where, values)
    if not where or (op == "update") is not bool(values):
        raise Refused(
            f"An {op} needs “where”" + (" and “values”." if op == "update" else " and no “values”.")
        )
    picked = " AND ".join(f"{quoted(name)} IS ?" for name in where)
    sets = ", ".join(f"{quoted(name)} = ?" for name in values)
    verb = f"UPDATE {shape.named} SET {sets}" if values else f"DELETE FROM {shape.named}"
    if base.execute(f"{verb} WHERE {picked}", _bound([*values.values(), *where.values()])).rowcount == 0:
        said = ", ".join(f"{name} = {value}" for name, value in where.items())
        raise Refused(f"No row of {shape.table} has {said}. Look at its rows first.")


def _insert(base: sqlite3.Connection, shape: Shape, where: dict[str, Cell], values: dict[str, Cell]) -> None:
    if where or not values:
        raise Refused("An insert needs “values” and no “where”.")
    names, marks = ", ".join(map(quoted, values)), ", ".join("?" * len(values))
    base.execute(f"INSERT INTO {shape.named} ({names}) VALUES ({marks})", _bound(values.values()))


def _pairs(given: Pairs) -> dict[str, Cell]:
    pairs = given if isinstance(given, dict) else {one["column"]: one["value"] for one in given}
    if len(pairs) < len(given):
        raise Refused("A column is named twice. Name each once.")
    return pairs


def _bound(values: Iterable[Cell]) -> list[Stored]:
    found: list[Stored] = list(values)
    if any(isinstance(value, int) and not -(2**63) <= value < 2**63 for value in found):
        raise Refused("A number is too large for SQLite. Give it as text.")
    return found


def put_back(watch: Watch, now: sqlite3.Connection, rows: Sequence[Touched]) -> None:
    """Make each row what it was before. What triggers do to others meanwhile is taken back too: `now` sees those.

    Raises sqlite3.Error when the database refuses it, and Refused where it leaves a row out without a word.
    """
    watch.named |= {row.shape.table for row in rows}
    wanted: Wanted = {(row.shape, row.key): row.before for row in rows}
    for _ in range(ROUNDS):
        if not (wrong := _wrong(watch, now, wanted)):
            return
        _set(watch.base, wrong)
    if wrong := _wrong(watch, now, wanted):
        with _no_triggers(watch.base):
            _set(watch.base, wrong)
        if wrong := _wrong(watch, now, wanted):
            shape, key, _ = wrong[0]
            raise Refused(
                f"The database does not take {shape.label(key)} back as it was: a rule of its table or another row is "
                "in the way. Nothing was put back. Look at the rows, and change them by hand."
            )


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


def must_be_taken(base: sqlite3.Connection, rows: Sequence[Touched]) -> None:
    """Raise Refused for rows that SQLite by itself would not write: `base` has them, and none of our functions.

    Those take the word “now” also where SQLite does not, and nobody could change such a row afterwards.
    """
    base.execute("BEGIN")
    try:
        with _no_triggers(base):
            for row in rows:
                row.shape.set_again(base, row.key, row.before, row.after)
    except sqlite3.Error as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT:
            raise
        why = str(error) if quotes_no_row(error) else "a value is not as its table wants it"
        raise Refused(f"SQLite would not keep that: {why}. Give other values, or do this by hand.") from None
    finally:
        if base.in_transaction:
            base.execute("ROLLBACK")


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


Given = frozenset[tuple[str, str]]  # tables, each with a column


def given(changes: Sequence[Change]) -> Given:
    """The columns that changes give values for."""
    return frozenset((change["table"], name) for change in changes for name in _pairs(change["values"]))


def later(rows: Sequence[Touched], other: Sequence[Touched], given: Given) -> list[Touched]:
    """The rows of one trial, with Later for each value that came out otherwise in the other. Raises Refused where that
    would hide which rows this is about, or what becomes of a value that was given."""
    elsewhere = {(row.shape, row.key): row.after for row in other}
    stays = {key: after is None for key, after in elsewhere.items()}
    if stays != {(row.shape, row.key): row.after is None for row in rows}:
        raise Refused("Which row this is about depends on chance or on the time. Do this one by hand.")
    found = [replace(row, after=_known(row.after, elsewhere[row.shape, row.key])) for row in rows]
    for row in found:
        _must_be_known(row, given)
    return found


def _must_be_known(row: Touched, given: Given) -> None:
    for name, value in zip(row.shape.columns, row.after or (), strict=False):
        if isinstance(value, Later) and (row.shape.table, name) in given:
            raise Refused(
                f"What {name} of {row.shape.table} becomes depends on chance or on the time, whatever is given for it. "
                "Leave that column out, or do this one by hand."
            )


def _known(one: Image | None, other: Image | None) -> Image | None:
    if one is None or other is None:
        return one
    return tuple(
        a if exact((a,)) == exact((b,)) else Later("(known when it is done)")
        for a, b in zip(one, other, strict=True)
    )


def record(rows: Sequence[Touched]) -> bytes:
    """Rows as a record keeps them, in JSON. Raises Refused for more than one holds: none would take the change back."""
    lines, named, left = list[bytes](), set[str](), LARGEST_RECORD - len("[]")
    for row in rows:
        line = b"" if row.weight > left else _line(row, row.shape.table not in named)
        named.add(row.shape.table)
        left -= max(len(line), row.weight) + len(", ")
        if left < 0:
            raise Refused(
                f"The rows that this touches hold more than the {LARGEST_RECORD >> 20} MB that are kept to undo a "
                "change. Change fewer rows at once."
            )
        lines.append(line)
    return b"[" + b", ".join(lines) + b"]"


def _line(row: Touched, is_first: bool) -> bytes:
    """The first row of each table has the names of its columns, its key and its derived columns besides."""
    names = [row.shape.columns, row.shape.key, row.shape.derived] if is_first else []
    told = [row.shape.table, encoded(row.key), encoded(row.before), encoded(row.after), *names]
    return json.dumps(told).encode()


def read(kept: Sequence[Any], tables: dict[str, Shape]) -> list[Touched]:
    """The rows of a record over the tables as they are now. Raises Refused when a table has other columns."""
    then, found = dict[str, Shape](), list[Touched]()
    for table, key, before, after, *names in kept:
        if table not in then:
            then[table] = _then(shape_of(tables, table), *names)
        found.append(_read(then[table], key, before, after))
    return found


def _then(now: Shape, *names: Sequence[str]) -> Shape:
    """A table as it was when its rows were kept; a record of an earlier version has no names, or none of `derived`."""
    if not names:
        return replace(now, derived=())
    columns, key, derived = (*map(tuple, names), ())[:3]
    if sorted(columns) != sorted(now.columns) or key != now.key or not {*derived} <= {*now.derived}:
        raise _other_columns(now)
    return replace(now, columns=columns, derived=derived)


def _read(shape: Shape, *told: list[object] | None) -> Touched:
    key, before, after = map(decoded, told)
    lengths = {len(image) for image in (before, after) if image is not None}
    if lengths - {len(shape.shown)} or len(key or ()) != len(shape.key):
        raise _other_columns(shape)
    return Touched(shape, key or (), before, after)


def _other_columns(shape: Shape) -> Refused:
    return Refused(f"The table {shape.table} has other columns now. Put its rows back by hand.")


def digest(rows: Iterable[tuple[str, *tuple[Image | None, ...]]]) -> str:
    """SHA-256 over tables, keys and images: the same for the same rows, whatever else the database holds."""
    told = [[table, *map(encoded, images)] for table, *images in rows]
    text = json.dumps(sorted(told, key=json.dumps), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()
