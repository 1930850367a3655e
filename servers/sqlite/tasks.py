"""Questions to a database, and changes of rows tried and made on copies in memory. Runs in the sandbox.

A change is tried, and made, with the clock stopped and chance replaced: nothing in a database can tell a trial from the
change itself. Answers are JSON in the bytes, hardly longer than what a tool answers: to
parse a large one would hold up the other threads of a bot. The rows of a whole table are for another task.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from servers.lines import one_line
from servers.sandbox.protocol import Refused, first_of
from servers.sqlite import reading, rows, search_indexes, tables_read
from servers.sqlite.files import LARGEST_CHANGED
from servers.sqlite.reading import Asked, limited, noted, opened, plainly, spoken
from servers.sqlite.rows import Given, Touched, Watch, shapes
from servers.sqlite.stored import Image, Later, Stored, exact

Answer = tuple[dict[str, Any], bytes]
Task = Callable[..., Answer]
_DATES = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_KEYWORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}


def stop(copy: sqlite3.Connection, plain: sqlite3.Connection, moment: str) -> None:
    """Make this the time for everything that runs in the copy, and replace what chance gives.

    `plain` is a connection to nothing, that knows how to reckon with dates.
    """
    for name in _DATES:
        copy.create_function(name, -1, _at(plain, name, moment), deterministic=True)
    for keyword, name in _KEYWORDS.items():
        copy.create_function(keyword, 0, _at(plain, name, moment))
    copy.create_function("random", 0, lambda: int.from_bytes(secrets.token_bytes(8), signed=True))
    copy.create_function("randomblob", 1, lambda size: secrets.token_bytes(_size(plain, size)))


def _at(plain: sqlite3.Connection, name: str, moment: str) -> Callable[..., Any]:
    first = 1 if name == "strftime" else 0  # the place of the time among the arguments

    def told(*args: Any) -> Any:
        given = list(args) if len(args) > first else [*args, "now"]
        given = [moment if n == first and str(one).lower() == "now" else one for n, one in enumerate(given)]
        return plain.execute(f"SELECT {name}({', '.join('?' * len(given))})", given).fetchone()[0]

    return told


def _size(plain: sqlite3.Connection, size: Any) -> int:
    """How many bytes randomblob gives: as SQLite reads its argument, and no more than fit into a database."""
    wanted: int = plain.execute("SELECT max(1, ifnull(CAST(? AS INTEGER), 1))", [size]).fetchone()[0]
    if wanted > LARGEST_CHANGED:
        raise ValueError("string or blob too big")
    return wanted


_ROLLBACK, _VERSIONS = (
    b"\1\1",
    slice(18, 20),
)  # where the header says whether a log is used; no copy in memory has one
Base = sqlite3.Connection
Doing = Callable[[Watch, Base], None]


@dataclass(frozen=True)
class Moment:
    """When a change is tried or made, and whether foreign keys are held."""

    at: str  # in UTC, as SQLite writes it
    strict: bool = True

    @property
    def other(self) -> Moment:
        """A minute later: whatever comes out otherwise is only known when it is done."""
        later = datetime.fromisoformat(self.at) + timedelta(minutes=1, seconds=1, milliseconds=100)
        return Moment(later.isoformat(" ", "milliseconds"), self.strict)


@dataclass(frozen=True)
class Done:
    """The rows that a change touches, and the bytes of the database after it."""

    touched: list[Touched]
    image: bytes


@dataclass(frozen=True)
class Tried:
    """The rows that a change would touch, whether they could be put back exactly, and the tables that it is about,
    that it changes, that triggers read for it, or whose search index they change."""

    touched: list[Touched]
    back: bool
    tables: list[str]


def trial(asked: Asked, doing: Doing, moment: Moment, given: Given) -> Tried:
    """What `doing` would change."""
    data = image(asked)
    with _done_at(asked, data, doing, moment) as (watch, now, touched):
        with _telling(asked, watch):
            rows.record(touched)  # what no record holds is refused before it is shown
        back = _may_be_copied(watch.base) and _turns_back(asked, (watch, now, touched), moment)
        names = tables_read.told(watch.base, watch.read.names | watch.named)
    return Tried(_shown(asked, data, doing, moment, given, touched), back, names)


def _shown(
    asked: Asked, data: bytes, doing: Doing, moment: Moment, given: Given, touched: list[Touched]
) -> list[Touched]:
    """These rows, with Later for every value that comes out otherwise a minute later."""
    with _done_at(asked, data, doing, moment.other) as (watch, _, other), _telling(asked, watch):
        return rows.later(touched, other, given)


@contextmanager
def _done_at(
    asked: Asked, data: bytes, doing: Doing, moment: Moment
) -> Iterator[tuple[Watch, Base, list[Touched]]]:
    """A copy to which `doing` is done, with the database as it was, and the rows that differ."""
    with opened(asked) as now:
        now.text_factory = str
        with _done_to(asked, now, data, doing, moment) as (watch, touched):
            yield watch, now, touched


@contextmanager
def _done_to(
    asked: Asked, now: Base, data: bytes, doing: Doing, moment: Moment
) -> Iterator[tuple[Watch, list[Touched]]]:
    """The same of these bytes, which `now` is a connection to."""
    with copied(data) as copy, closing(_nowhere()) as plain:
        limited(copy, asked.seconds)
        rows.settled(copy, moment.strict)
        stop(copy, plain, moment.at)
        watch = Watch(copy)
        copy.execute("BEGIN")
        with _telling(asked, watch):
            with watch.read.noting(copy), plainly(copy, asked):
                doing(watch, now)
            touched = watch.touched(now)
            copy.execute("COMMIT")
            _must_hold(asked, data, watch, touched)
        yield watch, touched


@contextmanager
def _telling(asked: Asked, watch: Watch) -> Iterator[None]:
    """A refusal inside says which tables the change is about, and triggers read and write: it may be because of a value
    in them."""
    try:
        with spoken(asked):
            yield
    except Refused as refused:
        watch.base.set_progress_handler(None, 0)
        refused.tables = tables_read.told(watch.base, watch.read.names | watch.read.written | watch.named)
        raise


def _must_hold(asked: Asked, data: bytes, watch: Watch, touched: Sequence[Touched]) -> None:
    """Raise Refused for rows that SQLite by itself would not take, and for a search index that came to be wrong. One
    that is right is made anew from its table, so that nothing is in it that its own sums do not tell."""
    found = search_indexes.about(watch.base, watch.tables)
    if not (found or _uses_dates(watch.base)):
        return
    with copied(watch.base.serialize()) as after:
        limited(after, asked.seconds)
        rows.must_be_taken(after, touched)
        if not found:
            return
        with copied(data) as before:
            limited(before, asked.seconds)
            for index in found:
                if search_indexes.must_stay_right(index, before, after):
                    index.make_anew(watch.base)


def _uses_dates(base: Base) -> bool:
    """Whether a table or an index may call one of the functions that this module replaces for SQLite."""
    calls = " OR ".join(f"sql LIKE '%{name}%'" for name in _DATES)
    asked = f"SELECT count(*) FROM main.sqlite_schema WHERE type IN ('table', 'index') AND ({calls})"
    return bool(base.execute(asked).fetchone()[0])


def _may_be_copied(base: Base) -> bool:
    """Whether a database is of a size at which the way back can be worked out: a change may make it larger."""
    pages, size = (base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return bool(pages * size <= LARGEST_CHANGED)


def _turns_back(asked: Asked, done: tuple[Watch, Base, list[Touched]], moment: Moment) -> bool:
    """Whether `restore`, done to a copy of what the change leaves, makes it again what the file is."""
    watch, was, touched = done
    after, restoring = watch.base.serialize(), _restoring(asked, json.loads(rows.record(touched)), None)
    try:
        with (
            copied(after) as now,
            _done_to(asked, now, after, restoring, Moment(moment.at, strict=False)) as (back, _),
        ):
            keys = {*back.seen(), *((row.shape, row.key) for row in touched)}
            return all(exact(one.image(was, key)) == exact(one.image(back.base, key)) for one, key in keys)
    except (sqlite3.Error, Refused):
        return False


def image(asked: Asked) -> bytes:
    """The bytes of the database. Raises Refused for too large a one, and for a damaged one."""
    size = os.fstat(asked.file).st_size
    if size > LARGEST_CHANGED:
        most = LARGEST_CHANGED >> 20
        raise Refused(
            f"{asked.said} is larger than {most} MB: it cannot be tried on a copy. Change it by hand."
        )
    found = bytearray()
    while len(found) < size and (part := os.pread(asked.file, size - len(found), len(found))):
        found += part
    data = bytes(found)
    _must_be_sound(asked, data)
    return data


def _must_be_sound(asked: Asked, data: bytes) -> None:
    """Raise Refused where tables or indexes share pages, or an index says other than its table: a change of one table
    could be a change of another, that no trigger sees."""
    with copied(data) as copy:
        limited(copy, asked.seconds)
        copy.execute("PRAGMA ignore_check_constraints=ON")  # rows that break a rule can be mended by a change
        if copy.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            raise Refused(
                f"{asked.said} is damaged, so that a change of one table could change another. Mend it with sqlite3 "
                "until its integrity_check says ok, or put a good copy in its place, then ask again."
            )
        if len(data) % copy.execute("PRAGMA page_size").fetchone()[0]:  # which is known by now
            raise Refused(
                f"{asked.said} goes on after its last page, so it cannot be written. Put a copy in its place that "
                "sqlite3 makes with VACUUM INTO, then ask again."
            )


@contextmanager
def copied(data: bytes) -> Iterator[Base]:
    """A connection to a copy in memory."""
    with closing(_nowhere()) as copy:
        copy.deserialize(data[: _VERSIONS.start] + _ROLLBACK + data[_VERSIONS.stop :])
        copy.execute("PRAGMA temp_store=MEMORY")
        copy.execute("PRAGMA cell_size_check=ON")
        yield copy


def _nowhere() -> Base:
    return sqlite3.connect(":memory:", isolation_level=None)


def _made(asked: Asked, data: bytes, doing: Doing, moment: Moment) -> Done:
    with _done_at(asked, data, doing, moment) as (watch, _, touched):
        after = watch.base.serialize()
    return Done(touched, after[: _VERSIONS.start] + data[_VERSIONS] + after[_VERSIONS.stop :])


def write(asked: Asked, changes: bytes, *, at: str, expected: str | None) -> Answer:
    """Carry the changes out on a copy. `expected`: digest of the rows before and after, as they were shown. Raises
    Refused, also where this is now another change than that."""
    data, moment = image(asked), Moment(at)
    doing, given = _applied(changes)
    done = _made(asked, data, doing, moment)
    if expected is not None and both(_shown(asked, data, doing, moment, given, done.touched)) != expected:
        raise Refused(
            f"{asked.said}, or what this does to it, has changed since it was shown. Look at the rows again, then ask "
            "again."
        )
    return _done(done)


def _applied(changes: bytes) -> tuple[Doing, Given]:
    """What carries these changes out, and the columns that they give values for."""
    asked_for = json.loads(changes)
    return lambda watch, _: rows.apply(watch, asked_for), rows.given(asked_for)


def restore(asked: Asked, given: bytes, *, at: str, expected: str | None) -> Answer:
    """Put the rows of a record back, on a copy. `expected`: digest of the rows now; None: as the change left them."""
    doing = _restoring(asked, json.loads(given), expected)
    return _done(_made(asked, image(asked), doing, Moment(at, strict=False)))


def _restoring(asked: Asked, kept: Sequence[Any], expected: str | None) -> Doing:
    """What puts the rows of a record back."""

    def doing(watch: Watch, now: Base) -> None:
        _put_back(asked, watch, now, _as_they_were(watch, now, kept, expected))

    return doing


def _put_back(asked: Asked, watch: Watch, now: Base, touched: Sequence[Touched]) -> None:
    """Raises Refused where rows would refer to nothing then that do not now."""
    broken = _orphans(watch.base)
    rows.put_back(watch, now, touched)
    if _orphans(watch.base) - broken:
        raise Refused(f"Other rows of {asked.said} refer to these by now. Change those first.")


def _as_they_were(watch: Watch, now: Base, kept: Sequence[Any], expected: str | None) -> list[Touched]:
    """The rows of a record over the tables. Raises Refused when they are not what was shown."""
    touched = rows.read(kept, watch.tables)
    if state(now, touched) != (expected or left(touched)):
        raise Refused("These rows have changed since. Look at them again, then ask again.")
    return touched


def _orphans(base: Base) -> set[tuple[object, ...]]:
    return set(base.execute("PRAGMA foreign_key_check").fetchall())


def standing(asked: Asked, given: bytes) -> Answer:
    """The digest of a record's rows now, and whether they are as the change left them."""
    with opened(asked) as base:
        base.text_factory = str
        touched = rows.read(json.loads(given), shapes(base))
        now = state(base, touched)
        names = tables_read.told(base, {row.shape.table for row in touched})
        return {"state": now, "as_left": now == left(touched), "tables": names}, b""


