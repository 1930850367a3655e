"""Numbers and days as people write them in tables: with decimal points or commas, the day or the month first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from servers.data.models import Cell

LONGEST = 60  # characters of a number or a day
_SIGNS = r"(?:[\s$€£¥]|(?:EUR|USD|CHF|GBP)\b)+"
_CURRENCY = re.compile(rf"^{_SIGNS}|(?:\s*(?:[$€£¥%]|EUR|USD|CHF|GBP))*\s*$")
_GAPS = "\u00a0\u202f'’"  # that part thousands in either notation
_POINT = re.compile(rf"[-+]?(\d{{1,3}}(?:[,{_GAPS}]\d{{3}})+|\d+)?(\.\d+)?(?:[eE][-+]?\d{{1,3}})?")
_COMMA = re.compile(rf"[-+]?(\d{{1,3}}(?:[.{_GAPS}]\d{{3}})+|\d+)?(,\d+)?")
_BARE = str.maketrans("", "", f",{_GAPS}")
_SWAPPED = str.maketrans(",", ".", f".{_GAPS}")


def blank(value: Cell) -> bool:
    return value is None or (
        isinstance(value, str) and value.strip().lower() in ("", "null", "n/a", "na", "-")
    )


def number(value: Cell, comma: bool) -> float | None:
    """A value as a number, also with a currency sign, a percent sign or parted thousands; None when it is none.

    `comma`: whether decimals follow a comma, as in 12.500,00, and not a point.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if len(value) > LONGEST:
        return None
    if value.isdecimal():  # most of them; patterns take five times as long
        return float(value)
    text = _CURRENCY.sub("", value).replace("−", "-")
    match = (_COMMA if comma else _POINT).fullmatch(text)
    if not match or not (match[1] or match[2]):
        return None
    return float(text.translate(_SWAPPED if comma else _BARE))


@dataclass(frozen=True)
class Numbers:
    """How the numbers of one column are written. `why` says what was assumed, and is empty where all is plain."""

    comma: bool
    why: str

    def read(self, value: Cell) -> float | None:
        """The number, also in the other notation when it is none in this one."""
        found = number(value, self.comma)
        return found if found is not None else number(value, not self.comma)

    def foreign(self, value: Cell) -> bool:
        """Whether a value is a number in the other notation alone."""
        return number(value, self.comma) is None and number(value, not self.comma) is not None


def notations(columns: Mapping[str, Sequence[Cell]]) -> dict[str, Numbers]:
    """How each column writes its numbers; one that does not tell is taken to be like most of the others."""
    votes = {name: _votes(values) for name, values in columns.items()}
    usual = sum(comma - point for point, comma, _ in votes.values()) > 0
    told = sum(comma + point for point, comma, _ in votes.values()) > 0
    return {name: _notation(name, found, usual, told) for name, found in votes.items()}


def _votes(values: Sequence[Cell]) -> tuple[int, int, tuple[str, bool]]:
    """How many values are numbers with a point alone and with a comma alone; and one that shows it, or is neither."""
    point, comma, sample, unsure = 0, 0, "", ""
    for value in values:
        if not isinstance(value, str) or not any(sign in value for sign in ".,"):
            continue
        read = number(value, False), number(value, True)
        if read[0] == read[1]:
            continue
        if read[0] is None:
            comma, sample = comma + 1, sample or value
        elif read[1] is None:
            point += 1
        else:
            unsure = unsure or value
    return point, comma, (sample, False) if sample or not unsure else (unsure, True)


def _notation(name: str, votes: tuple[int, int, tuple[str, bool]], usual: bool, told: bool) -> Numbers:
    point, comma, (sample, unsure) = votes
    if point == comma:
        like = "like most of the other columns" if told else "nothing in the file tells"
        why = f"“{name}”: “{sample}” is read as {number(sample, usual):.12g}, {like}." if unsure else ""
        return Numbers(usual, why)
    if comma < point:
        return Numbers(comma=False, why="")
    return Numbers(
        comma=True, why=f"“{name}” has decimal commas: “{sample}” is read as {number(sample, True):.12g}."
    )


_ISO = re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})-(?P<d>\d{1,2})(?:[T ].*)?")
_DOTTED = re.compile(r"(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<y>\d{4}|\d{2})(?:,? .*)?")
_SLASHED = re.compile(r"(?P<d>\d{1,2})/(?P<m>\d{1,2})/(?P<y>\d{4}|\d{2})(?:,? .*)?")


@dataclass(frozen=True)
class Days:
    """How the days of one column are written where there are slashes. `why` as with Numbers."""

    month_first: bool
    why: str

    def read(self, value: Cell) -> date | None:
        """The day; None for what is no day of the calendar."""
        match = written(value)
        if match is None:
            return None
        day, month = int(match["d"]), int(match["m"])
        if self.month_first and match.re is _SLASHED:
            day, month = month, day
        try:
            return date(_year(match["y"]), month, day)
        except ValueError:
            return None


def written(value: Cell) -> re.Match[str] | None:
    """The parts of what is written like a day, whether there is such a day or not."""
    text = value.strip()[:LONGEST] if isinstance(value, str) else ""
    if not text[:1].isdecimal():
        return None
    return _ISO.fullmatch(text) or _DOTTED.fullmatch(text) or _SLASHED.fullmatch(text)


def _year(digits: str) -> int:
    return int(digits) if len(digits) == 4 else int(digits) + (2000 if int(digits) < 70 else 1900)


def days(name: str, values: Sequence[Cell]) -> Days:
    """Whether the column gives the month before the day: only where more of its days say so than say otherwise."""
    slashed = list(_slashed(values))
    day_first = sum(int(match["d"]) > 12 for match in slashed)
    month_first = sum(int(match["m"]) > 12 for match in slashed)
    open_ones = [match[0] for match in slashed if match["d"] != match["m"]]
    if month_first > day_first:
        return Days(True, f"“{name}” gives the month before the day, as in {open_ones[0]}.")
    unsaid = open_ones and month_first == day_first
    return Days(False, f"“{name}”: {open_ones[0]} is read with the day first." if unsaid else "")


def _slashed(values: Sequence[Cell]) -> Iterator[re.Match[str]]:
    return (match for value in values if (match := written(value)) and match.re is _SLASHED)
