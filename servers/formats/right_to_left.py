"""Texts that run from right to left in a PDF: Arabic letters joined, and each line in the order it is seen."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cache
from itertools import groupby
from operator import add, itemgetter
from typing import Any

from bidi import get_base_level, get_display
from bidi.mirror import MIRRORED
from reportlab.platypus import Paragraph

from servers.formats.blocks import Run, Text
from servers.sandbox.protocol import Refused

_HEBREW = "[\u05be\u05c0\u05c3\u05d0-\u05ea\u05ef-\u05f4]"
_JOINED = "[\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdfc\ufe70-\ufefc]"  # letters of Arabic as they are seen
_ARABIC = (
    "[\u060b-\u060d\u061b\u061d-\u061f\u0640\u0660-\u066d\u06d4\u06dd\u06de\u06e9\u06f0-\u06f9\u06fd\u06fe]"
)
_SET = re.compile(f"{_HEBREW}|{_JOINED}|{_ARABIC}|\u064b")
_LAM, _JOINER = "\u0644", "\u0640\u200d"  # what joins on both sides and has one form
RAISED = "raised"  # a style of runs
_FATHATAN = "\u064b"
_ON_TALL = re.compile(f"(?<=[\ufe81-\ufe88\ufe8d\ufe8e\ufed9-\ufee0\ufef5-\ufefc\ufec1-\ufec8])({_FATHATAN})")
LONGEST_MARKS = 9  # on one letter
_SIDES = {
    (False, False): "isolated",
    (True, False): "final",
    (False, True): "initial",
    (True, True): "medial",
}


def runs_left(char: str) -> bool:
    """Whether a sign belongs to a script that is written from right to left, or stands only in such a one."""
    return unicodedata.bidirectional(char) in ("R", "AL", "AN") or "\u0591" <= char <= "\u08ff"


def can_be_set(char: str) -> bool:
    """Whether such a sign, joined, is shown as people write it: marks above and below letters are not."""
    return _SET.fullmatch(char) is not None


def begins_right(text: str) -> bool:
    """Whether a text begins at the right: its first letter says so."""
    return bool(get_base_level(text.replace("\n", " ")) == 1)


@cache
def _forms() -> dict[str, dict[str, str]]:
    """The forms of each Arabic letter, and of each two that are written as one: isolated, final, initial, medial."""
    found: dict[str, dict[str, str]] = {}
    for code in (*range(0xFB50, 0xFE00), *range(0xFE70, 0xFEFD)):
        form, *letters = unicodedata.decomposition(chr(code)).split() or [""]
        both = "".join(chr(int(letter, 16)) for letter in letters)
        if both and (
            len(both) == 1 or (both[0] == _LAM and both[1] in "\u0622\u0623\u0625\u0627" and both[2:] == "")
        ):
            found.setdefault(both, {})[form.strip("<>")] = chr(code)
    return found


def joined(text: Text) -> Text:
    """The text with Arabic letters in the forms that they take beside each other, also where its style changes."""
    if not any(runs_left(c) for run in text for c in run.text):
        return text
    shown = iter([*_shapes("".join(run.text for run in text))])
    forms = (run._replace(text="".join(next(shown) for _ in run.text)) for run in text)
    return tuple(part for run in forms for part in _raised(run))


def _raised(run: Run) -> Iterator[Run]:
    """The run, with a mark on a tall letter in a piece of its own: the font has it at the height of low ones."""
    for part in _ON_TALL.split(run.text):
        if part:
            yield (
                run._replace(text=part, style=run.style | {RAISED})
                if part == _FATHATAN
                else run._replace(text=part)
            )


def _shapes(letters: str) -> Iterator[str]:
    """For each letter what is written: its form, with that of the next where both are one; then "" for that one."""
    over = False
    for at, letter in enumerate(letters):
        if over:
            over = False
            yield ""
            continue
        pair = letters[at : at + 2]
        over = len(pair) == 2 and pair in _forms()
        forms = _forms().get(pair if over else letter)
        if forms is None:
            yield letter
            continue
        before, after = _beside(letters[:at][::-1]), _beside(letters[at + 1 :])
        sides = (
            _leads_on(before) and _leads_back(letter),
            not over and _leads_on(letter) and _leads_back(after),
        )
        yield forms.get(_SIDES[sides], letter)


def _beside(letters: str) -> str:
    """The first of these that is no mark; "" where there is none."""
    return next((letter for letter in letters[:LONGEST_MARKS] if unicodedata.category(letter) != "Mn"), "")


def _leads_on(letter: str) -> bool:
    """Whether a letter joins the one after it."""
    return bool(letter) and (letter in _JOINER or "initial" in _forms().get(letter, ()))


def _leads_back(letter: str) -> bool:
    return bool(letter) and (letter in _JOINER or "final" in _forms().get(letter, ()))


# Signs without a direction: two of them stand behind each of a line and tell its place. A last sign that has the
# direction of the line keeps those of the last one beside it.
_MARKS, _FIRST = 64, 0xE0020
_MARKED = re.compile("([^\U000e0020-\U000e005f])(..)|(..)(.)", re.DOTALL)
LONGEST_LINE = _MARKS**2


def seen(line: str, to_left: bool) -> list[tuple[int, str]]:
    """The signs of one line from left to right, each with its place in `line`; brackets open to where they are read.

    Raises Refused for a line that no page has, of thousands of signs without a width.
    """
    if len(line) > LONGEST_LINE:
        raise Refused(f"has a line of more than {LONGEST_LINE:,} signs. Divide it.")
    marks = (chr(_FIRST + place // _MARKS) + chr(_FIRST + place % _MARKS) for place in range(len(line)))
    base, last = ("R", "\u200f") if to_left else ("L", "\u200e")
    shown = get_display("".join(map(add, line, marks)) + last, base_dir=base)
    return [
        (_place(*mark), c) if mark else (_place(*turned[::-1]), MIRRORED.get(other, other))
        for c, mark, turned, other in _MARKED.findall(shown[1:] if to_left else shown[:-1])
    ]


def _place(high: str, low: str) -> int:
    return (ord(high) - _FIRST) * _MARKS + ord(low) - _FIRST


class Turned(Paragraph):  # type: ignore[misc]
    """A paragraph with signs that run to the left: its lines end where they would, and are drawn as they are seen."""

    blPara: Any  # its lines, once they are broken

    def drawPara(self, debug: Any = 0) -> None:
        """Draw it, at the left or, with the wordWrap of its style, at the right."""
        broken, to_left = self.blPara, self.style.wordWrap == "RTL"
        self.blPara = copy(broken)
        self.blPara.lines = [
            (line[0], [_turned(" ".join(line[1]), to_left)])
            if isinstance(line, tuple)
            else _drawn(line, to_left)
            for line in broken.lines
        ]
        try:
            super().drawPara(debug)
        finally:
            self.blPara = broken


def _turned(line: str, to_left: bool) -> str:
    return "".join(c for _, c in seen(line, to_left))


def _drawn(line: Any, to_left: bool) -> Any:
    """A line of pieces, each in a style of its own. The library turns those of a paragraph at the right once more."""
    pieces = [piece for piece in line.words for _ in piece.text]
    signs = [(pieces[place], c) for place, c in seen("".join(piece.text for piece in line.words), to_left)]
    words = [
        piece.clone(text="".join(c for _, c in some)) for piece, some in groupby(signs, key=itemgetter(0))
    ]
    line = copy(line)
    line.words = words[::-1] if to_left else words
    return line


def bullet(number: str, to_left: bool) -> str:
    """What stands before an item."""
    return _turned(number, to_left)


def columns(rows: Sequence[Sequence[Text]]) -> list[list[Text]]:
    """The rows of a table, whose first column is at the right where its first words are."""
    words = " ".join(run.text for cell in rows[0] for run in cell)
    return [[*row][::-1] if begins_right(words) else [*row] for row in rows]