def state(base: Base, touched: Sequence[Touched]) -> str:
    """Digest of these rows as a connection sees them."""
    return rows.digest((row.shape.table, row.key, row.shape.image(base, row.key)) for row in touched)


def both(touched: Sequence[Touched]) -> str:
    """Digest of these rows before and after the change, but for what is only known when it is done."""
    return rows.digest((row.shape.table, row.key, row.before, row.after) for row in touched)


def left(touched: Sequence[Touched]) -> str:
    """Digest of these rows as they are after the change."""
    return rows.digest((row.shape.table, row.key, row.after) for row in touched)


CONTEXT = 4  # columns that stay, to tell which row it is


def row_difference(rows: Sequence[Touched]) -> str:
    """Every row, every value that changes."""
    return "".join(one_line(line) + "\n" for row in rows for line in _row_lines(row))


def _row_lines(row: Touched) -> Iterator[str]:
    yield f"@@ {row.shape.label(row.key)} ({_what(row)}) @@"
    if row.before is None or row.after is None:
        sign, image = ("+", row.after) if row.before is None else ("-", row.before)
        yield from (f"{sign}{name}: {_said(value)}" for name, value in _pairs(row, image))
        return
    pairs = list(zip(_pairs(row, row.before), _pairs(row, row.after), strict=True))
    same = [f" {name}: {_said(old)}" for (name, old), (_, new) in pairs if exact((old,)) == exact((new,))]
    yield from same[:CONTEXT]
    for (name, old), (_, new) in pairs:
        if exact((old,)) != exact((new,)):
            yield f"-{name}: {_said(old)}"
            yield f"+{name}: {_said(new)}"


