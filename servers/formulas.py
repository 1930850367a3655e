"""Texts in a table that spreadsheet programs would run. They are written as they are, and said on the card."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LONGEST = 40_000  # characters of a cell that are looked at: more than any spreadsheet program takes
# At the beginning of a cell, or behind what another country's program takes for the next cell. A sign alone begins
# numbers, telephone numbers and lists, so behind it a function or a call of another program is looked for, also on the
# next lines. Functions have names in the language of the program.
_BEGIN = r"(?:^|[;,|\t\r\n])[\s\"'\ufeff]{0,9}"
_EQUALS = re.compile(_BEGIN + r"[=\uff1d](?!=)\s*+[^=\s]")
_SIGN = re.compile(_BEGIN + r"[+@\uff0b\uff0d\uff20-]")
_CALL = re.compile(r"[^\W\d_]\d{0,9}\.?\s{0,9}\(|[|!]")


def formulas(rows: Iterable[Iterable[object]]) -> int:
    """How many cells begin like a formula."""
    return sum(is_formula(cell) for row in rows for cell in row)


def is_formula(cell: object) -> bool:
    """Whether a cell begins like a formula."""
    if not isinstance(cell, str):
        return False
    begin = cell[:_LONGEST]
    sign = _SIGN.search(begin)
    called = sign is not None and _CALL.search(begin, sign.end()) is not None
    return called or _EQUALS.search(begin) is not None


def note(count: int) -> str:
    """What a card says of them behind its sentence; "" for none."""
    if not count:
        return ""
    cells = f"{count} cells begin" if count > 1 else "1 cell begins"
    return f" ({cells} like a formula: a spreadsheet program may run it)"
