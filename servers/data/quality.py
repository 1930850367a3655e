"""Duplicates, outliers and other anomalies in records."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from statistics import median

from servers.data import totals, values
from servers.data.models import Anomaly, Cell, Group
from servers.data.sources import Records
from servers.data.values import blank
from servers.sandbox.calling import run

LONGEST = 400  # characters of a record that count for likeness
MOST_GROUPS = 200


def groups(records: Records, columns: Sequence[str], alike: float | None) -> list[Group]:
    """Groups of two or more records, in the order of the file. `alike` is a share of 1, None for the same only."""
    at = [records.columns.index(name) for name in columns]
    keys = [tuple(plain(row[n]) for n in at) for row in records.rows]
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        if any(key):
            found[key].append(number)
    sets = _joined(found, alike) if alike is not None else found.values()
    return [_group(records, columns, keys, rows) for rows in sorted(sets) if len(rows) > 1]


def plain(value: Cell) -> str:
    """A value as it is compared: composed, lower case, one space at most; numbers without zeros at the end."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.12g}"
    composed = value if value.isascii() else unicodedata.normalize("NFKC", value)
    return " ".join(composed.casefold().split())


def _joined(found: dict[tuple[str, ...], list[int]], alike: float) -> list[list[int]]:
    """The groups, those that are nearly the same put together."""
    texts = ["\n".join(key)[:LONGEST] for key in found]
    _, told = run("data.alike", "This table", [json.dumps(texts).encode()], share=alike)
    sets: dict[int, list[int]] = defaultdict(list)
    for leader, rows in zip(json.loads(told), found.values(), strict=True):
        sets[leader] += rows
    return [sorted(rows) for rows in sets.values()]


def _group(records: Records, columns: Sequence[str], keys: list[tuple[str, ...]], rows: list[int]) -> Group:
    same = len({keys[row] for row in rows}) == 1
    first = records.rows[rows[0]]
    differs = [
        name
        for n, name in enumerate(records.columns)
        if any(records.rows[row][n] != first[n] for row in rows[1:])
    ]
    return Group(
        rows=[row + 1 for row in rows],
        kind="same" if same else "similar",
        record=dict(zip(records.columns, first, strict=True)),
        differs=differs,
    )


MOST_ROWS = 100  # of one anomaly that are named
FENCE = 3.5  # modified z-score beyond which a value stands out (Iglewicz and Hoaglin)
FEWEST = 8  # values below which nothing can be said to be usual
_ID = re.compile(
    r"(?i)(^|[\W_])(id|key|uuid|guid|nr|no|num|number|nummer|code|ref|sku)\W*$|(nummer|nr)\W*$|[a-z]ID$"
)
_BARE_ID = re.compile(r"(?i)\W*(id|uuid|guid|key|nr|no|number|nummer|#)\W*")
_NUMBERED = re.compile(r"[A-Za-z]{1,6}[-_/#]?\d[\d/-]{1,20}")
MANY_IDS = 50  # values below which their form alone makes no column of ids
MOST_TOTALS = 200  # rows that are held against those above
MOST_REPEATED = 200  # values of one column of ids that are named
Cells = list[tuple[int, Cell]]  # row from 1, and what stands there


def looked_through(
    records: Records, columns: Sequence[str], today: date
) -> tuple[list[str], Iterator[Anomaly]]:
    """What was assumed in reading the records, and everything that stands out, column by column, then whole records."""
    table = _Table.of(records, columns)
    return table.assumed, table.anomalies(columns, today)