def _pairs(row: Touched, image: Image | None) -> list[tuple[str, Stored]]:
    return list(zip(row.shape.shown, image or (), strict=True))


def _what(row: Touched) -> str:
    return "added" if row.before is None else "removed" if row.after is None else "changed"


def _said(value: Stored) -> str:
    if isinstance(value, Later):
        return str(value)
    if isinstance(value, bytes):
        return f"(binary, {len(value)} bytes) {value[:16].hex()}"
    return "NULL" if value is None else json.dumps(value, ensure_ascii=False)


def row_counts(rows: Sequence[Touched]) -> Counter[str]:
    """How many rows are added, changed and removed."""
    return Counter(map(_what, rows))


def counted(number: int) -> str:
    """So many rows."""
    return f"{number} row{'' if number == 1 else 's'}"


def effect(rows: Sequence[Touched]) -> str:
    """What happens to how many rows, up to the name of their file: `Add 1 row to`."""
    kinds = list(row_counts(rows))
    words = {"added": "Add {} to", "removed": "Remove {} from"}
    return words.get(kinds[0] if len(kinds) == 1 else "", "Change {} of").format(counted(len(rows)))


def items(rows: Sequence[Touched]) -> list[str]:
    """One line for each table and kind of change."""
    found = Counter((row.shape.table, _what(row)) for row in rows)
    return [one_line(f"{table}: {counted(count)} {what}") for (table, what), count in sorted(found.items())]


