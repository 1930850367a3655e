"""Changing a database: tried on a copy in memory, then done in one transaction, with a record for the way back."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.data import query, records, rows
from servers.data.models import Change
from servers.data.rows import Touched, Watch
from servers.data.shape import shapes
from servers.data.stopped import stop
from servers.filesystem import disk
from servers.filesystem.roots import Place, Roots, spot

WAIT = 5.0  # seconds for another writer to end
LARGEST = 64 << 20  # bytes of a database that is tried on a copy
Base = sqlite3.Connection
Doing = Callable[[Watch, Base], None]


def trial(place: Place, doing: Doing, strict: bool = True) -> tuple[list[Touched], bool]:
    """The rows that `doing` would change, and whether they could be put back exactly. The file is only read.

    It is tried at two times of day: a value that differs then is only known when it is done.
    """
    _small(place)
    with query.reading(place) as now:
        now.text_factory = str
        touched, back = _tried(now, doing, strict, "2001-02-03 04:05:06")
        other, _ = _tried(now, doing, strict, "2012-11-10 19:18:17")
        return rows.later(touched, other), back


def _tried(now: Base, doing: Doing, strict: bool, moment: str) -> tuple[list[Touched], bool]:
    with closing(_nowhere()) as copy, closing(_nowhere()) as plain:
        now.backup(copy)
        query.limited(now, query.SECONDS)
        query.limited(copy, query.SECONDS)
        rows.settled(copy, strict)
        stop(copy, plain, moment)
        watch = Watch(copy)
        copy.execute("BEGIN")
        doing(watch, now)
        touched = watch.touched(now)
        copy.execute("COMMIT")
        return touched, _turns_back(watch, now, touched)


def _nowhere() -> Base:
    return sqlite3.connect(":memory:", isolation_level=None)


def _small(place: Place) -> None:
    with spot(place) as here:
        info = disk.status(here)
    if info and info.st_size > LARGEST:
        most = LARGEST >> 20
        raise ToolError(
            f"{place.said} is larger than {most} MB: it cannot be tried on a copy. Change it by hand."
        )


def _turns_back(watch: Watch, now: sqlite3.Connection, touched: Sequence[Touched]) -> bool:
    """Whether the copy can be made again what the file is."""
    try:
        watch.base.execute("PRAGMA foreign_keys=OFF")
        watch.base.execute("BEGIN")
        rows.put_back(watch, now, touched)
        return not watch.touched(now)
    except (sqlite3.Error, ToolError):
        return False


@contextmanager
def transaction(place: Place, strict: bool) -> Iterator[tuple[Watch, sqlite3.Connection]]:
    """The database alone among its writers, and a second connection that sees it as it was before.

    What the block leaves is committed; when the block fails nothing has changed. Raises ToolError.
    """
    path = place.root.path.joinpath(*place.parts)
    try:
        with spot(place) as here, disk.reading(here) as file:
            disk.sole(place.said, disk.examine(here))
            info = os.fstat(file)
            with (
                closing(
                    sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=WAIT, isolation_level=None)
                ) as base,
                closing(
                    sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=WAIT, isolation_level=None)
                ) as now,
            ):
                query.same(path, info, place.said)
                now.text_factory = str
                rows.settled(base, strict)
                base.execute("BEGIN IMMEDIATE")
                query.limited(base, query.SECONDS)
                yield Watch(base), now
                now.close()
                base.execute("COMMIT")
    except sqlite3.Error as error:
        raise ToolError(query.sentence(error, place.said)) from None


def write(
    place: Place, changes: Sequence[Change], expected: str | None, at: datetime
) -> tuple[list[Touched], str]:
    """Carry the changes out. `expected`: digest of the rows as they were shown. Returns the rows and the record."""
    with transaction(place, strict=True) as (watch, now):
        rows.apply(watch.base, watch.tables, changes)
        return _kept(place, watch.touched(now), expected, at)


def restore(
    place: Place, kept: Sequence[records.Kept], expected: str | None, at: datetime
) -> tuple[list[Touched], str]:
    """Put the rows of a record back. `expected`: digest of the rows now; None: as the change left them."""
    with transaction(place, strict=False) as (watch, now):
        broken = _orphans(now)
        rows.put_back(watch, now, as_they_were(watch, now, kept, expected))
        if _orphans(watch.base) - broken:
            raise ToolError(f"Other rows of {place.said} refer to these by now. Change those first.")
        return _kept(place, watch.touched(now), None, at)


def as_they_were(
    watch: Watch, now: sqlite3.Connection, kept: Sequence[records.Kept], expected: str | None
) -> list[Touched]:
    """The rows of a record over the tables. Raises ToolError when they are not what was shown."""
    touched = [row.touched(watch.tables) for row in kept]
    left = rows.digest((row.shape.table, row.key, row.after) for row in touched)
    if state(now, touched) != (expected or left):
        raise ToolError("These rows have changed since. Look at them again, then ask again.")
    return touched


def state(base: sqlite3.Connection, touched: Sequence[Touched]) -> str:
    """Digest of these rows as a connection sees them."""
    return rows.digest((row.shape.table, row.key, row.shape.image(base, row.key)) for row in touched)


def was(touched: Sequence[Touched]) -> str:
    """Digest of these rows as they are before the change."""
    return rows.digest((row.shape.table, row.key, row.before) for row in touched)


def _kept(
    place: Place, touched: list[Touched], expected: str | None, at: datetime
) -> tuple[list[Touched], str]:
    if expected is not None and was(touched) != expected:
        raise ToolError(
            f"{place.said} has changed since it was shown. Look at the rows again, then ask again."
        )
    return touched, records.keep(place, touched, at)


def _orphans(base: sqlite3.Connection) -> set[tuple[object, ...]]:
    return set(base.execute("PRAGMA foreign_key_check").fetchall())


def standing(roots: Roots, record: str) -> tuple[Place, str, bool]:
    """The database of a record, the digest of its rows now, and whether they are as the change left them."""
    place, kept = records.load(roots, record)
    with query.reading(place) as base:
        base.text_factory = str
        tables = shapes(base)
        touched = [row.touched(tables) for row in kept]
        now = state(base, touched)
    return place, now, now == rows.digest((row.shape.table, row.key, row.after) for row in touched)
