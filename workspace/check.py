"""Validation of messages and views that the app sends, block by block: what Slack would reject them for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from workspace.block_schema import (
    ACTIONS_ELEMENTS,
    BUTTON,
    IMAGE,
    INPUT_ELEMENTS,
    SECTION_ELEMENTS,
    URL,
    Check,
    all_of,
    at_least_one_key,
    boolean,
    integer,
    list_of,
    markup,
    object_with,
    one_element,
    one_of,
    plain,
    problem,
    string,
    tagged_union,
    text,
)
from workspace.values import elements_of

BLOCK_ID: Mapping[str, Check] = {"block_id": string(255)}
TEXT_STYLE = object_with(
    {},
    {
        name: boolean
        for name in (
            "bold",
            "italic",
            "strike",
            "code",
            "underline",
            "highlight",
            "client_highlight",
            "unlink",
        )
    },
)
STYLE_FIELD: Mapping[str, Check] = {"style": TEXT_STYLE}
RICH_TEXT_ELEMENT = tagged_union(
    {
        "text": object_with({"text": string(3000 * 4)}, STYLE_FIELD),
        "link": object_with({"url": string(3000)}, {**STYLE_FIELD, "text": string(3000), "unsafe": boolean}),
        "user": object_with({"user_id": string(30)}, STYLE_FIELD),
        "usergroup": object_with({"usergroup_id": string(30)}, STYLE_FIELD),
        "channel": object_with({"channel_id": string(30)}, STYLE_FIELD),
        "emoji": object_with({"name": string(255)}, {"unicode": string(255), "skin_tone": integer(1, 6)}),
        "broadcast": object_with({"range": one_of("here", "channel", "everyone")}),
        "date": object_with(
            {"timestamp": integer(0, 10**11), "format": string(255)}, {"url": URL, "fallback": string(255)}
        ),
        "color": object_with({"value": string(9, pattern=r"#[0-9A-Fa-f]{6}")}),
    },
    "rich text element",
)
RICH_TEXT_ELEMENTS = list_of(RICH_TEXT_ELEMENT, 1000, min_items=0)
LIST_ITEM = tagged_union({"rich_text_section": object_with({"elements": RICH_TEXT_ELEMENTS})}, "list item")
RICH_TEXT = object_with(
    {
        "elements": list_of(
            tagged_union(
                {
                    "rich_text_section": object_with({"elements": RICH_TEXT_ELEMENTS}),
                    "rich_text_quote": object_with(
                        {"elements": RICH_TEXT_ELEMENTS}, {"border": integer(0, 1)}
                    ),
                    "rich_text_preformatted": object_with(
                        {"elements": RICH_TEXT_ELEMENTS}, {"border": integer(0, 1), "language": string(50)}
                    ),
                    "rich_text_list": object_with(
                        {"elements": list_of(LIST_ITEM, 1000), "style": one_of("bullet", "ordered")},
                        {"indent": integer(0, 8), "offset": integer(0, 10**6), "border": integer(0, 1)},
                    ),
                },
                "rich text block",
            ),
            1000,
        )
    },
    BLOCK_ID,
)
ONE_RICH_TEXT = tagged_union({"rich_text": RICH_TEXT}, "rich text")
SOURCE = tagged_union({"url": object_with({"url": URL, "text": string(255)})}, "source")
TASK: Mapping[str, Check] = {
    "task_id": string(255),
    "title": string(256),
    "status": one_of("pending", "in_progress", "complete", "error"),
}
TASK_OPTIONAL: Mapping[str, Check] = {
    "details": ONE_RICH_TEXT,
    "output": ONE_RICH_TEXT,
    "sources": list_of(SOURCE, 50),
}
TASK_CARD = object_with(TASK, {**TASK_OPTIONAL, **BLOCK_ID})
MAX_VIEW_BYTES = 250 * 1024
MAX_MARKDOWN = 12_000
MAX_TEXT = 40_000
MAX_UPDATE_TEXT = 4_000
_COMMON = {
    "private_metadata": string(3000, min_length=0),
    "callback_id": string(255, min_length=0),
    "external_id": string(255, min_length=0),
}


def _planned_task(value: object, pointer: str) -> Iterator[str]:
    """A task of a plan block: like a task card, but Slack rejects it with a `type`."""
    yield from object_with(TASK, {**TASK_OPTIONAL, **BLOCK_ID})(value, pointer)
    if isinstance(value, dict) and "type" in value:
        yield problem("invalid additional property: type", pointer)


def _unique_task_ids(value: object, pointer: str) -> Iterator[str]:
    tasks = value.get("tasks") if isinstance(value, dict) else None
    ids = [t.get("task_id") for t in tasks if isinstance(t, dict)] if isinstance(tasks, list) else []
    if len(set(map(repr, ids))) != len(ids):
        yield problem("task_id must be unique", f"{pointer}/tasks")


def _rectangular(value: object, pointer: str) -> Iterator[str]:
    rows = value.get("rows") if isinstance(value, dict) else None
    if isinstance(rows, list) and len({len(row) for row in rows if isinstance(row, list)}) > 1:
        yield problem("every row must have as many cells", f"{pointer}/rows")


CELL = tagged_union({"raw_text": object_with({"text": string(3000)}), "rich_text": RICH_TEXT}, "cell")
CARD = all_of(
    object_with(
        {},
        {
            **BLOCK_ID,
            "hero_image": IMAGE,
            "icon": IMAGE,
            "title": text(150),
            "subtitle": text(150),
            "body": text(200),
            "actions": list_of(tagged_union({"button": BUTTON}, "element"), 3),
        },
    ),
    at_least_one_key("hero_image", "title", "body", "actions"),
)
COMMON_BLOCKS: Mapping[str, Check] = {
    "section": all_of(
        object_with(
            {},
            {
                **BLOCK_ID,
                "text": text(3000),
                "fields": list_of(text(2000), 10),
                "accessory": one_element(*SECTION_ELEMENTS),
                "expand": boolean,
            },
        ),
        at_least_one_key("text", "fields"),
    ),
    "header": object_with({"text": plain(150)}, {**BLOCK_ID, "level": integer(1, 4)}),
    "divider": object_with({}, BLOCK_ID),
    "context": object_with(
        {
            "elements": list_of(
                tagged_union({"image": IMAGE, "plain_text": plain(3000), "mrkdwn": text(3000)}, "element"),
                10,
            )
        },
        BLOCK_ID,
    ),
    "actions": object_with({"elements": list_of(one_element(*ACTIONS_ELEMENTS), 25)}, BLOCK_ID),
    "image": all_of(
        object_with(
            {"alt_text": string(2000)},
            {
                **BLOCK_ID,
                "title": plain(2000),
                "image_url": URL,
                "slack_file": object_with({}, {"id": string(30), "url": URL}),
            },
        ),
        at_least_one_key("image_url", "slack_file"),
    ),
    "rich_text": RICH_TEXT,
}
FORM_BLOCKS: Mapping[str, Check] = {
    **COMMON_BLOCKS,
    "input": object_with(
        {"label": plain(2000), "element": one_element(*INPUT_ELEMENTS)},
        {**BLOCK_ID, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
}
MESSAGE_BLOCKS: Mapping[str, Check] = {
    **FORM_BLOCKS,
    "markdown": object_with({"text": string(12_000)}, BLOCK_ID),
    "context_actions": object_with(
        {"elements": list_of(one_element("feedback_buttons", "icon_button"), 5)}, BLOCK_ID
    ),
    "task_card": TASK_CARD,
    "plan": all_of(
        object_with({"title": string(256)}, {**BLOCK_ID, "tasks": list_of(_planned_task, 50, min_items=0)}),
        _unique_task_ids,
    ),
    "table": all_of(
        object_with(
            {"rows": list_of(list_of(CELL, 20), 100)},
            {
                **BLOCK_ID,
                "column_settings": list_of(
                    object_with({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean}), 20
                ),
            },
        ),
        _rectangular,
    ),
    "card": CARD,
    "carousel": object_with({"elements": list_of(tagged_union({"card": CARD}, "element"), 10)}, BLOCK_ID),
}
MODAL_BLOCKS: Mapping[str, Check] = {
    **FORM_BLOCKS,
    "alert": object_with(
        {"text": text(200)}, {**BLOCK_ID, "level": one_of("default", "info", "warning", "error", "success")}
    ),
}
HOME_BLOCKS = FORM_BLOCKS

MESSAGE_BLOCK = tagged_union(MESSAGE_BLOCKS, "block in a message")
MODAL_BLOCK = tagged_union(MODAL_BLOCKS, "block in a modal")
HOME_BLOCK = tagged_union(HOME_BLOCKS, "block in a home")


_MESSAGE_BLOCKS = list_of(MESSAGE_BLOCK, 50, min_items=0)
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
