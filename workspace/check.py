"""The strict reader of every outgoing payload: what Slack would refuse, in sentences."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from workspace.blocks import HOME_BLOCK, MESSAGE_BLOCK, MODAL_BLOCK
from workspace.elements import plain
from workspace.grammar import list_of, markup, one_of, problem, record, string
from workspace.values import elements_of

VIEW_BYTES = 250 * 1024
MARKDOWN_SUM = 12_000
TEXT_MOST = 40_000
UPDATE_TEXT_MOST = 4_000

_MESSAGE_BLOCKS = list_of(MESSAGE_BLOCK, 50, least=0)
_COMMON = {
    "private_metadata": string(3000, least=0),
    "callback_id": string(255, least=0),
    "external_id": string(255, least=0),
}
_VIEWS = {
    "modal": record(
        {"title": plain(24), "blocks": list_of(MODAL_BLOCK, 100, least=0)},
        {
            **_COMMON,
            "submit": plain(24),
            "close": plain(24),
            "clear_on_close": one_of(True, False),
            "notify_on_close": one_of(True, False),
            "submit_disabled": one_of(True, False),
        },
    ),
    "home": record({"blocks": list_of(HOME_BLOCK, 100, least=0)}, _COMMON),
}


def blocks_of_message(blocks: object) -> list[str]:
    """Every problem of a message's blocks."""
    found = [*_MESSAGE_BLOCKS(blocks, "/blocks")]
    if not found and isinstance(blocks, list):
        found += _distinct(blocks, "/blocks")
        if sum(len(b["text"]) for b in blocks if b["type"] == "markdown") > MARKDOWN_SUM:
            found.append(problem(f"markdown blocks hold more than {MARKDOWN_SUM} characters", "/blocks"))
        if sum(b["type"] == "table" for b in blocks) > 1:
            found.append(problem("only one table allowed", "/blocks"))
    return found


def text_of_message(text: object) -> list[str]:
    """Every problem of a message's text, which is mrkdwn even where it is only the fallback."""
    return [*markup(TEXT_MOST)(text, "/text")] if text else []


def view(body: object) -> list[str]:
    """Every problem of a modal or home view."""
    kind = body.get("type") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(kind, str) or kind not in _VIEWS:
        return [problem(f"unsupported view: {kind!r}", "/view")]
    found = [*_VIEWS[kind](body, "/view")]
    if not found:
        found += _distinct(body["blocks"], "/view/blocks")
        if any(b["type"] == "input" for b in body["blocks"]) and kind == "modal" and "submit" not in body:
            found.append(problem("submit is required when the view has an input block", "/view"))
    return found


def size_of_view(body: Mapping[str, Any]) -> int:
    """Bytes of the view as Slack would store it."""
    return len(json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def _distinct(blocks: list[dict[str, Any]], at: str) -> Iterator[str]:
    """block_id once per surface, action_id once per block, one element with the focus."""
    ids = Counter(b["block_id"] for b in blocks if "block_id" in b)
    yield from (problem(f"block_id {name} is used twice", at) for name, n in ids.items() if n > 1)
    focused = 0
    for index, block in enumerate(blocks):
        elements = [*elements_of(block)]
        focused += sum(bool(e.get("focus_on_load")) for e in elements)
        names = Counter(e["action_id"] for e in elements if "action_id" in e)
        yield from (
            problem(f"action_id {name} is used twice", f"{at}/{index}") for name, n in names.items() if n > 1
        )
    if focused > 1:
        yield problem("only one element may have focus_on_load", at)
