"""Validators for the objects inside blocks: texts, options, buttons, menus, inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workspace.block_schema import (
    Check,
    all_of,
    at_least_one_key,
    boolean,
    exactly_one_key,
    integer,
    list_of,
    markup,
    object_with,
    one_of,
    problem,
    string,
    tagged_union,
)

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
