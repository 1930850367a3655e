"""Rows as lines of a CSV file."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import Any, TextIO

_QUOTED = "\r\n"  # csv quotes a value for a sign of a line's end only where lines end with that sign


class _Lines:
    def __init__(self, out: TextIO) -> None:
        self._write = out.write

    def write(self, line: str) -> None:
        self._write(f"{line.removesuffix(_QUOTED)}\n")


def write(out: TextIO, sign: str, rows: Iterable[Iterable[Any]]) -> None:
    """A line for each row, `sign` between values. A line feed ends it, and none but that: a carriage return in a value,
    which ends a line to others, stands in quotes like a line feed."""
    csv.writer(_Lines(out), delimiter=sign, lineterminator=_QUOTED).writerows(rows)
