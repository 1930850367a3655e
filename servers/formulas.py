"""Texts in a table that spreadsheet programs would run. They are written as they are, and said on the card."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST = 1_000  # characters of a cell that are looked at
# At the beginning of a cell, or behind what another country's program takes for the next cell. A sign alone begins
# numbers, telephone numbers and lists, so behind it a function or a call of another program is looked for.
_FORMULA = re.compile(
    r"(?:^|[;,|\t\r\n])[\s\"'\ufeff]{0,9}(?:[=\uff1d][^=\s]|[+@\uff0b\uff0d\uff20-][^\r\n]{0,200}?(?:[A-Za-z.]\s{0,9}\(|[|!]))"
)


def formulas(rows: Iterable[Iterable[object]]) -> int:
    """How many cells begin like a formula."""
    return sum(is_formula(cell) for row in rows for cell in row)


def is_formula(cell: object) -> bool:
    """Whether a cell begins like a formula."""
    return isinstance(cell, str) and _FORMULA.search(cell[:_LONGEST]) is not None


def note(count: int) -> str:
    """What a card says of them behind its sentence; "" for none."""
    if not count:
        return ""
    cells = f"{count} cells begin" if count > 1 else "1 cell begins"
    return f" ({cells} like a formula: a spreadsheet program may run it)"
