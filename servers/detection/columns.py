"""Tables in a text, and what stands over their columns: CSV, and the tabs between the cells of documents and sheets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

SIGNS = (b"\t", b";", b"|", b",")
LONGEST_HEAD = 60  # bytes of what stands over one column
LONGEST_LINE = 10_000


class Table(NamedTuple):
    """A run of lines with as many columns, the first of which says what they are. `first`: that line, with its end."""

    start: int
    end: int
    sign: bytes
    heads: Sequence[str]
    first: bytes

    def column(self, data: bytes, at: int) -> int:
        """The number of the column that a place in the text is in."""
        line = data.rfind(b"\n", 0, at) + 1
        return data.count(self.sign, line, at) if at - line < LONGEST_LINE else -1

    def head(self, data: bytes, at: int) -> str:
        """What stands over a place in a row; "" where nothing does."""
        number = self.column(data, at) if at >= self.start + len(self.first) else -1
        return self.heads[number] if 0 <= number < len(self.heads) else ""


class Tables:
    """The tables of a text, by where they are."""

    def __init__(self, data: bytes) -> None:
        self.found = list(_tables(data))
        self._starts = [table.start for table in self.found]

    def at(self, place: int) -> Table | None:
        n = bisect_right(self._starts, place) - 1
        return self.found[n] if n >= 0 and place <= self.found[n].end else None


def _tables(data: bytes) -> Iterator[Table]:
    lines = data.splitlines(keepends=True) if b"\n" in data or b"\r" in data else []
    at, place = 0, 0
    while at + 1 < len(lines):
        sign = _sign(lines[at], lines[at + 1])
        begin, first = place, lines[at]
        place, at = place + len(first), at + 1
        if not sign:
            continue
        while at < len(lines) and sign in lines[at]:
            place, at = place + len(lines[at]), at + 1
        yield Table(begin, place, sign, _heads(first, sign), first)


def _sign(first: bytes, second: bytes) -> bytes:
    """What parts the columns of two lines, if they are the head and the first row of a table."""
    for sign in SIGNS:
        many = first.count(sign)
        if many and many == second.count(sign) and len(first) < LONGEST_LINE:
            cells = first.split(sign)
            return sign if all(len(cell) <= LONGEST_HEAD for cell in cells) else b""
    return b""


def _heads(line: bytes, sign: bytes) -> list[str]:
    cells = line.decode("utf-8", "replace").split(sign.decode())
    return [cell.strip(' "_*\r\n\ufeff').replace("_", " ") for cell in cells]
