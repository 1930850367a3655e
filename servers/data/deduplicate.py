"""Records that say the same, and a file without those that are there again. Runs in the sandbox."""

from __future__ import annotations

import io
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, count
from typing import Any

from rapidfuzz.distance import Indel

from servers import csv_lines, formulas
from servers.data.table import Column, Table, plain

WINDOW = 8  # texts next to each other in order that are held against each other
_NO_DIGIT = re.compile(r"\D+")


def leaders(texts: Sequence[str], share: float) -> list[int]:
    """For each text, the number of the first that it is put together with.

    Texts are alike whose similarity is at least `share`: the normalized indel similarity, twice the length of their
    longest common subsequence over the sum of their lengths.
    """
    leader = list(range(len(texts)))

    def first(at: int) -> int:
        while leader[at] != at:
            leader[at] = at = leader[leader[at]]
        return at

    digits = [_NO_DIGIT.sub("", text) for text in texts]
    for one, other in _neighbours(texts):
        # Numbers must be the same: 2025 and 2026 are no typing error.
        if digits[one] != digits[other] or first(one) == first(other):
            continue
        if Indel.normalized_similarity(texts[one], texts[other], score_cutoff=share) >= share:
            low, high = sorted((first(one), first(other)))
            leader[high] = low
    return [first(at) for at in range(len(texts))]


def _neighbours(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Pairs of texts that stand near each other in order, read from the front and from the end: so a typing error is
    found at either of them."""
    forwards = sorted(range(len(texts)), key=lambda at: texts[at])
    backwards = sorted(range(len(texts)), key=lambda at: texts[at][::-1])
    for order in (forwards, backwards):
        for n, one in enumerate(order):
            yield from ((one, other) for other in order[n + 1 : n + 1 + WINDOW])


LONGEST = 400  # characters of a record that count for likeness
MOST_GROUPS = 200
MOST_KEPT = 5_000  # rows that stay whose numbers are told
MOST_SHOWN = 200  # rows that leave
LONGEST_ROW = 300  # characters of one of them


@dataclass(frozen=True)
class Twins:
    """A table, and the rows, from 0, of each group of two or more that say the same, in the order of the file."""

    table: Table
    compared: list[Column]
    groups: list[list[int]]
    keys: Sequence[
        int
    ]  # of each row, the same for those that are not only nearly the same; none where all groups are

    @cached_property
    def extra(self) -> set[int]:
        """The rows that leave: all of a group but the first."""
        return {row for group in self.groups for row in group[1:]}

    @property
    def keep(self) -> Iterator[int]:
        return (row for row in range(self.table.rows) if row not in self.extra)

    @property
    def left(self) -> int:
        return self.table.rows - len(self.extra)

    def told(self, group: list[int]) -> dict[str, Any]:
        """A group as it is answered, with rows from 1."""
        first = self.table.row(group[0])
        others = [self.table.row(row) for row in group[1:]]
        return {
            "rows": [row + 1 for row in group],
            "kind": self._kind(group),
            "record": dict(zip(self.table.names, first, strict=True)),
            "differs": [
                name
                for n, name in enumerate(self.table.names)
                if any(other[n] != first[n] for other in others)
            ],
        }

    def _kind(self, group: list[int]) -> str:
        return "same" if not self.keys or len({self.keys[row] for row in group}) == 1 else "similar"

    def shown(self) -> Iterator[str]:
        """What is left out, a line for each row, and how the file was read."""
        yield from self.table.assumed
        shown = 0
        for group in self.groups:
            said = "as" if self._kind(group) == "same" else "nearly as"
            for row in group[1:]:
                if shown == MOST_SHOWN:
                    yield f"… and {len(self.extra) - shown:,} more rows; finding duplicates lists them in groups."
                    return
                shown += 1
                yield f"- row {row + 1}: {self._row(row)} ({said} row {group[0] + 1}: {self._row(group[0])})"

    def _row(self, row: int) -> str:
        text = " · ".join("" if value is None else str(value) for value in self.table.row(row))
        return text if len(text) <= LONGEST_ROW else f"{text[:LONGEST_ROW]}…"

    def formulas(self) -> int:
        """How many cells of the file without them begin like a formula."""
        kept = bytearray(row not in self.extra for row in range(self.table.rows))
        found = formulas.formulas([self.table.names])
        for column in self.table.columns:
            bad = {code for code, value in enumerate(column.values) if formulas.is_formula(value)}
            if bad:
                found += sum(code in bad for code in compress(column.codes, kept))
        return found

    def written(self, sign: str) -> bytes:
        """The file without them, `sign` between values."""
        out = io.BytesIO()
        text = io.TextIOWrapper(out, "utf-8", newline="")
        rows = zip(
            *(map(written(column).__getitem__, column.codes) for column in self.table.columns), strict=True
        )
        kept = compress(rows, (row not in self.extra for row in count()))
        csv_lines.write(text, sign, chain([self.table.names], kept))
        text.flush()
        return out.getvalue()


def written(column: Column) -> list[Any]:
    """The values of a column as they stand in a file."""
    return [str(value).lower() if isinstance(value, bool) else value for value in column.values]


def twins(table: Table, columns: Sequence[Column], alike: float | None) -> Twins:
    """The records that say the same in these columns. `alike` is a share of 1, None for the same only."""
    groups, keys = (_same(columns), ()) if alike is None else _alike(columns, alike)
    return Twins(table, [*columns], sorted(rows for rows in groups if len(rows) > 1), keys)


def _same(columns: Sequence[Column]) -> Iterable[list[int]]:
    """The rows that say the same. Only those are compared that do so in the column that differs most."""
    most = max(columns, key=lambda column: len(column.values))
    times = Counter(map(most.compared.__getitem__, most.codes))
    again = [times[number] > 1 for number in most.compared]
    texts = [_Plain(column) for column in columns]
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for row in most.where(again.__getitem__):
        groups[tuple(text[text.codes[row]] for text in texts)].append(row)
    return (rows for key, rows in groups.items() if any(key))


class _Plain(dict[int, str]):
    """The values of a column as they are compared, by their code, as they are asked for."""

    def __init__(self, column: Column) -> None:
        self.values_of, self.codes = column.values, column.codes

    def __missing__(self, code: int) -> str:
        self[code] = text = plain(self.values_of[code])
        return text


def _alike(columns: Sequence[Column], alike: float) -> tuple[Iterable[list[int]], Sequence[int]]:
    """The rows that say nearly the same, and a number for each row, the same for those that say the same."""
    numbers = defaultdict[Any, int](count(1).__next__, {(0,) * len(columns): 0})
    ways = [map(column.compared.__getitem__, column.codes) for column in columns]
    keys = array("I", map(numbers.__getitem__, zip(*ways, strict=True)))
    firsts: dict[int, int] = {}
    for row, key in enumerate(keys):
        firsts.setdefault(key, row)
    firsts.pop(0, None)
    named, texts = [*firsts], [_text(columns, row) for row in firsts.values()]
    leading = {key: named[leader] for key, leader in zip(named, leaders(texts, alike), strict=True)}
    groups: dict[int, list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        if key:
            groups[leading[key]].append(row)
    return groups.values(), keys


def _text(columns: Sequence[Column], row: int) -> str:
    return "\n".join(plain(column.values[column.codes[row]]) for column in columns)[:LONGEST]
