"""From words with their places on a page to lines, paragraphs and how sure all of it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple


class Word(NamedTuple):
    """One word, its place in pixels, and the block, paragraph and line that Tesseract gave it."""

    text: str
    left: int
    top: int
    width: int
    height: int
    sure: float
    line: tuple[int, int, int]

    @property
    def right(self) -> int:
        return self.left + self.width

    @property
    def middle(self) -> float:
        return self.top + self.height / 2


class Line(NamedTuple):
    text: str
    sure: float


def words(told: Iterable[Sequence[Any]]) -> list[Word]:
    """As the process apart gives them."""
    return [Word._make([*one[:6], tuple(one[6])]) for one in told]


def sure(found: Sequence[Word]) -> float:
    """The mean over words; 0 where there are none."""
    return round(sum(word.sure for word in found) / len(found), 2) if found else 0.0


def lines(found: Iterable[Word]) -> list[Line]:
    grouped = [list(group) for _, group in groupby(found, key=lambda word: word.line)]
    return [Line(" ".join(word.text for word in group), sure(group)) for group in grouped]


def text(found: Iterable[Word]) -> str:
    """Lines, with an empty one between paragraphs."""
    paragraphs = [list(group) for _, group in groupby(found, key=lambda word: word.line[:2])]
    return "\n\n".join("\n".join(line.text for line in lines(group)) for group in paragraphs)
