"""What servers asked a model in the calls of an action, for *Show everything*."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from gate.rules.audit import Entry, Line
from views.block_kit import Block, boxes, clip, line, words

MOST = 4  # requests that are shown whole
PROMPT, ANSWER = 1500, 800  # characters


def asked(found: Sequence[Line]) -> list[Block]:
    """The requests with their answers, as rich text; those after the first ones are counted."""
    told = [element for each in found[:MOST] for element in _one(each.entry)]
    left = len(found) - MOST
    return [*told, *([line(words(f"… and {left} more: see the audit log", "italic"))] if left > 0 else [])]


def _one(entry: Entry) -> Iterator[Block]:
    yield line(words(f"{entry.tool} asked the model ({entry.reason})", "bold", most=300))
    prompt = json.loads(entry.arguments).get("prompt")
    if prompt is None:
        yield line(words("Neither the question nor the answer is kept.", "italic"))
        return
    yield from boxes(clip(prompt, PROMPT))
    if entry.result:
        yield line(words("It answered:"))
        yield from boxes(clip(entry.result, ANSWER))
