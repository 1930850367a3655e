"""The state of menus and inputs, as in Slack's `state.values`, and the `actions` of a click."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workspace.faults import NotPossible
from workspace.state import Blocks, Ids, Values

Element = dict[str, Any]

# element type -> (the field of its value in `state.values`, the field of its initial value)
FIELDS = {
    "plain_text_input": ("value", "initial_value"),
    "email_text_input": ("value", "initial_value"),
    "url_text_input": ("value", "initial_value"),
    "number_input": ("value", "initial_value"),
    "static_select": ("selected_option", "initial_option"),
    "external_select": ("selected_option", "initial_option"),
    "radio_buttons": ("selected_option", "initial_option"),
    "multi_static_select": ("selected_options", "initial_options"),
    "checkboxes": ("selected_options", "initial_options"),
    "users_select": ("selected_user", "initial_user"),
    "multi_users_select": ("selected_users", "initial_users"),
    "conversations_select": ("selected_conversation", "initial_conversation"),
    "channels_select": ("selected_channel", "initial_channel"),
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
}
PLURAL = ("selected_options", "selected_users")


def elements_of(block: Mapping[str, Any]) -> Iterator[Element]:
    """The interactive elements and images of one block."""
    if block["type"] == "carousel":
        for card in block["elements"]:
            yield from card.get("actions", [])
        return
    if block["type"] in ("actions", "context_actions"):
        yield from block["elements"]
    if block["type"] == "card":
        yield from block.get("actions", [])
    yield from (block[name] for name in ("accessory", "element") if name in block)


def find(
    blocks: Blocks, action_id: str, block_id: str | None = None
) -> tuple[dict[str, Any], Element] | None:
    """The block and element with this action_id, or None."""
    for block in blocks:
        if block_id in (None, block.get("block_id")):
            for element in elements_of(block):
                if element.get("action_id") == action_id:
                    return block, element
    return None


def with_ids(blocks: Blocks, ids: Ids) -> Blocks:
    """Adds the missing block_ids and action_ids, in place, and returns the blocks."""
    for block in blocks:
        block.setdefault("block_id", ids("b"))
        for element in elements_of(block):
            if element["type"] != "image":
                element.setdefault("action_id", ids("a"))
    return blocks


def initial_values(blocks: Blocks, previous: Values | None = None) -> Values:
    """The state of a new or updated surface. `previous` values win for the same block_id, action_id and type."""
    values: Values = {}
    for block in blocks:
        for element in elements_of(block):
            if element["type"] in FIELDS:
                before = (previous or {}).get(block["block_id"], {}).get(element["action_id"])
                same = before if before and before["type"] == element["type"] else None
                values.setdefault(block["block_id"], {})[element["action_id"]] = same or _initial_value(
                    element
                )
    return values


def _initial_value(element: Element) -> dict[str, Any]:
    field, start = FIELDS[element["type"]]
    return {"type": element["type"], field: element.get(start, [] if field in PLURAL else None)}


def fill(values: Values, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Writes a person's input into the state, in place. Input for elements that the surface does not have is ignored.

    A value is an object as in `state.values`, or the typed text alone.
    """
    for block_id, actions in given.items():
        for action_id, value in actions.items():
            known = values.get(block_id, {}).get(action_id)
            if known is None:
                continue
            field = FIELDS[known["type"]][0]
            known[field] = value.get(field) if isinstance(value, Mapping) else value
            if known[field] == "" and field == "value":
                known[field] = None


def validation_errors(blocks: Blocks, values: Values) -> dict[str, str]:
    """The errors that Slack's client shows before it sends a form: block_id -> message."""
    errors = {}
    for block in blocks:
        if block["type"] == "input":
            element = block["element"]
            value = values[block["block_id"]][element["action_id"]][FIELDS[element["type"]][0]]
            message = _validation_error(element, value, bool(block.get("optional")))
            if message:
                errors[block["block_id"]] = message
    return errors


def _validation_error(element: Element, value: Any, optional: bool) -> str | None:
    if value in (None, "", []):
        return None if optional else "Please complete this required field."
    if element["type"] == "plain_text_input":
        if len(value) < element.get("min_length", 0):
            return f"Please enter at least {element['min_length']} characters."
        if len(value) > element.get("max_length", 3000):
            return f"Please enter at most {element.get('max_length', 3000)} characters."
    if element["type"] == "number_input":
        return _bad_number(element, value)
    return None


def _bad_number(element: Element, value: str) -> str | None:
    try:
        number = float(value) if element["is_decimal_allowed"] else int(value)
    except ValueError:
        return "Please enter a number." if element["is_decimal_allowed"] else "Please enter a whole number."
    if "min_value" in element and number < float(element["min_value"]):
        return f"Please enter a number no less than {element['min_value']}."
    if "max_value" in element and number > float(element["max_value"]):
        return f"Please enter a number no more than {element['max_value']}."
    return None


def block_action(block: Element, element: Element, given: dict[str, Any]) -> dict[str, Any]:
    """`actions[0]` of block_actions when a person uses this element. `given` holds `choose` (an option's value) or
    the fields as Slack names them; a button carries the text and value of the app.

    Raises NotPossible for an option that the element does not have, and for elements that cannot be clicked.
    """
    kind = element["type"]
    action = {"action_id": element["action_id"], "block_id": block["block_id"], "type": kind}
    choose = given.get("choose")
    if kind == "feedback_buttons":
        pressed = _feedback_button(element, choose if choose is not None else given.get("value"))
        return {**action, "text": pressed["text"], "value": pressed["value"]}
    if kind in ("button", "icon_button"):
        return {**action, **{name: element[name] for name in ("text", "value") if name in element}}
    if kind == "overflow" or kind in FIELDS:
        field = "selected_option" if kind == "overflow" else FIELDS[kind][0]
        return {**action, field: _choice(element, field, choose, given)}
    raise NotPossible(f"A {kind} cannot be clicked.")


def _feedback_button(element: Element, value: Any) -> Element:
    """The side with this value; the positive one without a value."""
    buttons: list[Element] = [element["positive_button"], element["negative_button"]]
    button = buttons[0] if value is None else next((one for one in buttons if one["value"] == value), None)
    if button is None:
        raise NotPossible(f"There is no button {value!r}.")
    return button


def _choice(element: Element, field: str, choose: Any, given: dict[str, Any]) -> Any:
    choice = given.get(field) if choose is None else choose
    options = element.get("options") or [
        option for group in element.get("option_groups", []) for option in group["options"]
    ]
    if field == "selected_option" and options:
        return _option_by_value(options, choice)
    if field == "selected_options":
        return [_option_by_value(options, each) for each in choice or []]
    return choice


def _option_by_value(options: list[Element], choice: Any) -> Element:
    value = choice.get("value") if isinstance(choice, dict) else choice
    chosen = next((option for option in options if option["value"] == value), None)
    if chosen is None:
        raise NotPossible(f"There is no option {value!r}.")
    return chosen
