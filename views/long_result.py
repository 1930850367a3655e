"""A result that its message has no room for: the buttons under its beginning, and the windows that show all of it."""

from __future__ import annotations

import json
from functools import lru_cache

from gate.rules.ports import Note
from views.block_kit import Block, actions, boxes, button, context, line, mrkdwn, plain, rich, words
from views.tool_results import in_words

SHOW_ALL = "show_all"
MOST_PARTS = 8
MOST = 300_000  # characters of a table, of which less is kept than of a text
KINDS = (SHOW_ALL, *(f"{SHOW_ALL}_{number}" for number in range(2, MOST_PARTS + 1)))  # an id for each window
WINDOW_BYTES = 200 * 1024  # of the 250 KB that Slack takes
WINDOW_BLOCKS = 90  # of the 100
NOT_KEPT = "The answer was longer than what I keep: this is its beginning."
WHOLE = "The whole result"
NO_MORE = "There is more than these windows show."


def told(note: Note, most: int = MOST) -> str:
    """What a read gave, in words; of a table the rows that fit into `most` characters."""
    structured = None if note.body.get("error") else note.body.get("structured")
    return in_words(structured, str(note.body.get("text") or ""), most)


def row(note: Note) -> list[Block]:
    """A button for each window that the result of a read takes."""
    return row_of(note.id, min(len(_windows(told(note))), MOST_PARTS))


def row_of(key: str, many: int) -> list[Block]:
    """A button for each of so many windows. It carries the id of its record and the number of the window alone."""
    names = [f"Show part {number} of {many}" for number in range(1, many + 1)] if many > 1 else ["Show all"]
    return [
        actions(*(button(name, KINDS[place], f"{key}.{place + 1}.0") for place, name in enumerate(names)))
    ]


def window(note: Note, number: int) -> dict[str, object] | None:
    """The window of this number, from 1, of the result of a read; None where there is none."""
    made = _windows(told(note))
    many = min(len(made), MOST_PARTS)
    if not 0 < number <= many:
        return None
    summary = str(note.body.get("summary") or note.body.get("name") or "")
    rest = NO_MORE if len(made) > MOST_PARTS else NOT_KEPT if note.body.get("clipped") else ""
    title = f"Part {number}" if len(made) > 1 else WHOLE
    return _view(title, summary, made[number - 1], rest if number == many else "")


def window_of(summary: str, text: str, title: str, missing: str) -> dict[str, object]:
    """A window with as much of a text as it holds. `missing`: what it says of what is not in the text."""
    made = _windows(text)
    return _view(title, summary, made[0], NO_MORE if len(made) > 1 else missing)


def _view(title: str, summary: str, shown: tuple[Block, ...], rest: str) -> dict[str, object]:
    return {
        "type": "modal",
        "callback_id": SHOW_ALL,
        "title": plain(title, 24),
        "blocks": [
            rich(line(words(summary, "bold", most=200))),
            *shown,
            *([context(mrkdwn(rest))] if rest else []),
        ],
        "close": plain("Close", 24),
    }


@lru_cache(
    maxsize=2
)  # a window is asked for soon after its message; odd characters take a second to spell out
def _windows(text: str) -> tuple[tuple[Block, ...], ...]:
    """The blocks of all windows: each as many as it holds; of more than are shown, one."""
    made: list[list[Block]] = [[]]
    room = WINDOW_BYTES
    for block in map(rich, boxes(text)):
        size = len(json.dumps(block))
        if made[-1] and (size > room or len(made[-1]) == WINDOW_BLOCKS):
            if len(made) > MOST_PARTS:
                break
            made.append([])
            room = WINDOW_BYTES
        made[-1].append(block)
        room -= size
    return tuple(map(tuple, made))
