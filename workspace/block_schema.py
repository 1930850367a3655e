"""Validators for Block Kit JSON, functions that combine them, and the objects inside blocks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

Check = Callable[[object, str], Iterator[str]]
# The control sequences of mrkdwn. Slack displays any other `<` literally; here it is always a missing escape,
# so this workspace rejects it.
ENTITY = re.compile(
    r"<(?:@[UW]\w+(?:\|[^<>]*)?|#[CG]\w+(?:\|[^<>]*)?|!subteam\^S\w+(?:\|[^<>]*)?"
    r"|!(?:here|channel|everyone)(?:\|[^<>]*)?|!date\^\d+\^[^<>^|]+(?:\^https?://[^<>|]+)?\|[^<>]+"
    r"|(?:https?://|mailto:|tel:)[^<>|]+(?:\|[^<>]*)?)>"
)


def problem(message: str, pointer: str) -> str:
    """The message with its JSON pointer, in the format of Slack's `response_metadata.messages`."""
    return f"{message} [json-pointer:{pointer or '/'}]"


def has_unescaped(text: str) -> bool:
    """Whether the text has a `<` that does not start a mention, link or date."""
    return "<" in ENTITY.sub("", text)


def string(max_length: int, min_length: int = 1, pattern: str | None = None) -> Check:
    """A string whose length is within the limits and that matches the pattern as a whole."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must be a string", pointer)
        elif len(value) < min_length:
            yield problem(f"must be more than {min_length - 1} characters", pointer)
        elif len(value) > max_length:
            yield problem(f"must be less than {max_length + 1} characters", pointer)
        elif pattern and not re.fullmatch(pattern, value):
            yield problem(f"must match {pattern}", pointer)

    return check


def markup(max_length: int) -> Check:
    """A mrkdwn string: each `<` starts a Slack control sequence or is escaped."""
    check_string = string(max_length)

    def check(value: object, pointer: str) -> Iterator[str]:
        yield from check_string(value, pointer)
        if isinstance(value, str) and has_unescaped(value):
            yield problem("has a '<' that is neither escaped nor a known mention, link or date", pointer)

    return check


def boolean(value: object, pointer: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must be a boolean", pointer)


def integer(minimum: int, maximum: int) -> Check:
    def check(value: object, pointer: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
            yield problem(f"must be a whole number from {minimum} to {maximum}", pointer)

    return check


def one_of(*values: object) -> Check:
    def check(value: object, pointer: str) -> Iterator[str]:
        if value not in values:
            yield problem(f"must be one of {', '.join(map(str, values))}", pointer)

    return check


def list_of(item: Check, max_items: int, min_items: int = 1) -> Check:
    """An array of `min_items` to `max_items` entries, each valid by `item`."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must be an array", pointer)
            return
        if len(value) < min_items:
            yield problem(f"must have at least {min_items} items", pointer)
        if len(value) > max_items:
            yield problem(f"no more than {max_items} items allowed", pointer)
        for index, entry in enumerate(value):
            yield from item(entry, f"{pointer}/{index}")

    return check


