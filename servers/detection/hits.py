"""One thing found in a text, and what may be shown of it; a text in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

PIECE = 64 * 1024  # characters looked at at once
OVERLAP = 4_096  # of the end of one piece that the next begins with
Sure = Literal["certain", "likely", "perhaps"]


class Hit(NamedTuple):
    """Where it is in the text, by characters."""

    start: int
    end: int
    kind: str
    sure: Sure
    shown: str


Finder = Callable[[bytes], Iterator[Hit]]


def hits(text: str, find: Finder) -> Iterator[Hit]:
    """What a finder sees in a text, in order; of two at one place the one it names first."""
    done = 0
    for start in range(0, max(len(text), 1), PIECE - OVERLAP):
        piece = text[start : start + PIECE].encode("utf-8", "replace")
        taken: list[Hit] = []
        for hit in find(piece):
            if not any(hit.start < other.end and other.start < hit.end for other in taken[-50:]):
                taken.append(hit)
        for hit in sorted(_placed(taken, piece, start)):
            if hit.start >= done:
                done = hit.end
                yield hit


def _placed(found: list[Hit], piece: bytes, start: int) -> Iterator[Hit]:
    """The same by characters of the whole text."""
    for hit in found:
        before = start + (
            hit.start if piece.isascii() else len(piece[: hit.start].decode("utf-8", "replace"))
        )
        size = len(piece[hit.start : hit.end].decode("utf-8", "replace"))
        yield hit._replace(start=before, end=before + size)


def tail(text: str) -> str:
    plain = "".join(c for c in text if c.isalnum())
    return "•" * max(len(plain) - 4, 4) + plain[-4:]


def nothing(text: str) -> str:
    return f"••• ({len(text)} characters)"
