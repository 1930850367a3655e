"""The strict reader of every outgoing payload: the limits of Slack and the rules of this house.

The limits: https://docs.slack.dev/reference/block-kit/blocks and https://docs.slack.dev/surfaces/modals.
It knows only what we send: any other block, element or key is a problem. So are images, buttons with addresses, links
to anything but a message, emoji in plain text, and markup other than mentions, channels and dates.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gate.rules.action import Json
from views.block_kit import OWN, USER, Message, weight

TEXT = 300  # characters of the top-level text; Slack takes 4,000
RICH = 12_000  # characters of rich text in one message
CELLS = 10_000  # characters in the table of a message
VIEW_BYTES = 250_000


class Text(NamedTuple):
    """A string of so many characters; `among` the allowed ones where there are only some."""

    most: int
    least: int = 1
    among: tuple[str, ...] = ()


class Flag(NamedTuple):
    """A boolean; `only` where just one value will do."""

    only: bool | None = None


class One(NamedTuple):
    """An object of one of these kinds."""

    kinds: tuple[str, ...]


class Many(NamedTuple):
    """A list of objects of these kinds."""

    kinds: tuple[str, ...]
    most: int
    least: int = 1


class Grid(NamedTuple):
    """A list of rows of equal length, whose cells are objects of these kinds."""

    kinds: tuple[str, ...]
    rows: int
    columns: int


class Whole(NamedTuple):
    """A whole number."""

    most: int
    least: int = 0


Rule = Text | Flag | One | Many | Grid | Whole
ID = Text(255)
PLAIN = {n: f"plain_text {n}" for n in (24, 75, 150, 2000, 3000)}  # kinds of plain text by their length
STYLED = ("bold", "italic", "strike", "code")
INLINE = ("text", "user", "emoji", "link")
RICH_PARTS = ("rich_text_section", "rich_text_preformatted", "rich_text_quote", "rich_text_list")
INPUTS = (
    "plain_text_input",
    "number_input",
    "static_select",
    "radio_buttons",
    "multi_static_select",
    "checkboxes",
)
ANYWHERE = ("section", "header", "context", "actions", "divider", "rich_text")
OPTIONS = One(("option",))

# kind -> its keys and their rules; a key with "?" may be left out. "type" is understood.
SHAPES: Mapping[str, Mapping[str, Rule]] = {
    **{kind: {"text": Text(most), "emoji": Flag(False)} for most, kind in PLAIN.items()},
    "mrkdwn": {"text": Text(3000), "verbatim": Flag(True)},
    "section": {"text": One(("mrkdwn",)), "block_id?": ID},
    "header": {"text": One((PLAIN[150],)), "block_id?": ID},
    "divider": {"block_id?": ID},
    "context": {"elements": Many(("mrkdwn", PLAIN[3000]), 10), "block_id?": ID},
    "actions": {"elements": Many(("button", "overflow"), 25), "block_id?": ID},
    "context_actions": {"elements": Many(("feedback_buttons",), 5), "block_id?": ID},
    "feedback_buttons": {
        "action_id": ID,
        "positive_button": One(("side",)),
        "negative_button": One(("side",)),
    },
    "side": {"text": One((PLAIN[75],)), "value": Text(2000)},
    "rich_text": {"elements": Many(RICH_PARTS, 100), "block_id?": ID},
    "input": {
        "label": One((PLAIN[2000],)),
        "element": One(INPUTS),
        "block_id": ID,
        "optional": Flag(),
        "hint?": One((PLAIN[2000],)),
    },
    "table": {"rows": Grid(("raw_text",), 100, 20), "block_id?": ID},
    "raw_text": {"text": Text(3000)},
    "plan": {"title": Text(256), "tasks": Many(("planned",), 50), "block_id?": ID},
    "planned": {
        "task_id": ID,
        "title": Text(256),
        "status": Text(11, 1, ("pending", "in_progress", "complete", "error")),
        "details?": One(("rich_text",)),
        "output?": One(("rich_text",)),
    },
    "rich_text_section": {"elements": Many(INLINE, 100)},
    "rich_text_preformatted": {"elements": Many(("text",), 100)},
    "rich_text_quote": {"elements": Many(("text",), 100)},
    "rich_text_list": {
        "elements": Many(("rich_text_section",), 100),
        "style": Text(7, 1, ("bullet", "ordered")),
    },
    "text": {"text": Text(RICH), "style?": One(("style",))},
    "user": {"user_id": Text(30)},
    "emoji": {"name": Text(100)},
    "link": {"url": Text(500), "text": Text(4, 1, ("Open",))},
    "style": {f"{name}?": Flag() for name in STYLED},
    "button": {
        "text": One((PLAIN[75],)),
        "action_id": ID,
        "value": Text(2000),
        "style?": Text(7, 1, ("primary", "danger")),
    },
    "overflow": {"action_id": ID, "options": Many(("option",), 5)},
    "option": {"text": One((PLAIN[75],)), "value": Text(75)},
    "plain_text_input": {
        "action_id": ID,
        "multiline?": Flag(),
        "initial_value?": Text(3000),
        "max_length?": Whole(3000, 1),
    },
    "number_input": {"action_id": ID, "is_decimal_allowed": Flag(), "initial_value?": Text(32)},
    "static_select": {"action_id": ID, "options": Many(("option",), 100), "initial_option?": OPTIONS},
    "radio_buttons": {"action_id": ID, "options": Many(("option",), 10), "initial_option?": OPTIONS},
    "multi_static_select": {
        "action_id": ID,
        "options": Many(("option",), 100),
        "initial_options?": Many(("option",), 100),
    },
    "checkboxes": {
        "action_id": ID,
        "options": Many(("option",), 10),
        "initial_options?": Many(("option",), 10),
    },
    "modal": {
        "callback_id": ID,
        "title": One((PLAIN[24],)),
        "blocks": Many((*ANYWHERE, "input"), 100),
        "close": One((PLAIN[24],)),
        "submit?": One((PLAIN[24],)),
        "private_metadata?": Text(3000),
    },
    "home": {"callback_id": ID, "blocks": Many(ANYWHERE, 100)},
    "message": {
        "text": Text(TEXT),
        "blocks": Many((*ANYWHERE, "input", "plan", "context_actions", "table"), 50),
    },
}
PERMALINK = re.compile(
    r"https?://[a-z0-9.:-]+/archives/[A-Z0-9_]+/p[0-9]+(\?thread_ts=[0-9.]+&cid=[A-Z0-9_]+)?"
)
TYPELESS = ("style", "option", "message", "planned", "side")  # objects that carry no "type"


def message(made: Message) -> tuple[str, ...]:
    """Every problem of a message; none when it may be sent."""
    found = [*_shape({"text": made.text, "blocks": made.blocks}, ("message",), "message")]
    if found:
        return tuple(found)
    if _stray(made.text):
        found.append("message.text: has markup that is not ours")
    rich = sum(map(weight, _rich(made.blocks)))
    if rich > RICH:
        found.append(f"message.blocks: {rich:,} characters of rich text, at most {RICH:,}")
    tables = [block["rows"] for block in made.blocks if block["type"] == "table"]
    if len(tables) > 1:
        found.append("message.blocks: has more than one table")
    cells = sum(len(cell["text"]) for rows in tables for row in rows for cell in row)
    if cells > CELLS:
        found.append(f"message.blocks: {cells:,} characters in a table, at most {CELLS:,}")
    return (*found, *_ids(made.blocks, "message.blocks"))


def view(made: Mapping[str, Json]) -> tuple[str, ...]:
    """Every problem of a modal or an App Home."""
    found = [*_shape(made, ("modal", "home"), "view")]
    if found:
        return tuple(found)
    if len(json.dumps(made)) > VIEW_BYTES:
        found.append(f"view: more than {VIEW_BYTES:,} bytes")
    if any(block["type"] == "input" for block in made["blocks"]) and "submit" not in made:
        found.append("view: an input needs submit")
    return (*found, *_ids(made["blocks"], "view.blocks"))


def _shape(value: Json, kinds: Sequence[str], at: str) -> Iterator[str]:
    """Problems of one object that has to be of one of these kinds."""
    kind = _kind(value, kinds)
    if kind is None:
        yield f"{at}: must be one of {', '.join(kinds)}"
        return
    rules = SHAPES[kind]
    known = {key.rstrip("?"): rule for key, rule in rules.items()}
    yield from (f"{at}: has no {key}" for key in rules if not key.endswith("?") and key not in value)
    yield from (f"{at}: has an unknown key {key!r}" for key in value if key not in known and key != "type")
    for key, rule in known.items():
        if key in value:
            yield from _rule(value[key], rule, f"{at}.{key}")
    yield from _special(kind, value, at)


def _kind(value: Json, kinds: Sequence[str]) -> str | None:
    """Which of the kinds the object says it is, by its "type" or because it is the only one without."""
    if not isinstance(value, dict):
        return None
    if kinds[0] in TYPELESS:
        return kinds[0] if "type" not in value else None
    return next((kind for kind in kinds if kind.split(" ")[0] == value.get("type")), None)


def _rule(value: Json, rule: Rule, at: str) -> Iterator[str]:
    match rule:
        case Text():
            yield from _text(value, rule, at)
        case Flag():
            if not isinstance(value, bool) or (rule.only is not None and value is not rule.only):
                yield f"{at}: must be {'true or false' if rule.only is None else str(rule.only).lower()}"
        case Whole():
            if isinstance(value, bool) or not isinstance(value, int) or not rule.least <= value <= rule.most:
                yield f"{at}: must be a whole number from {rule.least} to {rule.most}"
        case One():
            yield from _shape(value, rule.kinds, at)
        case Many():
            yield from _list(value, rule, at)
        case Grid():
            yield from _grid(value, rule, at)


def _list(value: Json, rule: Many, at: str) -> Iterator[str]:
    if not isinstance(value, list) or not rule.least <= len(value) <= rule.most:
        yield f"{at}: must be a list of {rule.least} to {rule.most}"
        return
    for index, item in enumerate(value):
        yield from _shape(item, rule.kinds, f"{at}[{index}]")


def _grid(value: Json, rule: Grid, at: str) -> Iterator[str]:
    if not isinstance(value, list) or not 1 <= len(value) <= rule.rows:
        yield f"{at}: must be a list of 1 to {rule.rows}"
    elif not all(isinstance(row, list) and 1 <= len(row) <= rule.columns for row in value):
        yield f"{at}: must have rows of 1 to {rule.columns} cells"
    elif len({len(row) for row in value}) > 1:
        yield f"{at}: must have as many cells in each row"
    else:
        places = ((r, c, cell) for r, row in enumerate(value) for c, cell in enumerate(row))
        for r, c, cell in places:
            yield from _shape(cell, rule.kinds, f"{at}[{r}][{c}]")


def _text(value: Json, rule: Text, at: str) -> Iterator[str]:
    if not isinstance(value, str) or not rule.least <= len(value) <= rule.most:
        yield f"{at}: must be text of {rule.least} to {rule.most} characters"
    elif rule.among and value not in rule.among:
        yield f"{at}: must be one of {', '.join(rule.among)}"
    elif any("\ud800" <= char <= "\udfff" for char in value):
        yield f"{at}: has half of a character"


def _special(kind: str, value: Mapping[str, Json], at: str) -> Iterator[str]:
    """What a table of keys cannot say."""
    if kind == "mrkdwn" and isinstance(value.get("text"), str) and _stray(value["text"]):
        yield f"{at}.text: has markup that is not ours"
    if kind == "user" and not (isinstance(value.get("user_id"), str) and USER.fullmatch(value["user_id"])):
        yield f"{at}.user_id: must be a Slack id"
    if kind == "link" and isinstance(value.get("url"), str) and not PERMALINK.fullmatch(value["url"]):
        yield f"{at}.url: must be the address of a message"
    if (
        kind in ("plan", "planned")
        and isinstance(value.get("title"), str)
        and set("<>") & set(value["title"])
    ):
        yield f"{at}.title: has markup that is not ours"
    if kind == "plan" and isinstance(value.get("tasks"), list):
        ids = [str(task.get("task_id")) for task in value["tasks"] if isinstance(task, dict)]
        if len(set(ids)) != len(ids):
            yield f"{at}.tasks: two tasks have one task_id"
    options = value.get("options")
    if isinstance(options, list):
        values = [str(o.get("value")) for o in options if isinstance(o, dict)]
        if len(set(values)) != len(values):
            yield f"{at}.options: two options have one value"
        if "initial_option" in value and value["initial_option"] not in options:
            yield f"{at}.initial_option: must be one of the options"


def _rich(blocks: Sequence[Mapping[str, Json]]) -> Iterator[dict[str, Json]]:
    """Every block of rich text in a message, those inside a plan among them."""
    for block in blocks:
        if block["type"] == "rich_text":
            yield dict(block)
        for task in block["tasks"] if block["type"] == "plan" else ():
            yield from (task[name] for name in ("details", "output") if name in task)


def _stray(text: str) -> bool:
    """Whether an angle bracket is left that belongs to no mention, channel or date."""
    left = OWN.sub("", text)
    return "<" in left or ">" in left


def _ids(blocks: Sequence[Mapping[str, Json]], at: str) -> Iterator[str]:
    """A block_id once in a surface, an action_id once in a block."""
    names = Counter(block["block_id"] for block in blocks if "block_id" in block)
    yield from (f"{at}: block_id {name!r} is used twice" for name, count in names.items() if count > 1)
    for index, block in enumerate(blocks):
        if block["type"] == "actions":
            ids = Counter(element["action_id"] for element in block["elements"])
            yield from (f"{at}[{index}]: action_id {i!r} is used twice" for i, n in ids.items() if n > 1)