def select(asked: Asked, *, sql: str, parameters: reading.Given, most: tuple[int, int]) -> Answer:
    with opened(asked) as base:
        with noted(base, asked) as read:
            found = reading.select(base, asked, sql, parameters, most)
        return {}, _json({**found, "tables": tables_read.told(base, read.names)})


def reads(asked: Asked, *, sql: str = "", table: str | None = None) -> Answer:
    """The tables that a statement, or one for all rows of a table, reads, whatever the rows are."""
    with opened(asked) as base:
        names = reading.named_in(base, f"SELECT * FROM {reading.quoted(table)}" if table else sql)
        return {}, _json({"tables": tables_read.told(base, names)})


def tables(asked: Asked) -> Answer:
    with opened(asked) as base:
        listed, _ = first_of(reading.tables(base))
        return {}, listed


def table(asked: Asked, *, name: str | None, most: tuple[int, int]) -> Answer:
    with opened(asked) as base:
        found = reading.table_named(base, asked, name)
        with noted(base, asked) as read:
            columns, lines, unlike = reading.table(base, asked, found, most)
        names = tables_read.told(base, read.names)
        return {"columns": columns, "unlike": unlike, "tables": names}, lines


def preview(asked: Asked, changes: bytes, *, at: str, most: int) -> Answer:
    doing, given = _applied(changes)
    tried = trial(asked, doing, Moment(at), given)
    return _plan(tried, both(tried.touched), most)