def object_with(required: Mapping[str, Check], optional: Mapping[str, Check] | None = None) -> Check:
    """An object with these fields and no others. `type` is always allowed: `tagged_union` checks it."""
    known = {**required, **(optional or {})}

    def check(value: object, pointer: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must be an object", pointer)
            return
        for name in required:
            if name not in value:
                yield problem(f"missing required field: {name}", pointer)
        for name, entry in value.items():
            if name in known:
                yield from known[name](entry, f"{pointer}/{name}")
            elif name != "type":
                yield problem(f"invalid additional property: {name}", pointer)

    return check


def tagged_union(variants: Mapping[str, Check], noun: str) -> Check:
    """An object that is valid by the variant that its `type` names. `noun` names the object in messages."""

    def check(value: object, pointer: str) -> Iterator[str]:
        kind = value.get("type") if isinstance(value, dict) else None
        variant = variants.get(kind) if isinstance(kind, str) else None
        if variant is None:
            yield problem(f"unsupported {noun}: {kind!r}", pointer)
        else:
            yield from variant(value, pointer)

    return check


def all_of(*checks: Check) -> Check:
    """A value that is valid by every check."""

    def check(value: object, pointer: str) -> Iterator[str]:
        for each in checks:
            yield from each(value, pointer)

    return check


def exactly_one_key(*names: str) -> Check:
    """An object that has exactly one of these fields."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if isinstance(value, dict) and sum(name in value for name in names) != 1:
            yield problem(f"must have exactly one of {', '.join(names)}", pointer)

    return check


def at_least_one_key(*names: str) -> Check:
    """An object that has at least one of these fields."""

    def check(value: object, pointer: str) -> Iterator[str]:
        if isinstance(value, dict) and not any(name in value for name in names):
            yield problem(f"must have one of {', '.join(names)}", pointer)

    return check


ACTION_ID = string(255)
URL = string(3000, pattern=r"(?s)https?://.+")
DATE = string(10, pattern=r"\d{4}-\d\d-\d\d")
TIME = string(5, pattern=r"\d\d:\d\d")
NUMBER = string(255, pattern=r"-?\d+(\.\d+)?")


def plain(max_length: int) -> Check:
    """A plain_text object."""
    return tagged_union({"plain_text": object_with({"text": string(max_length)}, {"emoji": boolean})}, "text")


def text(max_length: int) -> Check:
    """A plain_text or mrkdwn object."""
    return tagged_union(
        {
            "plain_text": object_with({"text": string(max_length)}, {"emoji": boolean}),
            "mrkdwn": object_with({"text": markup(max_length)}, {"verbatim": boolean}),
        },
        "text",
    )


CONFIRM_DIALOG = object_with(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": one_of("primary", "danger")},
)
OPTION = object_with({"text": plain(75), "value": string(150)}, {"description": plain(75)})
MRKDWN_OPTION = object_with({"text": text(75), "value": string(150)}, {"description": text(75)})
LINK_OPTION = object_with({"text": plain(75), "value": string(150)}, {"description": plain(75), "url": URL})
OPTION_GROUP = object_with({"label": plain(75), "options": list_of(OPTION, 100)})
CONFIRMABLE: Mapping[str, Check] = {"action_id": ACTION_ID, "confirm": CONFIRM_DIALOG}
FIELD: Mapping[str, Check] = {"action_id": ACTION_ID, "focus_on_load": boolean, "placeholder": plain(150)}
MENU: Mapping[str, Check] = {**CONFIRMABLE, **FIELD}
MULTI_MENU: Mapping[str, Check] = {**MENU, "max_selected_items": integer(1, 100)}


def unique_option_values(value: object, pointer: str) -> Iterator[str]:
    """Option values are unique: the payload of a choice holds only the value."""
    options = value.get("options") if isinstance(value, dict) else None
    values = [o.get("value") for o in options if isinstance(o, dict)] if isinstance(options, list) else []
    if len(set(map(repr, values))) != len(values):
        yield problem("option values must be unique", f"{pointer}/options")


def initial_option_is_listed(value: object, pointer: str) -> Iterator[str]:
    """Each initial option equals one of the options."""
    if not isinstance(value, dict) or not isinstance(value.get("options"), list):
        return
    chosen = [value["initial_option"]] if "initial_option" in value else value.get("initial_options", [])
    for option in chosen if isinstance(chosen, list) else []:
        if option not in value["options"]:
            yield problem("an initial option must be one of the options", pointer)


def _choice(option: Check, max_length: int, optional: Mapping[str, Check]) -> Check:
    shape = object_with({"options": list_of(option, max_length)}, optional)
    return all_of(shape, unique_option_values, initial_option_is_listed)


def _menu(optional: Mapping[str, Check]) -> Check:
    own = {"options": list_of(OPTION, 100), "option_groups": list_of(OPTION_GROUP, 100)}
    shape = object_with({}, {**optional, **own})
    return all_of(
        shape, exactly_one_key("options", "option_groups"), unique_option_values, initial_option_is_listed
    )


def _text_input(value: object, pointer: str) -> Iterator[str]:
    shape = object_with(
        {},
        {
            **FIELD,
            "initial_value": string(3000, min_length=0),
            "multiline": boolean,
            "min_length": integer(0, 3000),
            "max_length": integer(1, 3000),
            "dispatch_action_config": DISPATCH,
        },
    )
    yield from shape(value, pointer)
    if isinstance(value, dict) and isinstance(value.get("initial_value"), str):
        max_length = value.get("max_length", 3000)
        if isinstance(max_length, int) and len(value["initial_value"]) > max_length:
            yield problem("is longer than max_length", f"{pointer}/initial_value")


DISPATCH = object_with(
    {"trigger_actions_on": list_of(one_of("on_enter_pressed", "on_character_entered"), 2)},
)
BUTTON = object_with(
    {"text": plain(75)},
    {
        **CONFIRMABLE,
        "url": URL,
        "value": string(2000),
        "style": one_of("primary", "danger"),
        "accessibility_label": string(75),
        "visible_to_user_ids": list_of(string(30), 10),
    },
)
IMAGE = all_of(
    object_with(
        {"alt_text": string(2000)},
        {"image_url": URL, "slack_file": object_with({}, {"id": string(30), "url": URL})},
    ),
    at_least_one_key("image_url", "slack_file"),
)
FEEDBACK = object_with({"text": plain(75), "value": string(2000)}, {"accessibility_label": string(75)})
TEXT_INPUT: Mapping[str, Check] = {
    **FIELD,
    "initial_value": string(3000, min_length=0),
    "dispatch_action_config": DISPATCH,
}
MULTI_STATIC_SELECT = _menu({**MULTI_MENU, "initial_options": list_of(OPTION, 100)})
ELEMENTS: Mapping[str, Check] = {
    "button": BUTTON,
    "image": IMAGE,
    "overflow": _choice(LINK_OPTION, 5, CONFIRMABLE),
    "static_select": _menu({**MENU, "initial_option": OPTION}),
    "multi_static_select": MULTI_STATIC_SELECT,
    "external_select": object_with(
        {}, {**MENU, "initial_option": OPTION, "min_query_length": integer(0, 255)}
    ),
    "users_select": object_with({}, {**MENU, "initial_user": string(30)}),
    "multi_users_select": object_with({}, {**MULTI_MENU, "initial_users": list_of(string(30), 100)}),
    "conversations_select": object_with({}, {**MENU, "initial_conversation": string(30)}),
    "channels_select": object_with({}, {**MENU, "initial_channel": string(30)}),
    "datepicker": object_with({}, {**MENU, "initial_date": DATE}),
    "timepicker": object_with({}, {**MENU, "initial_time": TIME, "timezone": string(60)}),
    "datetimepicker": object_with(
        {}, {**CONFIRMABLE, "focus_on_load": boolean, "initial_date_time": integer(10**9, 10**10 - 1)}
    ),
    "checkboxes": _choice(
        MRKDWN_OPTION,
        10,
        {**CONFIRMABLE, "focus_on_load": boolean, "initial_options": list_of(MRKDWN_OPTION, 10)},
    ),
    "radio_buttons": _choice(
        MRKDWN_OPTION, 10, {**CONFIRMABLE, "focus_on_load": boolean, "initial_option": MRKDWN_OPTION}
    ),
    "plain_text_input": _text_input,
    "email_text_input": object_with({}, TEXT_INPUT),
    "url_text_input": object_with({}, TEXT_INPUT),
    "number_input": object_with(
        {"is_decimal_allowed": boolean},
        {**TEXT_INPUT, "initial_value": NUMBER, "min_value": NUMBER, "max_value": NUMBER},
    ),
    "feedback_buttons": object_with(
        {"positive_button": FEEDBACK, "negative_button": FEEDBACK}, {"action_id": ACTION_ID}
    ),
    "icon_button": object_with(
        {"icon": one_of("trash"), "text": plain(75)},
        {
            **CONFIRMABLE,
            "value": string(2000),
            "accessibility_label": string(75),
            "visible_to_user_ids": list_of(string(30), 10),
        },
    ),
}
_MENUS = ("static_select", "external_select", "users_select", "conversations_select", "channels_select")
_MULTI = ("multi_static_select", "multi_users_select")
_PICKERS = ("datepicker", "timepicker", "checkboxes", "radio_buttons")
ACTIONS_ELEMENTS = ("button", "overflow", "datetimepicker", *_MENUS, *_PICKERS)
SECTION_ELEMENTS = ("button", "overflow", "image", *_MENUS, *_MULTI, *_PICKERS)
INPUT_ELEMENTS = (
    "plain_text_input",
    "email_text_input",
    "url_text_input",
    "number_input",
    "datetimepicker",
    *_MENUS,
    *_MULTI,
    *_PICKERS,
)


def one_element(*names: str) -> Check:
    """An element of one of the named types."""
    return tagged_union({name: ELEMENTS[name] for name in names}, "element")
