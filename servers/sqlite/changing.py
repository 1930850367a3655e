"""Changes to rows, tried and made on copies in memory with the clock and chance frozen. Runs in the sandbox."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import shake_256
from itertools import count
from typing import Any

from servers.sandbox.protocol import Refused
from servers.sqlite import rows
from servers.sqlite.files import LARGEST_CHANGED
from servers.sqlite.reading import Asked, limited, opened
from servers.sqlite.rows import Touched, Watch, shapes

_DATES = ("date", "time", "datetime", "julianday", "unixepoch", "strftime")
_KEYWORDS = {"current_date": "date", "current_time": "time", "current_timestamp": "datetime"}


def stop(copy: sqlite3.Connection, plain: sqlite3.Connection, moment: str) -> None:
    """Make this the time for everything that runs in the copy, and what chance gives depend on it alone.

    `plain` is a connection to nothing, that knows how to reckon with dates.
    """
    for name in _DATES:
        copy.create_function(name, -1, _at(plain, name, moment), deterministic=True)
    for keyword, name in _KEYWORDS.items():
        copy.create_function(keyword, 0, _at(plain, name, moment))
    thrown = count()
    copy.create_function("random", 0, lambda: _chance(moment, next(thrown)))
    copy.create_function("randomblob", 1, lambda size: _bytes(moment, next(thrown), size))


def _at(plain: sqlite3.Connection, name: str, moment: str) -> Callable[..., Any]:
    first = 1 if name == "strftime" else 0  # the place of the time among the arguments

    def told(*args: Any) -> Any:
        given = list(args) if len(args) > first else [*args, "now"]
        given = [moment if n == first and str(one).lower() == "now" else one for n, one in enumerate(given)]
        return plain.execute(f"SELECT {name}({', '.join('?' * len(given))})", given).fetchone()[0]

    return told


def _chance(moment: str, number: int) -> int:
    return int.from_bytes(shake_256(f"{moment} {number}".encode()).digest(8), signed=True)


def _bytes(moment: str, number: int, size: Any) -> bytes:
    wanted = size if isinstance(size, int) and 1 <= size <= 1 << 20 else 1
    return shake_256(f"{moment} {number}".encode()).digest(wanted)


_ROLLBACK, _VERSIONS = (
    b"\1\1",
    slice(18, 20),
)  # where the header says whether a log is used; no copy in memory has one
Base = sqlite3.Connection
Doing = Callable[[Watch, Base], None]


@dataclass(frozen=True)
class Done:
    """The rows that a change touched, and the bytes of the database after it."""

    touched: list[Touched]
    image: bytes


def trial(asked: Asked, doing: Doing, strict: bool) -> tuple[list[Touched], bool]:
    """The rows that `doing` would change, and whether they could be put back exactly.

    It is tried at two times of day: a value that differs then is only known when it is done.
    """
    data = image(asked)
    with opened(asked) as now:
        now.text_factory = str
        touched, back = _tried(asked, data, now, (doing, strict, "2001-02-03 04:05:06"))
        other, _ = _tried(asked, data, now, (doing, strict, "2012-11-10 19:18:17"))
        return rows.later(touched, other), back


def _tried(asked: Asked, data: bytes, now: Base, what: tuple[Doing, bool, str]) -> tuple[list[Touched], bool]:
    doing, strict, moment = what
    with copied(data) as copy, closing(_nowhere()) as plain:
        limited(now, asked.seconds)
        limited(copy, asked.seconds)
        rows.settled(copy, strict)
        stop(copy, plain, moment)
        watch = Watch(copy)
        copy.execute("BEGIN")
        doing(watch, now)
        touched = watch.touched(now)
        copy.execute("COMMIT")
        return touched, _turns_back(watch, now, touched)


def _turns_back(watch: Watch, now: Base, touched: Sequence[Touched]) -> bool:
    """Whether the copy can be made again what the file is."""
    try:
        watch.base.execute("PRAGMA foreign_keys=OFF")
        watch.base.execute("BEGIN")
        rows.put_back(watch, now, touched)
        return not watch.touched(now)
    except (sqlite3.Error, Refused):
        return False


def image(asked: Asked) -> bytes:
    """The bytes of the database. Raises Refused for too large a one."""
    size = os.fstat(asked.file).st_size
    if size > LARGEST_CHANGED:
        most = LARGEST_CHANGED >> 20
        raise Refused(
            f"{asked.said} is larger than {most} MB: it cannot be tried on a copy. Change it by hand."
        )
    found = bytearray()
    while len(found) < size and (part := os.pread(asked.file, size - len(found), len(found))):
        found += part
    return bytes(found)


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


@contextmanager
def _transaction(asked: Asked, data: bytes, strict: bool) -> Iterator[tuple[Watch, Base]]:
    with opened(asked) as now, copied(data) as copy:
        now.text_factory = str
        rows.settled(copy, strict)
        limited(now, asked.seconds)
        limited(copy, asked.seconds)
        copy.execute("BEGIN")
        yield Watch(copy), now


def _after(watch: Watch, now: Base, data: bytes) -> Done:
    touched = watch.touched(now)
    watch.base.execute("COMMIT")
    after = watch.base.serialize()
    return Done(touched, after[: _VERSIONS.start] + data[_VERSIONS] + after[_VERSIONS.stop :])


def write(asked: Asked, changes: Sequence[rows.Change], expected: str | None) -> Done:
    """Carry the changes out on a copy. `expected`: digest of the rows as they were shown. Raises Refused."""
    data = image(asked)
    with _transaction(asked, data, strict=True) as (watch, now):
        rows.apply(watch.base, watch.tables, changes)
        done = _after(watch, now, data)
    if expected is not None and was(done.touched) != expected:
        raise Refused(f"{asked.said} has changed since it was shown. Look at the rows again, then ask again.")
    return done


def restore(asked: Asked, kept: Sequence[Any], expected: str | None) -> Done:
    """Put the rows of a record back, on a copy. `expected`: digest of the rows now; None: as the change left them."""
    data = image(asked)
    with _transaction(asked, data, strict=False) as (watch, now):
        broken = _orphans(watch.base)
        rows.put_back(watch, now, _as_they_were(watch, now, kept, expected))
        if _orphans(watch.base) - broken:
            raise Refused(f"Other rows of {asked.said} refer to these by now. Change those first.")
        return _after(watch, now, data)


def _as_they_were(watch: Watch, now: Base, kept: Sequence[Any], expected: str | None) -> list[Touched]:
    """The rows of a record over the tables. Raises Refused when they are not what was shown."""
    touched = rows.read(kept, watch.tables)
    if state(now, touched) != (expected or left(touched)):
        raise Refused("These rows have changed since. Look at them again, then ask again.")
    return touched


def _orphans(base: Base) -> set[tuple[object, ...]]:
    return set(base.execute("PRAGMA foreign_key_check").fetchall())


def standing(asked: Asked, kept: Sequence[Any]) -> tuple[str, bool]:
    """The digest of a record's rows now, and whether they are as the change left them."""
    with opened(asked) as base:
        base.text_factory = str
        touched = rows.read(kept, shapes(base))
        now = state(base, touched)
        return now, now == left(touched)


def state(base: Base, touched: Sequence[Touched]) -> str:
    """Digest of these rows as a connection sees them."""
    return rows.digest((row.shape.table, row.key, row.shape.image(base, row.key)) for row in touched)


def was(touched: Sequence[Touched]) -> str:
    """Digest of these rows as they are before the change."""
    return rows.digest((row.shape.table, row.key, row.before) for row in touched)


def left(touched: Sequence[Touched]) -> str:
    """Digest of these rows as they are after the change."""
    return rows.digest((row.shape.table, row.key, row.after) for row in touched)
