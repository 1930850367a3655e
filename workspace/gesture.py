"""What a click says: the `actions[0]` of block_actions, as the client would fill it in."""

from __future__ import annotations

from typing import Any

from workspace import values
from workspace.errors import NotPossible

Element = dict[str, Any]


def action_of(block: Element, element: Element, given: dict[str, Any]) -> dict[str, Any]:
    """The action of using this element. A button says what the app put on it; of a menu only what
    stands in it can be chosen. Raises NotPossible otherwise."""
    kind = element["type"]
    action = {"action_id": element["action_id"], "block_id": block["block_id"], "type": kind}
    choose = given.get("choose")
    if kind == "feedback_buttons":
        side = _side(element, choose if choose is not None else given.get("value"))
        return {**action, "text": side["text"], "value": side["value"]}
    if kind in ("button", "icon_button"):
        return {**action, **{name: element[name] for name in ("text", "value") if name in element}}
    if kind == "overflow" or kind in values.FIELDS:
        field = "selected_option" if kind == "overflow" else values.FIELDS[kind][0]
        return {**action, field: _chosen(element, field, choose, given)}
    raise NotPossible(f"A {kind} cannot be clicked.")


def _side(element: Element, wanted: Any) -> Element:
    sides: list[Element] = [element["positive_button"], element["negative_button"]]
    found = next((side for side in sides if side["value"] == wanted), None)
    if found is None:
        raise NotPossible(f"There is no button {wanted!r}.")
    return found


def _chosen(element: Element, field: str, choose: Any, given: dict[str, Any]) -> Any:
    wanted = given.get(field) if choose is None else choose
    options = element.get("options") or [
        option for group in element.get("option_groups", []) for option in group["options"]
    ]
    if field == "selected_option" and options:
        return _option(options, wanted)
    if field == "selected_options":
        return [_option(options, each) for each in wanted or []]
    return wanted


def _option(options: list[Element], wanted: Any) -> Element:
    value = wanted.get("value") if isinstance(wanted, dict) else wanted
    found = next((option for option in options if option["value"] == value), None)
    if found is None:
        raise NotPossible(f"There is no option {value!r}.")
    return found