@dataclass(frozen=True)
class _Table:
    """Records as they are understood: which rows are totals, and how each column writes numbers and days."""

    records: Records
    marked: list[int]  # rows that are totals, from 0
    numbers: dict[str, list[float | None]]  # of the columns that are numbers for the most part
    notations: dict[str, values.Numbers]
    days: dict[str, values.Days]  # of the columns that are days for the most part

    @classmethod
    def of(cls, records: Records, columns: Sequence[str]) -> _Table:
        marked = [at for at, row in enumerate(records.rows) if _is_total(row)][:MOST_TOTALS]
        cells = {name: records.column(name) for name in columns}
        notations = values.notations(cells)
        read = {name: [*map(notations[name].read, found)] for name, found in cells.items()}
        filled = {name: sum(not blank(value) for value in found) for name, found in cells.items()}
        numbers = {name: found for name, found in read.items() if _most(found, filled[name])}
        dated = {
            name: values.days(name, found)
            for name, found in cells.items()
            if name not in numbers and _most([*map(values.written, found)], filled[name])
        }
        return cls(records, marked, numbers, notations, dated)

    @property
    def assumed(self) -> list[str]:
        totals = [f"row {at + 1}" for at in self.marked[:5]]
        said = f"Taken as totals, and left out of the rest: {', '.join(totals)}." if totals else ""
        ways = [self.notations[name].why for name in self.numbers]
        return list(
            filter(None, [*self.records.assumed, *ways, *(way.why for way in self.days.values()), said])
        )

    def cells(self, name: str) -> Cells:
        """What stands in a column, without the totals."""
        marked = set(self.marked)
        return [(at + 1, value) for at, value in enumerate(self.records.column(name)) if at not in marked]

    def anomalies(self, columns: Sequence[str], today: date) -> Iterator[Anomaly]:
        for name in columns:
            yield from self._of_column(name, today)
        yield from self._wrong_totals()
        for group in groups(self.records, self.records.columns, None):
            rows: Cells = [(row, None) for row in group.rows]
            yield _anomaly("(whole record)", "duplicate", rows, "The same record again.")

    def _of_column(self, name: str, today: date) -> Iterator[Anomaly]:
        cells = self.cells(name)
        filled = [(row, value) for row, value in cells if not blank(value)]
        yield from _missing(name, cells, filled)
        yield from _spaces(name, filled)
        yield from _ids(name, filled)
        if name in self.numbers:
            yield from self._of_numbers(name, filled)
        elif name in self.days:
            yield from _days(name, filled, self.days[name], today)
        else:
            yield from _impossible(name, filled)
            yield from _rare(name, filled)

    def _of_numbers(self, name: str, filled: Cells) -> Iterator[Anomaly]:
        read, how = self.numbers[name], self.notations[name]
        none = [(row, value) for row, value in filled if read[row - 1] is None]
        yield from _impossible(name, none)
        yield from _types(name, none, "a number")
        if foreign := [(row, value) for row, value in filled if how.foreign(value)]:
            usual, other = ("comma", "point") if how.comma else ("point", "comma")
            why = f"Read with a decimal {other}; the rest of the column has a decimal {usual}."
            yield _anomaly(name, "notation", foreign, why)
        yield from _outliers(
            name, [(row, value, n) for row, value in filled if (n := read[row - 1]) is not None]
        )

    def _wrong_totals(self) -> Iterator[Anomaly]:
        marked = set(self.marked)
        rows = [at for at in range(len(self.records.rows)) if at not in marked]
        for name, read in self.numbers.items():
            for wrong in totals.sums(read, self.marked):
                why = f"The rows above add up to {wrong.expected:,.12g}; this says {wrong.found:,.12g}."
                yield self._wrong(name, [wrong], why)
        for rule in totals.rules(self.numbers, rows):
            if broken := list(totals.broken(rule, self.numbers, rows)):
                should = ", ".join(f"row {one.row + 1} {one.expected:,.12g}" for one in broken[:5])
                why = f"Nearly everywhere this is {rule.said}; that would be {should}."
                yield self._wrong(rule.column, broken, why)

    def _wrong(self, name: str, found: Sequence[totals.Wrong], why: str) -> Anomaly:
        column = self.records.column(name)
        return _anomaly(name, "total", [(one.row + 1, column[one.row]) for one in found], why)


def _is_total(row: Sequence[Cell]) -> bool:
    """Whether the first thing that stands in a row says that it is a total."""
    first = next((value for value in row if not blank(value)), None)
    return isinstance(first, str) and totals.LABEL.fullmatch(first[:40]) is not None


def _most(found: Sequence[object], filled: int) -> bool:
    return sum(one is not None for one in found) > filled / 2


def _anomaly(column: str, kind: str, found: Sequence[tuple[int, Cell]], why: str) -> Anomaly:
    shown = found[:MOST_ROWS]
    told = [value if not isinstance(value, str) else value[:200] for _, value in shown]
    return Anomaly.model_validate(
        {
            "column": column,
            "kind": kind,
            "rows": [row for row, _ in shown],
            "count": len(found),
            "values": told if kind != "duplicate" else [],
            "why": why,
        }
    )