def preview_back(asked: Asked, given: bytes, *, at: str, most: int) -> Answer:
    kept, found = json.loads(given), standing(asked, given)[0]

    def doing(watch: rows.Watch, now: Base) -> None:
        _put_back(asked, watch, now, rows.read(kept, watch.tables))

    return _plan(trial(asked, doing, Moment(at, strict=False), frozenset()), found["state"], most)


def _plan(tried: Tried, expected: str, most: int) -> Answer:
    touched = tried.touched
    difference = row_difference(touched)
    if len(difference) > most:
        raise Refused("That changes more than can be shown. Change fewer rows at once.", tried.tables)
    told = {
        "difference": difference,
        "items": items(touched),
        "rows": len(touched),
        "counted": counted(len(touched)),
        "effect": effect(touched),
        "expected": expected,
        "can_undo": tried.back,
        "tables": tried.tables,
    }
    return {}, _json(told)


def _done(done: Done) -> Answer:
    """Facts, then the touched rows as a record keeps them, then the bytes of the database."""
    record = rows.record(done.touched)
    counts = dict(row_counts(done.touched))
    told = {"counts": counts, "state": left(done.touched), "record": len(record)}
    return told, record + done.image


def _json(answer: Any) -> bytes:
    return json.dumps(answer).encode()


def _task(do: Task) -> Task:
    """A task as the sandbox calls it: with the descriptor of the database in `files`."""

    def told(*blobs: bytes, files: Sequence[int], said: str, seconds: float, **args: Any) -> Answer:
        asked = Asked(files[0], said, seconds)
        with spoken(asked):
            return do(asked, *blobs, **args)

    return told


TASKS: dict[str, Task] = {
    one.__name__: _task(one)
    for one in (select, reads, tables, table, preview, preview_back, standing, write, restore)
}
