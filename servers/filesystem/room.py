"""How much fits into one answer: hosts keep 256 KB of it, so more is cut here, where it can be said."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TypeVar

from pydantic import BaseModel

MOST_ENTRIES = 1_000
MOST_CHARACTERS = 240 * 1024  # as indented JSON, the longer of the two forms in which an answer is sent

Entry = TypeVar("Entry", bound=BaseModel)


def fitting(entries: Iterable[Entry], limit: int = MOST_ENTRIES) -> tuple[list[Entry], bool]:
    """The first entries, as many as asked for and as fit; and whether there are more."""
    taken: list[Entry] = []
    left = MOST_CHARACTERS
    for entry in entries:
        text = entry.model_dump_json(indent=2)
        left -= len(text) + 6 * (text.count("\n") + 1)
        if left < 0 or len(taken) == limit:
            return taken, True
        taken.append(entry)
    return taken, False


def fits(text: str) -> bool:
    """Whether a text fits, with its quotes and line breaks escaped."""
    return len(text) <= MOST_CHARACTERS and len(json.dumps(text, ensure_ascii=False)) <= MOST_CHARACTERS
