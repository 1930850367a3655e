"""A clock that stands still and dice that fall alike, inside a copy of a database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from hashlib import shake_256
from itertools import count
from typing import Any

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