def _missing(name: str, cells: Cells, filled: Cells) -> Iterator[Anomaly]:
    gaps = [(row, value) for row, value in cells if blank(value)]
    if gaps and filled:
        share = len(gaps) / len(cells)
        yield _anomaly(
            name, "missing", gaps, f"Nothing stands here in {len(gaps)} of {len(cells)} ({share:.0%})."
        )


def _ids(name: str, filled: Cells) -> Iterator[Anomaly]:
    """The values that stand more than once in a column that tells records apart, going by its name and by itself."""
    if not (_ID.search(name) or _numbered(filled)):
        return
    rows: dict[str, Cells] = defaultdict(list)
    for row, value in filled:
        rows[plain(value)].append((row, value))
    share = 0.5 if _BARE_ID.fullmatch(name) else 0.8
    if len(rows) <= share * len(filled):
        return
    for twice in islice((each for each in rows.values() if len(each) > 1), MOST_REPEATED):
        yield _anomaly(
            name, "id", twice, "Nearly all of the column is different in each row; this is there again."
        )


def _numbered(filled: Cells) -> bool:
    """Whether a column tells records apart by what stands in it, as A-10017 does, whatever it is called."""
    found = [value for _, value in filled if isinstance(value, str) and _NUMBERED.fullmatch(value.strip())]
    return len(found) >= MANY_IDS and len(set(found)) >= 0.98 * len(filled)


def _impossible(name: str, filled: Cells) -> Iterator[Anomaly]:
    """What is written like a day with its whole year, in a column of other things, and is none that exists."""
    way = values.days(name, [value for _, value in filled])
    wrong = [
        (row, value)
        for row, value in filled
        if (match := values.written(value)) and len(match["y"]) == 4 and way.read(value) is None
    ]
    if wrong:
        yield _anomaly(name, "date", wrong, "This is written like a day, and is none that exists.")


def _spaces(name: str, filled: Cells) -> Iterator[Anomaly]:
    wide = [(row, value) for row, value in filled if isinstance(value, str) and value != value.strip()]
    if wide:
        yield _anomaly(name, "space", wide, "There are spaces before or after the value.")


def _types(name: str, others: Cells, usual: str) -> Iterator[Anomaly]:
    if others:
        yield _anomaly(name, "type", others, f"The rest of the column is {usual}; this is not.")


def _outliers(name: str, numeric: list[tuple[int, Cell, float]]) -> Iterator[Anomaly]:
    read = [n for *_, n in numeric]
    if len(read) < FEWEST:
        return
    middle = median(read)
    spread = median(abs(n - middle) for n in read)
    # Where more than half are the same, the mean distance stands in for the median one.
    scale = 1.4826 * spread or 1.2533 * sum(abs(n - middle) for n in read) / len(read)
    far = [(row, value) for row, value, n in numeric if scale and abs(n - middle) / scale > FENCE]
    if far:
        yield _anomaly(name, "outlier", far, f"Far from the usual: the middle value is {middle:g}.")
    below = [(row, value) for row, value, n in numeric if n < 0]
    if below and len(below) <= len(read) / 20 and below != far:
        yield _anomaly(name, "outlier", below, "Below zero, while nearly all of the column is not.")


def _days(name: str, filled: Cells, way: values.Days, today: date) -> Iterator[Anomaly]:
    read = [(row, value, way.read(value)) for row, value in filled]
    wrong = [(row, value) for row, value, day in read if day is None]
    ahead = [(row, value) for row, value, day in read if day and day > today]
    if wrong:
        yield _anomaly(name, "date", wrong, "The rest of the column is days; this is none that exists.")
    if ahead and len(ahead) <= len(filled) / 4:
        yield _anomaly(name, "date", ahead, f"After today, {today}, while most of the column is not.")


def _rare(name: str, filled: Cells) -> Iterator[Anomaly]:
    """A value that stands once or twice where a few others share all the rest: often a typing error."""
    counts = Counter(str(value) for _, value in filled)
    usual = {value for value, count in counts.items() if count >= 5}
    rare = [(row, value) for row, value in filled if counts[str(value)] <= 2]
    if usual and rare and len(usual) <= 50 and len(rare) <= len(filled) / 10:
        yield _anomaly(name, "rare", rare, f"Hardly ever here; usual are {', '.join(sorted(usual)[:5])}.")
