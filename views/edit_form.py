"""The edit form: fields to input blocks, and what was submitted back to arguments.

What is submitted as it was shown keeps its old value, byte for byte; only what was changed is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gate.rules.action import Json
from gate.rules.canonical_json import BadArguments, parse
from gate.rules.tool import Problem
from views.block_kit import Block, field, line, option, rich, words
from views.form_fields import ABSENT, MOST_OPTIONS, NUMBER, WHOLE, Field, Kind, Schema, as_one, fields

VALUE = "value"  # the action id of every input of the form
MOST_FIELDS = 90
FORM_BYTES = 230 * 1024  # of the 250 KB of a modal
RADIOS = 4  # choices up to which all are shown at once


@dataclass(frozen=True, slots=True)
class Filled:
    """What a form gave: the arguments, or for some blocks a sentence that says what to mend."""

    args: dict[str, Json]
    errors: dict[str, str]


class Unreadable(Exception):
    """What was typed cannot be read. Its text is the sentence for the field."""


def blocks(schema: Schema, args: Mapping[str, Json], bound: Iterable[str] = ()) -> list[Block]:
    """The form's blocks, one for each field."""
    return [_block(each) for each in _asked(schema, args, bound)]


def values(
    schema: Schema, args: Mapping[str, Json], state: Mapping[str, Json], bound: Iterable[str] = ()
) -> Filled:
    """The arguments as submitted. `args`: what the form was made from; `state`: `view.state.values`."""
    made, errors = dict(args), {}
    for each in _asked(schema, args, bound):
        if not each.editable or each.block not in state:
            continue
        try:
            value = _submitted(each, _raw(state[each.block]))
        except Unreadable as error:
            errors[each.block] = str(error)
            continue
        if each.block == WHOLE:
            made = {**{k: v for k, v in args.items() if k in set(bound)}, **value}
        elif value is ABSENT:
            made.pop(each.name, None)
        else:
            made[each.name] = value
    return Filled(made, errors)


def field_errors(
    schema: Schema, args: Mapping[str, Json], problems: Sequence[Problem], bound: Iterable[str] = ()
) -> dict[str, str]:
    """Broken rules of the schema as errors of the form's blocks.

    Slack shows errors on inputs only: what belongs to none of them goes to the first. Empty when the form
    has no input at all.
    """
    inputs = [each for each in _asked(schema, args, bound) if each.editable]
    if not inputs:
        return {}
    by_name = {each.name: each.block for each in inputs}
    found: dict[str, str] = {}
    for problem in problems:
        name = str(problem.path[0]) if problem.path else ""
        found.setdefault(by_name.get(name, inputs[0].block), problem.text)
    return found


def _asked(schema: Schema, args: Mapping[str, Json], bound: Iterable[str]) -> tuple[Field, ...]:
    """The fields; one for everything where that many, or that much in them, is more than a modal holds."""
    skip = frozenset(bound)
    found = fields(schema, args, skip)
    fits = len(found) <= MOST_FIELDS and len(json.dumps([_block(each) for each in found])) <= FORM_BYTES
    return found if fits else as_one(args, skip)


def _block(each: Field) -> Block:
    label = each.name or "All arguments, as JSON"
    if not each.editable:
        note = "is too long for Slack's input, so it stays as it is. Change it by a new request."
        return rich(line(words(label, "bold"), words(f" {note}")))
    how = {Kind.LINES: "One per line. ", Kind.JSON: "As JSON. "}.get(each.kind, "")
    told = each.schema.get("description", "")
    hint = how + (told if isinstance(told, str) else "")
    element = _choice(each) if each.kind is Kind.CHOICE else _input(each)
    return field(each.block, label, element, hint=hint.strip(), optional=not _must_fill(each))


def _must_fill(each: Field) -> bool:
    """Whether Slack itself may insist on an answer: long texts and lists can be emptied, and stay empty."""
    emptiable = each.kind in (Kind.TEXT, Kind.LINES) and (each.multiline or each.old == "")
    return each.required and not each.nullable and not emptiable


def _input(each: Field) -> Block:
    start = {"initial_value": each.shown} if each.shown else {}
    if each.kind is Kind.NUMBER:
        whole = each.schema.get("type") == "integer" and "." not in each.shown
        return {"type": "number_input", "action_id": VALUE, "is_decimal_allowed": not whole, **start}
    return {"type": "plain_text_input", "action_id": VALUE, "multiline": each.multiline, **start}


def _choice(each: Field) -> Block:
    """Options carry the index of their value: values can be longer than Slack lets an option be."""
    options = [option(_named(value), str(index)) for index, value in enumerate(each.choices)]
    start = {"initial_option": options[int(each.shown)]} if each.shown else {}
    kind = "radio_buttons" if len(options) <= RADIOS else "static_select"
    return {"type": kind, "action_id": VALUE, "options": options, **start}


def _named(value: Json) -> str:
    if value is ABSENT:
        return "(leave out)"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _raw(answers: Json) -> str:
    """The text or the chosen index in one block of a view's state; "" when it was left empty."""
    answer = answers.get(VALUE) or {}
    chosen = answer.get("selected_option")
    return str(chosen["value"]) if chosen else str(answer.get("value") or "")


def _submitted(each: Field, raw: str) -> Json:
    if raw == each.shown:
        return each.old
    if each.kind is Kind.CHOICE:
        if (
            raw.isascii()
            and raw.isdigit()
            and len(raw) < len(str(MOST_OPTIONS))
            and int(raw) < len(each.choices)
        ):
            return each.choices[int(raw)]
        raise Unreadable("Please choose one of the options.")
    if not raw:
        return _emptied(each)
    if each.kind is Kind.NUMBER:
        return _number(raw, each.schema.get("type") == "integer")
    if each.kind is Kind.LINES:
        return [text for text in raw.split("\n") if text.strip()]
    return raw if each.kind is Kind.TEXT else _json(raw, each.block == WHOLE)


def _emptied(each: Field) -> Json:
    if not each.required:
        return ABSENT
    if each.nullable:
        return None
    if each.kind is Kind.TEXT:
        return ""
    if each.kind is Kind.LINES:
        return []
    raise Unreadable("This needs a value.")


def _number(raw: str, whole: bool) -> Json:
    found = NUMBER.fullmatch(raw.strip())
    if found is None:
        raise Unreadable("This must be a number, such as 12 or 0.5.")
    if found[1] is None:
        return int(raw)
    if whole:
        raise Unreadable("This must be a whole number.")
    return float(raw)


def _json(raw: str, as_object: bool) -> Json:
    """Strict JSON, by the gate's own reader, which takes objects only."""
    try:
        read = parse(raw) if as_object else parse(f'{{"value": {raw}\n}}')
    except BadArguments as error:
        raise Unreadable(_without_position(str(error))) from None
    if as_object:
        return read
    if set(read) != {"value"}:
        raise Unreadable("This must be one JSON value.")
    return read["value"]


def _without_position(text: str) -> str:
    """The reader counts characters from the object around the value, which nobody sees."""
    start, found, _ = text.partition(" at character ")
    return f'{start}. Texts need quotes, as in "notes.md".' if found else text
