"""Records that say the same twice: letter by letter, but for case and spaces, or nearly."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher

from servers.data.models import Cell, Group
from servers.data.tables import Records

WINDOW = 8  # records next to each other in order that are held against each other
MOST_COMPARED = 20_000  # records that are looked at for likeness
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
    sets = (
        _joined(found, keys, alike) if alike is not None and len(found) <= MOST_COMPARED else found.values()
    )
    return [_group(records, columns, keys, rows) for rows in sorted(sets) if len(rows) > 1]


def plain(value: Cell) -> str:
    """A value as it is compared: composed, lower case, one space at most; numbers without zeros at the end."""
    if isinstance(value, bool) or value is None:
        return "" if value is None else str(value).lower()
    if isinstance(value, int | float):
        return f"{value:.12g}"
    return " ".join(unicodedata.normalize("NFKC", value).casefold().split())


def _joined(
    found: dict[tuple[str, ...], list[int]], keys: list[tuple[str, ...]], alike: float
) -> list[list[int]]:
    """The groups, those that are nearly the same put together: each is held against the next few in order.

    Twice: once from the front of the records, once from their end, so that a typing error at one of them is found.
    """
    leader = {key: key for key in found}

    def first(key: tuple[str, ...]) -> tuple[str, ...]:
        while leader[key] != key:
            key = leader[key]
        return key

    texts = {key: "\n".join(key)[:LONGEST] for key in found}
    for backwards in (False, True):
        order = sorted(found, key=lambda key: texts[key][::-1] if backwards else texts[key])
        for n, key in enumerate(order):
            for other in order[n + 1 : n + 1 + WINDOW]:
                if first(key) != first(other) and likeness(texts[key], texts[other], alike):
                    leader[first(other)] = first(key)
    sets: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for key, rows in found.items():
        sets[first(key)] += rows
    return [sorted(rows) for rows in sets.values()]


def likeness(one: str, other: str, alike: float) -> bool:
    """Whether the texts are alike; numbers in them must be the same, for 2025 and 2026 are not a typing error."""
    if _digits(one) != _digits(other):
        return False
    match = SequenceMatcher(None, one, other, autojunk=False)
    return match.real_quick_ratio() >= alike and match.quick_ratio() >= alike and match.ratio() >= alike


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())


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
