"""Transcripts in which names stand alone above what they say, and tables of who does what by when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# As Teams and Otter write them: more than one blank before the time, which lines of an agenda do not have.
_HEAD = re.compile(r"\s*+(\S.{0,60}?)(?: {2,}+|\t)\s*+[\[(]?(?:\d{1,2}:)?\d{1,2}:\d{2}[\])]?\s*")
_COLUMNS = {
    "what": re.compile(r"(?i)(?:actions?|action items?|tasks?|to-?dos?|what|aufgaben?|was|maßnahmen?|todo)"),
    "owner": re.compile(
        r"(?i)(?:who|owner|responsible|assignee|assigned to|by whom|wer|verantwortlich(?:e|er)?|zuständig|person|name)"
    ),
    "due": re.compile(
        r"(?i)(?:due|due date|when|by|by when|deadline|until|bis|bis wann|wann|termin|frist|fällig(?: am)?)"
    ),
}
LEAST = 2  # heads of a transcript; one alone may be anything with a time


class Row(NamedTuple):
    """One row of a table of actions, and on which line it stands."""

    number: int
    what: str
    owner: str
    due: str


def speakers(lines: Sequence[str]) -> dict[int, str]:
    """Who says each line, by its number from 1, of a transcript with a name and a time alone above what is said. "" for
    these lines themselves. Nothing where the text has no such form."""
    heads = {
        number: found[1].strip()
        for number, line in enumerate(lines, 1)
        if (found := _HEAD.fullmatch(line)) and _is_name(found[1])
    }
    if len(heads) < LEAST:
        return {}
    said, who = dict[int, str](), ""
    for number in range(1, len(lines) + 1):
        who = heads.get(number, who)
        if who:
            said[number] = "" if number in heads else who
    return said


def _is_name(text: str) -> bool:
    words = re.sub(r"\([^()]*\)", "", text).split()
    return 0 < len(words) <= 5 and words[0][:1].isupper() and not any(char in text for char in ":|;#*")


def is_rule(line: str) -> bool:
    """Whether a line is only the one below the heads of a table."""
    return "|" in line and "-" in line and not line.strip(" \t|:+=-")


def actions(lines: Sequence[str]) -> tuple[list[Row], set[int]]:
    """The rows of tables that say in their heads what is done by whom or when, and the lines that such tables take."""
    found, taken = list[Row](), set[int]()
    heads: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        cells = _cells(line)
        if len(cells) < 2:
            heads = {}
            continue
        if not heads:
            heads = _heads(cells)
            taken |= {number} if heads else set()
            continue
        taken.add(number)
        if not is_rule(line):
            told = {name: cells[at].strip() if at < len(cells) else "" for name, at in heads.items()}
            found += (
                [Row(number, told["what"], told.get("owner", ""), told.get("due", ""))]
                if told["what"]
                else []
            )
    return found, taken


def _cells(line: str) -> list[str]:
    if "|" in line:
        return [
            cell.strip().strip("*_").strip()
            for cell in line.strip().removeprefix("|").removesuffix("|").split("|")
        ]
    return line.rstrip("\n").split("\t") if "\t" in line else []


def _heads(cells: Sequence[str]) -> dict[str, int]:
    """Where in a row stands what, who and when; nothing for a row that is no such head."""
    found = dict[str, int]()
    for name, at in _named(cells):
        found.setdefault(name, at)
    return found if "what" in found and len(found) > 1 else {}


def _named(cells: Sequence[str]) -> Iterator[tuple[str, int]]:
    for at, cell in enumerate(cells):
        yield from ((name, at) for name, form in _COLUMNS.items() if form.fullmatch(cell.strip(" :?")))
