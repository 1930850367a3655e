"""Validation of messages and views that the app sends: the problems for which Slack would reject them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from workspace.block_schema import list_of, markup, object_with, one_of, problem, string
from workspace.blocks import HOME_BLOCK, MESSAGE_BLOCK, MODAL_BLOCK
from workspace.elements import plain
from workspace.values import elements_of

MAX_VIEW_BYTES = 250 * 1024
MAX_MARKDOWN = 12_000
MAX_TEXT = 40_000
MAX_UPDATE_TEXT = 4_000

_MESSAGE_BLOCKS = list_of(MESSAGE_BLOCK, 50, min_items=0)
_COMMON = {
    "private_metadata": string(3000, min_length=0),
    "callback_id": string(255, min_length=0),
    "external_id": string(255, min_length=0),
}
_VIEWS = {
    "modal": object_with(
        {"title": plain(24), "blocks": list_of(MODAL_BLOCK, 100, min_items=0)},
        {
            **_COMMON,
            "submit": plain(24),
            "close": plain(24),
            "clear_on_close": one_of(True, False),
            "notify_on_close": one_of(True, False),
            "submit_disabled": one_of(True, False),
        },
    ),
    "home": object_with({"blocks": list_of(HOME_BLOCK, 100, min_items=0)}, _COMMON),
}


def message_block_problems(blocks: object) -> list[str]:
    """The problems of a message's blocks; empty when Slack accepts them."""
    problems = [*_MESSAGE_BLOCKS(blocks, "/blocks")]
    if not problems and isinstance(blocks, list):
        problems += _unique_ids(blocks, "/blocks")
        if sum(len(b["text"]) for b in blocks if b["type"] == "markdown") > MAX_MARKDOWN:
            problems.append(problem(f"markdown blocks hold more than {MAX_MARKDOWN} characters", "/blocks"))
        if sum(b["type"] == "table" for b in blocks) > 1:
            problems.append(problem("only one table allowed", "/blocks"))
    return problems


def message_text_problems(text: object) -> list[str]:
    """The problems of a message's text. It is mrkdwn even where it is only the fallback of blocks."""
    return [*markup(MAX_TEXT)(text, "/text")] if text else []


def view_problems(body: object) -> list[str]:
    """The problems of a modal or App Home view."""
    kind = body.get("type") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(kind, str) or kind not in _VIEWS:
        return [problem(f"unsupported view: {kind!r}", "/view")]
    problems = [*_VIEWS[kind](body, "/view")]
    if not problems:
        problems += _unique_ids(body["blocks"], "/view/blocks")
        if any(b["type"] == "input" for b in body["blocks"]) and kind == "modal" and "submit" not in body:
            problems.append(problem("submit is required when the view has an input block", "/view"))
    return problems


def view_bytes(body: Mapping[str, Any]) -> int:
    """The size of the view in bytes, as Slack stores it."""
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _unique_ids(blocks: list[dict[str, Any]], pointer: str) -> Iterator[str]:
    """block_id is unique per surface, action_id per block, and at most one element has focus_on_load."""
    ids = Counter(b["block_id"] for b in blocks if "block_id" in b)
    yield from (problem(f"block_id {name} is used twice", pointer) for name, n in ids.items() if n > 1)
    focused = 0
    for index, block in enumerate(blocks):
        elements = [*elements_of(block)]
        focused += sum(bool(e.get("focus_on_load")) for e in elements)
        names = Counter(e["action_id"] for e in elements if "action_id" in e)
        yield from (
            problem(f"action_id {name} is used twice", f"{pointer}/{index}")
            for name, n in names.items()
            if n > 1
        )
    if focused > 1:
        yield problem("only one element may have focus_on_load", pointer)
