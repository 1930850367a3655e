"""The shapes of what stands inside blocks: texts, options, buttons, menus, inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workspace.grammar import (
    Check,
    any_of,
    boolean,
    both,
    exactly_one,
    integer,
    kinds,
    list_of,
    markup,
    one_of,
    problem,
    record,
    string,
)

ACTION_ID = string(255)
URL = string(3000, pattern=r"(?s)https?://.+")
DATE = string(10, pattern=r"\d{4}-\d\d-\d\d")
TIME = string(5, pattern=r"\d\d:\d\d")
NUMBER = string(255, pattern=r"-?\d+(\.\d+)?")


def plain(most: int) -> Check:
    return kinds({"plain_text": record({"text": string(most)}, {"emoji": boolean})}, "text")


def text(most: int) -> Check:
    return kinds(
        {
            "plain_text": record({"text": string(most)}, {"emoji": boolean}),
            "mrkdwn": record({"text": markup(most)}, {"verbatim": boolean}),
        },
        "text",
    )


CONFIRM = record(
    {"title": plain(100), "text": text(300), "confirm": plain(30), "deny": plain(30)},
    {"style": one_of("primary", "danger")},
)
OPTION = record({"text": plain(75), "value": string(150)}, {"description": plain(75)})
MARKED_OPTION = record({"text": text(75), "value": string(150)}, {"description": text(75)})
LINK_OPTION = record({"text": plain(75), "value": string(150)}, {"description": plain(75), "url": URL})
OPTION_GROUP = record({"label": plain(75), "options": list_of(OPTION, 100)})
CONFIRMED: Mapping[str, Check] = {"action_id": ACTION_ID, "confirm": CONFIRM}
FIELD: Mapping[str, Check] = {"action_id": ACTION_ID, "focus_on_load": boolean, "placeholder": plain(150)}
MENU: Mapping[str, Check] = {**CONFIRMED, **FIELD}
MANY: Mapping[str, Check] = {**MENU, "max_selected_items": integer(1, 100)}


def distinct_options(value: object, at: str) -> Iterator[str]:
    """Two options with one value could not be told apart in the answer."""
    options = value.get("options") if isinstance(value, dict) else None
    values = [o.get("value") for o in options if isinstance(o, dict)] if isinstance(options, list) else []
    if len(set(map(repr, values))) != len(values):
        yield problem("option values must be unique", f"{at}/options")


def initial_is_listed(value: object, at: str) -> Iterator[str]:
    """An initial choice must be one of the options, word for word."""
    if not isinstance(value, dict) or not isinstance(value.get("options"), list):
        return
    chosen = [value["initial_option"]] if "initial_option" in value else value.get("initial_options", [])
    for option in chosen if isinstance(chosen, list) else []:
        if option not in value["options"]:
            yield problem("an initial option must be one of the options", at)


def _choice(option: Check, most: int, optional: Mapping[str, Check]) -> Check:
    shape = record({"options": list_of(option, most)}, optional)
    return both(shape, distinct_options, initial_is_listed)


def _menu(optional: Mapping[str, Check]) -> Check:
    own = {"options": list_of(OPTION, 100), "option_groups": list_of(OPTION_GROUP, 100)}
    shape = record({}, {**optional, **own})
    return both(shape, exactly_one("options", "option_groups"), distinct_options, initial_is_listed)


def _text_input(value: object, at: str) -> Iterator[str]:
    shape = record(
        {},
        {
            **FIELD,
            "initial_value": string(3000, least=0),
            "multiline": boolean,
            "min_length": integer(0, 3000),
            "max_length": integer(1, 3000),
            "dispatch_action_config": DISPATCH,
        },
    )
    yield from shape(value, at)
    if isinstance(value, dict) and isinstance(value.get("initial_value"), str):
        most = value.get("max_length", 3000)
        if isinstance(most, int) and len(value["initial_value"]) > most:
            yield problem("is longer than max_length", f"{at}/initial_value")


DISPATCH = record(
    {"trigger_actions_on": list_of(one_of("on_enter_pressed", "on_character_entered"), 2)},
)
BUTTON = record(
    {"text": plain(75)},
    {
        **CONFIRMED,
        "url": URL,
        "value": string(2000),
        "style": one_of("primary", "danger"),
        "accessibility_label": string(75),
        "visible_to_user_ids": list_of(string(30), 10),
    },
)
IMAGE = both(
    record(
        {"alt_text": string(2000)},
        {"image_url": URL, "slack_file": record({}, {"id": string(30), "url": URL})},
    ),
    any_of("image_url", "slack_file"),
)
FEEDBACK = record({"text": plain(75), "value": string(2000)}, {"accessibility_label": string(75)})
TYPED: Mapping[str, Check] = {
    **FIELD,
    "initial_value": string(3000, least=0),
    "dispatch_action_config": DISPATCH,
}
MANY_STATIC = _menu({**MANY, "initial_options": list_of(OPTION, 100)})
ELEMENTS: Mapping[str, Check] = {
    "button": BUTTON,
    "image": IMAGE,
    "overflow": _choice(LINK_OPTION, 5, CONFIRMED),
    "static_select": _menu({**MENU, "initial_option": OPTION}),
    "multi_static_select": MANY_STATIC,
    "external_select": record({}, {**MENU, "initial_option": OPTION, "min_query_length": integer(0, 255)}),
    "users_select": record({}, {**MENU, "initial_user": string(30)}),
    "multi_users_select": record({}, {**MANY, "initial_users": list_of(string(30), 100)}),
    "conversations_select": record({}, {**MENU, "initial_conversation": string(30)}),
    "channels_select": record({}, {**MENU, "initial_channel": string(30)}),
    "datepicker": record({}, {**MENU, "initial_date": DATE}),
    "timepicker": record({}, {**MENU, "initial_time": TIME, "timezone": string(60)}),
    "datetimepicker": record(
        {}, {**CONFIRMED, "focus_on_load": boolean, "initial_date_time": integer(10**9, 10**10 - 1)}
    ),
    "checkboxes": _choice(
        MARKED_OPTION,
        10,
        {**CONFIRMED, "focus_on_load": boolean, "initial_options": list_of(MARKED_OPTION, 10)},
    ),
    "radio_buttons": _choice(
        MARKED_OPTION, 10, {**CONFIRMED, "focus_on_load": boolean, "initial_option": MARKED_OPTION}
    ),
    "plain_text_input": _text_input,
    "email_text_input": record({}, TYPED),
    "url_text_input": record({}, TYPED),
    "number_input": record(
        {"is_decimal_allowed": boolean},
        {**TYPED, "initial_value": NUMBER, "min_value": NUMBER, "max_value": NUMBER},
    ),
    "feedback_buttons": record(
        {"positive_button": FEEDBACK, "negative_button": FEEDBACK}, {"action_id": ACTION_ID}
    ),
    "icon_button": record(
        {"icon": one_of("trash"), "text": plain(75)},
        {
            **CONFIRMED,
            "value": string(2000),
            "accessibility_label": string(75),
            "visible_to_user_ids": list_of(string(30), 10),
        },
    ),
}
_MENUS = ("static_select", "external_select", "users_select", "conversations_select", "channels_select")
_MULTI = ("multi_static_select", "multi_users_select")
_PICKERS = ("datepicker", "timepicker", "checkboxes", "radio_buttons")
IN_ACTIONS = ("button", "overflow", "datetimepicker", *_MENUS, *_PICKERS)
IN_SECTION = ("button", "overflow", "image", *_MENUS, *_MULTI, *_PICKERS)
IN_INPUT = (
    "plain_text_input",
    "email_text_input",
    "url_text_input",
    "number_input",
    "datetimepicker",
    *_MENUS,
    *_MULTI,
    *_PICKERS,
)


def only(*names: str) -> Check:
    """One of the named elements."""
    return kinds({name: ELEMENTS[name] for name in names}, "element")
