"""The clock stopped and chance replaced in a copy: nothing in a database can tell a trial from the change itself."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from servers.sqlite.files import LARGEST_CHANGED

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


def uses_dates(base: sqlite3.Connection) -> bool:
    """Whether a table or an index may call one of the functions that are replaced for SQLite."""
    calls = " OR ".join(f"sql LIKE '%{name}%'" for name in _DATES)
    asked = f"SELECT count(*) FROM main.sqlite_schema WHERE type IN ('table', 'index') AND ({calls})"
    return bool(base.execute(asked).fetchone()[0])
