"""What stands out in a table: outliers, gaps, impossible days, wrong totals, twins. Runs in the sandbox.

Each different value of a column is looked at once, however many rows have it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import combinations, islice
from typing import Any, NamedTuple

from servers.data import deduplicate, values
from servers.data.table import Column, Table
from servers.data.values import blank
from servers.formats.tables import Cell

MOST_ROWS = 100  # of one anomaly that are named
FENCE = 3.5  # modified z-score beyond which a value stands out (Iglewicz and Hoaglin)
FEWEST = 8  # values below which nothing can be said to be usual
_ID = re.compile(
    r"(?i)(^|[\W_])(id|key|uuid|guid|nr|no|num|number|nummer|code|ref|sku)\W*$|(nummer|nr)\W*$|[a-z]ID$"
)
_BARE_ID = re.compile(r"(?i)\W*+(id|uuid|guid|key|nr|no|number|nummer)\W*+|[^\w#]*+#\W*+")
_NUMBERED = re.compile(r"[A-Za-z]{1,6}[-_/#]?\d[\d/-]{1,20}")
MANY_IDS = 50  # values below which their form alone makes no column of ids
MOST_TOTALS = 200  # rows that are held against those above
MOST_REPEATED = 200  # values of one column of ids that are named
Anomaly = dict[str, Any]
Codes = Collection[int]  # of some values of a column


@dataclass(frozen=True)
class Cells:
    """A column without the rows that are totals, and how it writes numbers and days."""

    column: Column
    marked: set[int]  # rows that are totals, from 0
    notation: values.Numbers
    today: date

    @property
    def name(self) -> str:
        return self.column.name

    @cached_property
    def times(self) -> dict[int, int]:
        """How often each value stands there, by its code, in the order of the first rows."""
        if not self.marked:
            return self.column.times
        found = self.column.times.copy()
        found.subtract(self.column.codes[row] for row in self.marked)
        return {code: n for code, n in found.items() if n}

    @cached_property
    def gaps(self) -> set[int]:
        return {code for code in self.times if blank(self.column.values[code])}

    @cached_property
    def filled(self) -> list[tuple[int, Cell]]:
        """Codes and values of all that is no gap."""
        return [(code, self.column.values[code]) for code in self.times if code not in self.gaps]

    @cached_property
    def many(self) -> int:
        """In how many rows something stands."""
        return sum(self.times.values()) - self.count(self.gaps)

    @cached_property
    def read(self) -> list[float | None]:
        """The values as numbers."""
        return [*map(self.notation.read, self.column.values)]

    @property
    def units(self) -> str:
        """What is to be said of numbers in several units."""
        cells = self.column.values
        return values.mixed_units(
            self.name, (cells[code] for code in self.times if self.read[code] is not None)
        )

    @cached_property
    def days(self) -> values.Days:
        return values.days(self.name, self.counted(self.filled))

    @cached_property
    def kind(self) -> str:
        """Whether the column is “numbers” or “days” for the most part, or “texts”. Totals count here."""
        many, cells = self.column.times, self.column.values
        half = sum(n for code, n in many.items() if not blank(cells[code])) / 2
        if sum(many[code] for code, one in enumerate(self.read) if one is not None) > half:
            return "numbers"
        dated = sum(n for code, n in many.items() if values.written(cells[code]))
        return "days" if dated > half else "texts"

    def counted(self, found: Sequence[tuple[int, Cell]]) -> Iterator[tuple[Cell, int]]:
        """The values with how often each is there."""
        return ((value, self.times[code]) for code, value in found)

    def count(self, codes: Codes) -> int:
        return sum(map(self.times.__getitem__, codes))

    def anomaly(self, kind: str, codes: Codes, why: str) -> Iterator[Anomaly]:
        """What is to be said of these values; nothing where there are none."""
        if codes:
            rows = (row for row in self.column.where(codes.__contains__) if row not in self.marked)
            yield told(self.column, kind, islice(rows, MOST_ROWS), self.count(codes), why)


def told(column: Column, kind: str, rows: Iterator[int], many: int, why: str) -> Anomaly:
    shown = [*rows]
    cells = [column.values[column.codes[row]] for row in shown]
    return {
        "column": column.name,
        "kind": kind,
        "rows": [row + 1 for row in shown],
        "count": many,
        "values": [value[:200] if isinstance(value, str) else value for value in cells],
        "why": why,
    }


def looked_through(
    table: Table, columns: Sequence[Column], today: date
) -> tuple[list[str], Iterator[Anomaly]]:
    """What was assumed in reading the table, and everything that stands out, column by column, then whole records."""
    marked = [*islice(_totals(table.columns, table.rows), MOST_TOTALS)]
    notations = values.notations({column.name: column for column in columns})
    cells = [Cells(column, {*marked}, notations[column.name], today) for column in columns]
    return [*filter(None, [*table.assumed, *_assumed(cells, marked)])], _anomalies(table, cells, marked)


def _assumed(cells: Sequence[Cells], marked: Sequence[int]) -> Iterator[str]:
    yield from (why for one in cells if one.kind == "numbers" for why in (one.notation.why, one.units))
    yield from (one.days.why for one in cells if one.kind == "days")
    if (many := sum(one.kind == "numbers" for one in cells)) > MOST_COLUMNS:
        yield f"Of {many} columns of numbers, the first {MOST_COLUMNS} are held against each other."
    if len(marked) == MOST_TOTALS:
        yield f"Of the rows that say that they are totals, the first {MOST_TOTALS} are taken as such."
    if marked:
        yield f"Taken as totals, and left out of the rest: {', '.join(f'row {at + 1}' for at in marked[:5])}."


def _totals(columns: Sequence[Column], rows: int) -> Iterator[int]:
    """The rows, from 0, whose first value says that they are a total."""
    found: list[int] = []
    rest: Sequence[int] = range(rows)
    for column in columns:
        gaps = {code for code, value in enumerate(column.values) if blank(value)}
        labels = {code for code, value in enumerate(column.values) if _label(value)} - gaps
        found += [row for row in rest if column.codes[row] in labels] if labels else []
        rest = [row for row in rest if column.codes[row] in gaps] if gaps else []
    yield from sorted(found)


def _label(value: Cell) -> bool:
    return isinstance(value, str) and LABEL.fullmatch(value[:40]) is not None


def _anomalies(table: Table, cells: Sequence[Cells], marked: Sequence[int]) -> Iterator[Anomaly]:
    for one in cells:
        yield from _of_column(one)
    yield from _wrong_totals([one for one in cells if one.kind == "numbers"], marked)
    for group in deduplicate.twins(table, table.columns, None).groups:
        rows = [row + 1 for row in group[:MOST_ROWS]]
        twins = {"column": "(whole record)", "kind": "duplicate", "rows": rows, "count": len(group)}
        yield {**twins, "values": [], "why": "The same record again."}


def _of_column(cells: Cells) -> Iterator[Anomaly]:
    yield from _missing(cells)
    wide = {code for code, value in cells.filled if isinstance(value, str) and value != value.strip()}
    yield from cells.anomaly("space", wide, "There are spaces before or after the value.")
    yield from _ids(cells)
    if cells.kind == "numbers":
        yield from _numbers(cells)
    elif cells.kind == "days":
        yield from _days(cells)
    else:
        yield from _impossible(cells, cells.filled)
        yield from _rare(cells)


def _missing(cells: Cells) -> Iterator[Anomaly]:
    if cells.gaps and cells.filled:
        many, whole = cells.count(cells.gaps), sum(cells.times.values())
        why = f"Nothing stands here in {many} of {whole} ({many / whole:.0%})."
        yield from cells.anomaly("missing", cells.gaps, why)


def _ids(cells: Cells) -> Iterator[Anomaly]:
    """The values that stand more than once in a column that tells records apart, going by its name and by itself."""
    if not (_ID.search(cells.name) or _numbered(cells)):
        return
    compared, many = cells.column.compared, Counter[int]()
    for code, _ in cells.filled:
        many[compared[code]] += cells.times[code]
    share = 0.5 if _BARE_ID.fullmatch(cells.name) else 0.8
    if len(many) <= share * cells.many:
        return
    again = {number: n for number, n in many.items() if n > 1}
    rows = _rows(cells, [*islice(again, MOST_REPEATED)])
    left = len(again) - len(rows)
    for n, (number, found) in enumerate(rows.items(), 1):
        why = "Nearly every value of this column occurs once; this one occurs more often."
        why += f" So do {left:,} others, which are not listed." if left and n == len(rows) else ""
        yield told(cells.column, "id", islice(found, MOST_ROWS), again[number], why)


def _rows(cells: Cells, numbers: Sequence[int]) -> dict[int, list[int]]:
    """The rows, from 0, of values that are compared as these numbers, in their order."""
    found: dict[int, list[int]] = {number: [] for number in numbers}
    compared = cells.column.compared
    wanted = [number in found for number in compared]
    for row in cells.column.where(wanted.__getitem__):
        if row not in cells.marked:
            found[compared[cells.column.codes[row]]].append(row)
    return found


def _numbered(cells: Cells) -> bool:
    """Whether a column tells records apart by what stands in it, as A-10017 does, whatever it is called."""
    found = [
        (code, value)
        for code, value in cells.filled
        if isinstance(value, str) and _NUMBERED.fullmatch(value.strip())
    ]
    return sum(n for _, n in cells.counted(found)) >= MANY_IDS and len(found) >= 0.98 * cells.many


def _impossible(cells: Cells, found: Sequence[tuple[int, Cell]]) -> Iterator[Anomaly]:
    """What is written like a day with its whole year, in a column of other things, and is none that exists."""
    dated = [(code, value, match) for code, value in found if (match := values.written(value))]
    way = values.days(cells.name, cells.counted([(code, value) for code, value, _ in dated]))
    wrong = {code for code, value, match in dated if len(match["y"]) == 4 and way.read(value) is None}
    yield from cells.anomaly("date", wrong, "This looks like a date, but there is no such day.")


def _numbers(cells: Cells) -> Iterator[Anomaly]:
    none = [(code, value) for code, value in cells.filled if cells.read[code] is None]
    yield from _impossible(cells, none)
    yield from cells.anomaly(
        "type", {code for code, _ in none}, "The rest of the column holds numbers; this is not a number."
    )
    how = cells.notation
    foreign = {code for code, value in cells.filled if cells.read[code] is not None and how.foreign(value)}
    usual, other = ("comma", "point") if how.comma else ("point", "comma")
    why = f"Read with a decimal {other}; the rest of the column has a decimal {usual}."
    yield from cells.anomaly("notation", foreign, why)
    yield from _outliers(cells)


def _outliers(cells: Cells) -> Iterator[Anomaly]:
    read = {code: number for code, _ in cells.filled if (number := cells.read[code]) is not None}
    many = cells.count(read)
    if many < FEWEST:
        return
    middle = _median([(number, cells.times[code]) for code, number in read.items()])
    apart = [(abs(number - middle), cells.times[code]) for code, number in read.items()]
    # Where more than half are the same, the mean distance stands in for the median one.
    scale = 1.4826 * _median(apart) or 1.2533 * sum(one * n for one, n in apart) / many
    far = {code for code, number in read.items() if scale and abs(number - middle) / scale > FENCE}
    yield from cells.anomaly("outlier", far, f"Far from the usual: the middle value is {middle:g}.")
    below = {code for code, number in read.items() if number < 0}
    if cells.count(below) <= many / 20 and below != far:
        yield from cells.anomaly("outlier", below, "Below zero, while nearly all of the column is not.")


def _median(found: list[tuple[float, int]]) -> float:
    """Of values with how often each is there."""
    found.sort()
    whole = sum(n for _, n in found)
    low, high, seen, middle = (whole - 1) // 2, whole // 2, 0, list[float]()
    for value, n in found:
        middle += [value for at in (low, high) if seen <= at < seen + n]
        seen += n
    return sum(middle) / 2


def _days(cells: Cells) -> Iterator[Anomaly]:
    read = {code: cells.days.read(value) for code, value in cells.filled}
    wrong = {code for code, day in read.items() if day is None}
    ahead = {code for code, day in read.items() if day and day > cells.today}
    yield from cells.anomaly("date", wrong, "The rest of the column holds dates; this is not a date.")
    if cells.count(ahead) <= cells.count(read) / 4:
        why = f"This is after today, {cells.today}, and most of the column is not."
        yield from cells.anomaly("date", ahead, why)


def _rare(cells: Cells) -> Iterator[Anomaly]:
    """A value that stands once or twice where a few others share all the rest: often a typing error."""
    texts = {code: value if isinstance(value, str) else str(value) for code, value in cells.filled}
    if len(texts) > 0.9 * cells.many:  # then no few values share nearly all of it
        return
    counts = Counter[str]()
    for code, text in texts.items():
        counts[text] += cells.times[code]
    usual = {text for text, n in counts.items() if n >= 5}
    rare = {code for code, text in texts.items() if counts[text] <= 2}
    if usual and len(usual) <= 50 and cells.count(rare) <= cells.many / 10:
        why = f"Rare in this column. The usual values are {', '.join(sorted(usual)[:5])}."
        yield from cells.anomaly("rare", rare, why)


def _wrong_totals(cells: Sequence[Cells], marked: Sequence[int]) -> Iterator[Anomaly]:
    """Totals that are not the sum of the rows above, and values that are not what the rest of their row makes them."""
    columns = {one.name: one for one in cells}
    numbers = {name: [*map(one.read.__getitem__, one.column.codes)] for name, one in columns.items()}
    for name, read in numbers.items():
        for wrong in sums(read, marked):
            why = f"The rows above add up to {wrong.expected:,.12g}; this says {wrong.found:,.12g}."
            yield told(columns[name].column, "total", iter([wrong.row]), 1, why)
    decimals = {name: places(one.read) for name, one in columns.items()}
    rows = [row for row in range(len(next(iter(numbers.values()), ()))) if row not in {*marked}]
    for rule in rules(numbers, rows, decimals):
        if wrong_rows := [*broken(rule, numbers, rows, decimals)]:
            should = ", ".join(f"row {one.row + 1} {one.expected:,.12g}" for one in wrong_rows[:5])
            why = f"In nearly all rows this is {rule.said}. Here that would be {should}."
            found = (one.row for one in wrong_rows[:MOST_ROWS])
            yield told(columns[rule.column].column, "total", found, len(wrong_rows), why)


Numbers = Mapping[str, Sequence[float | None]]  # of each column that is one of numbers, by row

LABEL = re.compile(
    r"\W*(grand |sub-?|gesamt|zwischen|end|net )?(totals?|sum|summen?|betrag)\W*|\W*(ins)?gesamt\W*",
    re.IGNORECASE,
)
NAMED = re.compile(r"total|sum|gesamt|brutto|gross|amount|betrag", re.IGNORECASE)
MOST_COLUMNS = 12  # of numbers that are held against each other
SAMPLE = 400  # rows by which a rule is found
FEWEST_ROWS, SHARE = 5, 0.8  # rows that follow a rule, and their share of all
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
    fewest, share = (FEWEST_NAMED, SHARE_NAMED) if NAMED.search(rule.column) else (FEWEST_ROWS, SHARE)
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
