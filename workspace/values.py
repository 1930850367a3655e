"""What people fill in: the state of menus and inputs, as Slack reports it in `state.values`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workspace.state import Blocks, Ids, Values

Element = dict[str, Any]

# element type -> (the field of the answer, the field of the initial value)
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
    """The block and element of an action, or None when nothing of that name stands there."""
    for block in blocks:
        if block_id in (None, block.get("block_id")):
            for element in elements_of(block):
                if element.get("action_id") == action_id:
                    return block, element
    return None


def named(blocks: Blocks, ids: Ids) -> Blocks:
    """The blocks with an id for each block and interactive element that came without one."""
    for block in blocks:
        block.setdefault("block_id", ids("b"))
        for element in elements_of(block):
            if element["type"] != "image":
                element.setdefault("action_id", ids("a"))
    return blocks


def initial(blocks: Blocks, kept: Values | None = None) -> Values:
    """The state of a fresh surface. `kept` values win where block_id and action_id are the same."""
    values: Values = {}
    for block in blocks:
        for element in elements_of(block):
            if element["type"] in FIELDS:
                before = (kept or {}).get(block["block_id"], {}).get(element["action_id"])
                same = before if before and before["type"] == element["type"] else None
                values.setdefault(block["block_id"], {})[element["action_id"]] = same or fresh(element)
    return values


def fresh(element: Element) -> dict[str, Any]:
    field, start = FIELDS[element["type"]]
    return {"type": element["type"], field: element.get(start, [] if field in PLURAL else None)}


def fill(values: Values, given: Mapping[str, Mapping[str, Any]]) -> None:
    """Puts what a person gave into the state; what names no element of the surface is left out.

    A given value is Slack's own object, or in tests just the text typed.
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


def complaints(blocks: Blocks, values: Values) -> dict[str, str]:
    """What Slack's own client says before it sends a form: block_id to sentence."""
    found = {}
    for block in blocks:
        if block["type"] == "input":
            element = block["element"]
            value = values[block["block_id"]][element["action_id"]][FIELDS[element["type"]][0]]
            sentence = _complaint(element, value, bool(block.get("optional")))
            if sentence:
                found[block["block_id"]] = sentence
    return found


def _complaint(element: Element, value: Any, optional: bool) -> str | None:
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
