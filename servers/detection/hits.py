"""One thing found in a text, and what may be shown of it; a text in pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from servers.detection.columns import Tables

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
    done, lead = 0, b""
    for start in range(0, max(len(text), 1), PIECE - OVERLAP):
        begin = (text.find("\n", start, start + OVERLAP) + 1 or start) if lead else start
        piece = lead + text[begin : start + PIECE].encode("utf-8", "replace")
        taken: list[Hit] = []
        for hit in find(piece):
            if not any(hit.start < other.end and other.start < hit.end for other in taken[-50:]):
                taken.append(hit)
        for hit in sorted(_placed((one for one in taken if one.start >= len(lead)), piece, begin, lead)):
            if hit.start >= done:
                done = hit.end
                yield hit
        lead = _heads(piece) if start + PIECE < len(text) else b""


def _heads(piece: bytes) -> bytes:
    """The head of the table that goes on behind a piece, twice: as a table begins. b"" where none does."""
    table = Tables(piece).at(piece.rfind(b"\n"))
    return (table.first.rstrip(b"\r\n") + b"\n") * 2 if table else b""


def _placed(found: Iterable[Hit], piece: bytes, start: int, lead: bytes) -> Iterator[Hit]:
    """The same by characters of the whole text, whose piece begins behind `lead`."""
    for hit in found:
        inside = piece[len(lead) : hit.start]
        before = start + (len(inside) if piece.isascii() else len(inside.decode("utf-8", "replace")))
        size = len(piece[hit.start : hit.end].decode("utf-8", "replace"))
        yield hit._replace(start=before, end=before + size)


def tail(text: str) -> str:
    plain = "".join(c for c in text if c.isalnum())
    return "•" * max(len(plain) - 4, 4) + plain[-4:]


def nothing(text: str) -> str:
    return f"••• ({len(text)} characters)"
