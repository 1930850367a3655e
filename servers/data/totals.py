"""Sums and products in tables: rows that add up the rows above, and columns that add up or multiply others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

Numbers = Mapping[str, Sequence[float | None]]  # of each column that is one of numbers, by row

LABEL = re.compile(
    r"\W*(grand |sub-?|gesamt|zwischen|end|net )?(totals?|sum|summen?|betrag)\W*|\W*(ins)?gesamt\W*",
    re.IGNORECASE,
)
NAMED = re.compile(r"total|sum|gesamt|brutto|gross|amount|betrag", re.IGNORECASE)
MOST_COLUMNS = 12  # of numbers that are held against each other
SAMPLE = 400  # rows by which a rule is found
FEWEST, SHARE = 5, 0.8  # rows that follow a rule, and their share of all
FEWEST_NAMED, SHARE_NAMED = 2, 0.6  # the same where the column is called a total
FINEST = 6  # decimal places


class Wrong(NamedTuple):
    """A value that is not what the rest of the table makes it. `row` from 0."""

    row: int
    found: float
    expected: float


class Rule(NamedTuple):
    """What a column is in most rows: the sum of others, or the product of two."""

    column: str
    of: tuple[str, ...]
    times: bool

    @property
    def said(self) -> str:
        return (" × " if self.times else " + ").join(f"“{name}”" for name in self.of)

    def value(self, numbers: Numbers, row: int) -> float | None:
        """What the column should be there; None where something is missing."""
        parts = [numbers[name][row] for name in self.of]
        filled = [part for part in parts if part is not None]
        if len(filled) < len(parts):
            return None
        return filled[0] * filled[1] if self.times else sum(filled)

    def telling(self, numbers: Numbers, row: int) -> bool:
        """Whether the row can bear witness: a sum with zero and a product with one hold by chance."""
        parts = [numbers[name][row] or 0.0 for name in self.of]
        return sum(part not in ((0.0, 1.0) if self.times else (0.0,)) for part in parts) > 1


def places(values: Sequence[float | None]) -> int:
    """How many decimal places the values of a column have at most."""
    found = 0
    for value in values:
        if value is not None and found < FINEST:
            found = max(found, _places(value))
    return found


def _places(value: float) -> int:
    _, _, decimals = f"{value:.{FINEST}f}".rstrip("0").partition(".")
    return len(decimals)


def rules(numbers: Numbers, rows: Sequence[int], places: Mapping[str, int]) -> Iterator[Rule]:
    """The rule of each column that has one, going by the first rows. `places`: the decimal places of each column."""
    names = list(numbers)[:MOST_COLUMNS]
    for column in names:
        others = [name for name in names if name != column]
        possible = _possible(column, others, names)
        found = [(_held(rule, numbers, rows[:SAMPLE], places), rule) for rule in possible]
        if (best := max(found, key=lambda one: one[0], default=None)) and best[0]:
            yield best[1]


def _possible(column: str, others: Sequence[str], names: Sequence[str]) -> Iterator[Rule]:
    for pair in combinations(others, 2):
        yield Rule(column, pair, times=False)
        yield Rule(column, pair, times=True)
    at = names.index(column)
    yield from (Rule(column, tuple(names[start:at]), times=False) for start in range(at - 2))


def _held(rule: Rule, numbers: Numbers, rows: Sequence[int], places: Mapping[str, int]) -> int:
    """How many rows follow the rule; 0 where they are too few to call it one."""
    fewest, share = (FEWEST_NAMED, SHARE_NAMED) if NAMED.search(rule.column) else (FEWEST, SHARE)
    known = [row for row in rows if rule.telling(numbers, row) and numbers[rule.column][row] is not None]
    wrong = {one.row for one in broken(rule, numbers, known, places)}
    held = len(known) - len(wrong)
    return held if held >= fewest and held >= share * len(known) else 0


def broken(rule: Rule, numbers: Numbers, rows: Sequence[int], places: Mapping[str, int]) -> Iterator[Wrong]:
    """The rows that do not follow the rule. Products are rounded as finely as the column is written."""
    values = numbers[rule.column]
    slack = 0.5 * 10.0 ** -places[rule.column] if rule.times else 0.0
    for row in rows:
        found, expected = values[row], rule.value(numbers, row)
        if found is not None and expected is not None and _differ(found, expected, slack):
            yield Wrong(row, found, expected)


def _differ(one: float, other: float, slack: float = 0.0) -> bool:
    return abs(one - other) > slack + 1e-9 * max(1.0, abs(one), abs(other))


def sums(values: Sequence[float | None], marked: Sequence[int]) -> Iterator[Wrong]:
    """The totals, in these rows, that are neither the sum of all rows above nor of those since the total before.

    A mean is let pass: under prices and rates it stands where a sum makes no sense.
    """
    totals, above = set(marked), _Above()
    for row in range(max(totals, default=-1) + 1):
        value = values[row]
        if row not in totals:
            above.add(value)
        else:
            if value is not None and above.many and not above.sound(value):
                yield Wrong(row, value, above.since if above.any_since else above.every)
            above.since, above.any_since = 0.0, False


@dataclass
class _Above:
    """What the rows above add up to: all of them, and those since the total before."""

    every: float = 0.0
    many: int = 0
    since: float = 0.0
    any_since: bool = False

    def add(self, value: float | None) -> None:
        if value is not None:
            self.every, self.since = self.every + value, self.since + value
            self.many, self.any_since = self.many + 1, True

    def sound(self, value: float) -> bool:
        expected = [self.every, self.since, self.every / self.many]
        return not all(_differ(value, one, 1e-6) for one in expected)
