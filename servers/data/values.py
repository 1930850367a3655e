"""Numbers and days as people write them in tables: with decimal points or commas, the day or the month first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from servers.data.table import Column
from servers.formats.tables import Cell

_FIRST = "+-−.,$€£¥%EUCG("  # what a number may begin with, besides digits and spaces
LONGEST = 60  # characters of a number or a day
_SIGNS = r"(?:[\s$€£¥]|(?:EUR|USD|CHF|GBP)\b)+"
_CURRENCY = re.compile(rf"^{_SIGNS}|(?:\s*(?:[$€£¥%]|EUR|USD|CHF|GBP))*\s*$")
_GAPS = " \u00a0\u202f'’"  # that part thousands in either notation
_POINT = re.compile(rf"[-+]?(\d{{1,3}}(?:[,{_GAPS}]\d{{3}})+|\d+)?(\.\d+)?(?:[eE][-+]?\d{{1,3}})?")
_COMMA = re.compile(rf"[-+]?(\d{{1,3}}(?:[.{_GAPS}]\d{{3}})+|\d+)?(,\d+)?")
_BEHIND = re.compile(r"\((?![-+])([^()]*)\)|(?![-+])([^-]*\d)\s*-")  # how books write what is less than zero
_BARE = str.maketrans("", "", f",{_GAPS}")
_SWAPPED = str.maketrans(",", ".", f".{_GAPS}")


def blank(value: Cell) -> bool:
    if not isinstance(value, str):
        return value is None
    text = value.strip()
    return len(text) < 5 and text.lower() in ("", "null", "n/a", "na", "-")


def number(value: Cell, comma: bool) -> float | None:
    """A value as a number, also with a currency sign, a percent sign or parted thousands; None when it is none.

    `comma`: whether decimals follow a comma, as in 12.500,00, and not a point.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return float(value) if math.isfinite(value) else None
    if len(value) > LONGEST or not _begins(value):
        return None
    if value.isdecimal():  # most of them; patterns take five times as long
        return float(value)
    text = _CURRENCY.sub("", value).replace("−", "-")
    if text[:1] == "-":  # it may stand before the currency
        text = "-" + _CURRENCY.sub("", text[1:])
    if text[:1] == "(" or text[-1:] == "-":
        less = _BEHIND.fullmatch(text)
        text = "-" + _CURRENCY.sub("", less[1] or less[2]) if less else text
    match = (_COMMA if comma else _POINT).fullmatch(text)
    if text.lstrip("-")[:1] == "0" and " " in text:  # the number of a telephone
        return None
    if not match or not (match[1] or match[2]):
        return None
    return float(text.translate(_SWAPPED if comma else _BARE))


_UNIT = re.compile(r"[$€£¥%]|EUR|USD|CHF|GBP")
_SIGN_OF = {"EUR": "€", "USD": "$", "GBP": "£"}


def mixed_units(name: str, found: Iterable[Cell]) -> str:
    """What is to be said of a column whose numbers have several currencies, or a percent sign; "" for one unit."""
    signs = (_UNIT.search(value) for value in found if isinstance(value, str) and len(value) <= LONGEST)
    units = [*dict.fromkeys(_SIGN_OF.get(sign[0], sign[0]) for sign in signs if sign)]
    if len(units) < 2:
        return ""
    named = f"{', '.join(units[:-1])} and {units[-1]}"
    return f"“{name}” has amounts in {named}, which are compared as if they were in one unit."


def _begins(text: str) -> bool:
    """Whether a text may be a number by its first character; patterns take ten times as long to see that it is none."""
    first = text[:1]
    return first.isdecimal() or first in _FIRST or first.isspace()


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


def notations(columns: Mapping[str, Column]) -> dict[str, Numbers]:
    """How each column writes its numbers; one that does not tell is taken to be like most of the others."""
    votes = {name: _votes(column) for name, column in columns.items()}
    usual = sum(comma - point for point, comma, _ in votes.values()) > 0
    told = sum(comma + point for point, comma, _ in votes.values()) > 0
    return {name: _notation(name, found, usual, told) for name, found in votes.items()}


def _votes(column: Column) -> tuple[int, int, tuple[str, bool]]:
    """How many values are numbers with a point alone and with a comma alone; and one that shows it, or is neither."""
    point, comma, sample, unsure = 0, 0, "", ""
    for code, value in enumerate(column.values):
        if not isinstance(value, str) or not ("." in value or "," in value):
            continue
        read = number(value, False), number(value, True)
        if read[0] == read[1]:
            continue
        if read[0] is None:
            comma, sample = comma + column.times[code], sample or value
        elif read[1] is None:
            point += column.times[code]
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
    if not isinstance(value, str) or not (value[:1].isdecimal() or value[:1].isspace()):
        return None
    text = value.strip()[:LONGEST]
    return _ISO.fullmatch(text) or _DOTTED.fullmatch(text) or _SLASHED.fullmatch(text)


def _year(digits: str) -> int:
    return int(digits) if len(digits) == 4 else int(digits) + (2000 if int(digits) < 70 else 1900)


def days(name: str, found: Iterable[tuple[Cell, int]]) -> Days:
    """Whether the column gives the month before the day: only where more of its days say so than say otherwise.

    `found`: values, each with how often it is there.
    """
    slashed = [(match, n) for value, n in found if (match := written(value)) and match.re is _SLASHED]
    day_first = sum(n for match, n in slashed if int(match["d"]) > 12)
    month_first = sum(n for match, n in slashed if int(match["m"]) > 12)
    open_ones = [match[0] for match, _ in slashed if match["d"] != match["m"]]
    if month_first > day_first:
        return Days(True, f"“{name}” gives the month before the day, as in {open_ones[0]}.")
    unsaid = open_ones and month_first == day_first
    return Days(False, f"“{name}”: {open_ones[0]} is read with the day first." if unsaid else "")
