"""The shapes of blocks, and on which surface each may stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workspace.elements import BUTTON, IMAGE, IN_ACTIONS, IN_INPUT, IN_SECTION, URL, only, plain, text
from workspace.grammar import (
    Check,
    any_of,
    boolean,
    both,
    integer,
    kinds,
    list_of,
    one_of,
    problem,
    record,
    string,
)

ID: Mapping[str, Check] = {"block_id": string(255)}
STYLE = record(
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
STYLED: Mapping[str, Check] = {"style": STYLE}
INLINE = kinds(
    {
        "text": record({"text": string(3000 * 4)}, STYLED),
        "link": record({"url": string(3000)}, {**STYLED, "text": string(3000), "unsafe": boolean}),
        "user": record({"user_id": string(30)}, STYLED),
        "usergroup": record({"usergroup_id": string(30)}, STYLED),
        "channel": record({"channel_id": string(30)}, STYLED),
        "emoji": record({"name": string(255)}, {"unicode": string(255), "skin_tone": integer(1, 6)}),
        "broadcast": record({"range": one_of("here", "channel", "everyone")}),
        "date": record(
            {"timestamp": integer(0, 10**11), "format": string(255)}, {"url": URL, "fallback": string(255)}
        ),
        "color": record({"value": string(9, pattern=r"#[0-9A-Fa-f]{6}")}),
    },
    "rich text element",
)
INLINES = list_of(INLINE, 1000, least=0)
SECTION_OF_TEXT = kinds({"rich_text_section": record({"elements": INLINES})}, "list item")
RICH_TEXT = record(
    {
        "elements": list_of(
            kinds(
                {
                    "rich_text_section": record({"elements": INLINES}),
                    "rich_text_quote": record({"elements": INLINES}, {"border": integer(0, 1)}),
                    "rich_text_preformatted": record(
                        {"elements": INLINES}, {"border": integer(0, 1), "language": string(50)}
                    ),
                    "rich_text_list": record(
                        {"elements": list_of(SECTION_OF_TEXT, 1000), "style": one_of("bullet", "ordered")},
                        {"indent": integer(0, 8), "offset": integer(0, 10**6), "border": integer(0, 1)},
                    ),
                },
                "rich text block",
            ),
            1000,
        )
    },
    ID,
)
ONE_RICH_TEXT = kinds({"rich_text": RICH_TEXT}, "rich text")
SOURCE = kinds({"url": record({"url": URL, "text": string(255)})}, "source")
TASK: Mapping[str, Check] = {
    "task_id": string(255),
    "title": string(256),
    "status": one_of("pending", "in_progress", "complete", "error"),
}
TASK_MORE: Mapping[str, Check] = {
    "details": ONE_RICH_TEXT,
    "output": ONE_RICH_TEXT,
    "sources": list_of(SOURCE, 50),
}
TASK_CARD = record(TASK, {**TASK_MORE, **ID})


def _planned_task(value: object, at: str) -> Iterator[str]:
    """A task inside a plan: as a task card, but Slack wants it without a `type`."""
    yield from record(TASK, {**TASK_MORE, **ID})(value, at)
    if isinstance(value, dict) and "type" in value:
        yield problem("invalid additional property: type", at)


def _distinct_tasks(value: object, at: str) -> Iterator[str]:
    tasks = value.get("tasks") if isinstance(value, dict) else None
    ids = [t.get("task_id") for t in tasks if isinstance(t, dict)] if isinstance(tasks, list) else []
    if len(set(map(repr, ids))) != len(ids):
        yield problem("task_id must be unique", f"{at}/tasks")


def _rectangular(value: object, at: str) -> Iterator[str]:
    rows = value.get("rows") if isinstance(value, dict) else None
    if isinstance(rows, list) and len({len(row) for row in rows if isinstance(row, list)}) > 1:
        yield problem("every row must have as many cells", f"{at}/rows")


CELL = kinds({"raw_text": record({"text": string(3000)}), "rich_text": RICH_TEXT}, "cell")
CARD = both(
    record(
        {},
        {
            **ID,
            "hero_image": IMAGE,
            "icon": IMAGE,
            "title": text(150),
            "subtitle": text(150),
            "body": text(200),
            "actions": list_of(kinds({"button": BUTTON}, "element"), 3),
        },
    ),
    any_of("hero_image", "title", "body", "actions"),
)
ANYWHERE: Mapping[str, Check] = {
    "section": both(
        record(
            {},
            {
                **ID,
                "text": text(3000),
                "fields": list_of(text(2000), 10),
                "accessory": only(*IN_SECTION),
                "expand": boolean,
            },
        ),
        any_of("text", "fields"),
    ),
    "header": record({"text": plain(150)}, {**ID, "level": integer(1, 4)}),
    "divider": record({}, ID),
    "context": record(
        {
            "elements": list_of(
                kinds({"image": IMAGE, "plain_text": plain(3000), "mrkdwn": text(3000)}, "element"),
                10,
            )
        },
        ID,
    ),
    "actions": record({"elements": list_of(only(*IN_ACTIONS), 25)}, ID),
    "image": both(
        record(
            {"alt_text": string(2000)},
            {
                **ID,
                "title": plain(2000),
                "image_url": URL,
                "slack_file": record({}, {"id": string(30), "url": URL}),
            },
        ),
        any_of("image_url", "slack_file"),
    ),
    "rich_text": RICH_TEXT,
}
FORM: Mapping[str, Check] = {
    **ANYWHERE,
    "input": record(
        {"label": plain(2000), "element": only(*IN_INPUT)},
        {**ID, "hint": plain(2000), "optional": boolean, "dispatch_action": boolean},
    ),
}
IN_MESSAGE: Mapping[str, Check] = {
    **FORM,
    "markdown": record({"text": string(12_000)}, ID),
    "context_actions": record({"elements": list_of(only("feedback_buttons", "icon_button"), 5)}, ID),
    "task_card": TASK_CARD,
    "plan": both(
        record({"title": string(256)}, {**ID, "tasks": list_of(_planned_task, 50, least=0)}), _distinct_tasks
    ),
    "table": both(
        record(
            {"rows": list_of(list_of(CELL, 20), 100)},
            {
                **ID,
                "column_settings": list_of(
                    record({}, {"align": one_of("left", "center", "right"), "is_wrapped": boolean}), 20
                ),
            },
        ),
        _rectangular,
    ),
    "card": CARD,
    "carousel": record({"elements": list_of(kinds({"card": CARD}, "element"), 10)}, ID),
}
IN_MODAL: Mapping[str, Check] = {
    **FORM,
    "alert": record(
        {"text": text(200)}, {**ID, "level": one_of("default", "info", "warning", "error", "success")}
    ),
}
IN_HOME = FORM

MESSAGE_BLOCK = kinds(IN_MESSAGE, "block in a message")
MODAL_BLOCK = kinds(IN_MODAL, "block in a modal")
HOME_BLOCK = kinds(IN_HOME, "block in a home")
