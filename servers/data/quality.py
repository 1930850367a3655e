"""Duplicates, outliers and other anomalies in records."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from datetime import date
from statistics import median

from servers.data.models import Anomaly, Cell, Group
from servers.data.sources import Records
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
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())


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


MOST_ROWS = 20  # of one anomaly that are named
FENCE = 3.5  # modified z-score beyond which a value stands out (Iglewicz and Hoaglin)
FEWEST = 8  # values below which nothing can be said to be usual
_NUMBER = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][-+]?\d{1,3})?")
_CURRENCY = re.compile(r"^[\s$€£¥]+|[\s$€£¥%]+$")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})([T ].*)?")


def anomalies(records: Records, columns: Sequence[str], today: date) -> Iterator[Anomaly]:
    """Everything that stands out, column by column, then whole records."""
    for name in columns:
        values = list(enumerate(records.column(name), 1))
        filled = [(row, value) for row, value in values if not blank(value)]
        yield from _missing(name, values, filled)
        yield from _spaces(name, filled)
        numbers = [(row, value, number(value)) for row, value in filled]
        numeric = [(row, value, n) for row, value, n in numbers if n is not None]
        if len(numeric) > len(filled) / 2:
            yield from _types(name, [(row, value) for row, value, n in numbers if n is None], "a number")
            yield from _outliers(name, numeric)
        elif sum(_DAY.fullmatch(str(value)) is not None for _, value in filled) > len(filled) / 2:
            yield from _days(name, filled, today)
        else:
            yield from _rare(name, filled)
    for group in groups(records, records.columns, None):
        yield _anomaly(
            "(whole record)", "duplicate", [(row, None) for row in group.rows], "The same record again."
        )


def blank(value: Cell) -> bool:
    return value is None or (
        isinstance(value, str) and value.strip().lower() in ("", "null", "n/a", "na", "-")
    )


def number(value: Cell) -> float | None:
    """A value as a number, also with a currency sign, a percent sign or separated thousands."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    text = _CURRENCY.sub("", value[:60])
    match = _NUMBER.fullmatch(text)
    if not match or not (match[1] or match[3]):
        return None
    return float(text.replace(",", ""))


def _anomaly(column: str, kind: str, found: Sequence[tuple[int, Cell]], why: str) -> Anomaly:
    shown = found[:MOST_ROWS]
    values = [value if not isinstance(value, str) else value[:200] for _, value in shown]
    return Anomaly.model_validate(
        {
            "column": column,
            "kind": kind,
            "rows": [row for row, _ in shown],
            "count": len(found),
            "values": values if kind != "duplicate" else [],
            "why": why,
        }
    )


def _missing(name: str, values: list[tuple[int, Cell]], filled: list[tuple[int, Cell]]) -> Iterator[Anomaly]:
    gaps = [(row, value) for row, value in values if blank(value)]
    if gaps and filled:
        share = len(gaps) / len(values)
        yield _anomaly(
            name, "missing", gaps, f"Nothing stands here in {len(gaps)} of {len(values)} ({share:.0%})."
        )


def _spaces(name: str, filled: list[tuple[int, Cell]]) -> Iterator[Anomaly]:
    wide = [(row, value) for row, value in filled if isinstance(value, str) and value != value.strip()]
    if wide:
        yield _anomaly(name, "space", wide, "There are spaces before or after the value.")


def _types(name: str, others: list[tuple[int, Cell]], usual: str) -> Iterator[Anomaly]:
    if others:
        yield _anomaly(name, "type", others, f"The rest of the column is {usual}; this is not.")


def _outliers(name: str, numeric: list[tuple[int, Cell, float]]) -> Iterator[Anomaly]:
    values = [n for *_, n in numeric]
    if len(values) < FEWEST:
        return
    middle = median(values)
    spread = median(abs(n - middle) for n in values)
    # Where more than half are the same, the mean distance stands in for the median one.
    scale = 1.4826 * spread or 1.2533 * sum(abs(n - middle) for n in values) / len(values)
    far = [(row, value) for row, value, n in numeric if scale and abs(n - middle) / scale > FENCE]
    if far:
        yield _anomaly(name, "outlier", far, f"Far from the usual: the middle value is {middle:g}.")
    below = [(row, value) for row, value, n in numeric if n < 0]
    if below and len(below) <= len(values) / 20 and below != far:
        yield _anomaly(name, "outlier", below, "Below zero, while nearly all of the column is not.")


def _days(name: str, filled: list[tuple[int, Cell]], today: date) -> Iterator[Anomaly]:
    wrong, ahead = [], []
    for row, value in filled:
        day = _day(str(value))
        if day is None:
            wrong.append((row, value))
        elif day > today:
            ahead.append((row, value))
    if wrong:
        yield _anomaly(name, "date", wrong, "The rest of the column is days; this is none that exists.")
    if ahead and len(ahead) <= len(filled) / 4:
        yield _anomaly(name, "date", ahead, f"After today, {today}, while most of the column is not.")


def _day(text: str) -> date | None:
    match = _DAY.fullmatch(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3])) if match else None
    except ValueError:
        return None


def _rare(name: str, filled: list[tuple[int, Cell]]) -> Iterator[Anomaly]:
    """A value that stands once or twice where a few others share all the rest: often a typing error."""
    counts = Counter(str(value) for _, value in filled)
    usual = {value for value, count in counts.items() if count >= 5}
    rare = [(row, value) for row, value in filled if counts[str(value)] <= 2]
    if usual and rare and len(usual) <= 50 and len(rare) <= len(filled) / 10:
        yield _anomaly(name, "rare", rare, f"Hardly ever here; usual are {', '.join(sorted(usual)[:5])}.")
