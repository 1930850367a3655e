"""The sentences of notes and mails, in English and German."""

from __future__ import annotations

import re
from collections.abc import Iterator

TURN = "\x1f"  # between what several people say in one line, such as a caption
_SENTENCE = re.compile(r"[^.!?…]+(?:[.!?…](?!\s)[^.!?…]*)*[.!?…]*")
_ABBREVIATED = re.compile(
    r"(?:\b\d{1,2}|\b(?:z|d|u|o|bzw|ca|Dr|Nr|St|Mr|Mrs|Ms|No|e\.g|i\.e|vs|approx|[A-Z]))\.$"
)
_LONGEST_ENDING = len("approx.") + 1  # with what stands before it


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; a point behind a number or an abbreviation ends none."""
    held = list[str]()
    for found in _SENTENCE.finditer(text):
        held.append(found[0].strip())
        if not _ABBREVIATED.search(held[-1][-_LONGEST_ENDING:]):
            yield " ".join(held).strip()
            held = []
    if held:
        yield " ".join(held).strip()
