"""Changes of rows, tried and made on copies of a database in memory, and whether they can be put back exactly."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from servers.sandbox.protocol import Refused
from servers.sqlite import rows, search_indexes, tables_read
from servers.sqlite.files import LARGEST_CHANGED
from servers.sqlite.reading import Asked, limited, opened, plainly, spoken
from servers.sqlite.rows import Given, Touched, Watch
from servers.sqlite.stopped_clock import Moment, stop, uses_dates
from servers.sqlite.stored import exact

_ROLLBACK, _VERSIONS = (
    b"\1\1",
    slice(18, 20),
)  # where the header says whether a log is used; no copy in memory has one
Base = sqlite3.Connection
Doing = Callable[[Watch, Base], None]


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
    return Tried(shown(asked, data, doing, moment, given, touched), back, names)


def shown(
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
    if not (found or uses_dates(watch.base)):
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


def _may_be_copied(base: Base) -> bool:
    """Whether a database is of a size at which the way back can be worked out: a change may make it larger."""
    pages, size = (base.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))
    return bool(pages * size <= LARGEST_CHANGED)


def _turns_back(asked: Asked, done: tuple[Watch, Base, list[Touched]], moment: Moment) -> bool:
    """Whether `restore`, done to a copy of what the change leaves, makes it again what the file is."""
    watch, was, touched = done
    after, doing = watch.base.serialize(), restoring(asked, json.loads(rows.record(touched)), None)
    try:
        with (
            copied(after) as now,
            _done_to(asked, now, after, doing, Moment(moment.at, strict=False)) as (back, _),
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


def made(asked: Asked, data: bytes, doing: Doing, moment: Moment) -> Done:
    with _done_at(asked, data, doing, moment) as (watch, _, touched):
        after = watch.base.serialize()
    return Done(touched, after[: _VERSIONS.start] + data[_VERSIONS] + after[_VERSIONS.stop :])


def restoring(asked: Asked, kept: Sequence[Any], expected: str | None) -> Doing:
    """What puts the rows of a record back."""

    def doing(watch: Watch, now: Base) -> None:
        put_back(asked, watch, now, _as_they_were(watch, now, kept, expected))

    return doing


def put_back(asked: Asked, watch: Watch, now: Base, touched: Sequence[Touched]) -> None:
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


def state(base: Base, touched: Sequence[Touched]) -> str:
    """Digest of these rows as a connection sees them."""
    return rows.digest((row.shape.table, row.key, row.shape.image(base, row.key)) for row in touched)


def both(touched: Sequence[Touched]) -> str:
    """Digest of these rows before and after the change, but for what is only known when it is done."""
    return rows.digest((row.shape.table, row.key, row.before, row.after) for row in touched)


def left(touched: Sequence[Touched]) -> str:
    """Digest of these rows as they are after the change."""
    return rows.digest((row.shape.table, row.key, row.after) for row in touched)
