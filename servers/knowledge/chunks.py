"""Text in parts: paragraphs put together up to a size, each knowing its lines; and the words and sentences in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

SIZE = 1_200  # characters of a part, about
LONGEST_LINE = 4_000
_WORD = re.compile(r"\w+", re.UNICODE)
_SENTENCE = re.compile(r"(?<=[.!?…])[\"”’)]*\s+(?=[\w\"“‘(])|\n+")
_STOP = set(
    "a about an and any are as at be been but by can did do does for from had has have how i in into is it its me my "
    "of on or our please say says tell that the their them there they this to was we were what when where which who "
    "whom whose why will with would you your".split()
)


class Chunk(NamedTuple):
    """One part of a text, with the numbers of its first and last line."""

    first: int
    last: int
    text: str


def chunks(text: str) -> Iterator[Chunk]:
    """The parts of a text in order. Nothing but empty lines is left out."""
    lines: list[str] = []
    first, size = 1, 0
    for number, line in enumerate(text.splitlines(), 1):
        for piece in _pieces(line):
            if lines and (size + len(piece) > SIZE or (not piece.strip() and size > SIZE / 2)):
                yield from _chunk(first, lines, number - 1)
                lines, size = [], 0
            if not lines:
                first = number
            lines.append(piece)
            size += len(piece) + 1
    yield from _chunk(first, lines, first + len(lines) - 1)


def _pieces(line: str) -> list[str]:
    return [line[at : at + LONGEST_LINE] for at in range(0, len(line), LONGEST_LINE)] or [""]


def _chunk(first: int, lines: list[str], last: int) -> Iterator[Chunk]:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        yield Chunk(first, max(first, last), text)


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [word.casefold() for word in _WORD.findall(text)]


def telling(text: str) -> list[str]:
    """The words that say what a question is about, each once; all of them when there are no others."""
    found = list(dict.fromkeys(words(text)))
    return [word for word in found if word not in _STOP] or found


def sentences(text: str) -> list[str]:
    """The sentences of a text, and the lines of what is none, such as a list."""
    return [piece.strip() for piece in _SENTENCE.split(text) if piece and piece.strip()]


def stem(word: str) -> str:
    """A word without its most common English endings: “ends”, “ended” and “ending” are one."""
    for ending in ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word.removesuffix("e") if len(word) > 4 else word
