"""The edit form: fields to input blocks, and what was submitted back to arguments.

What is submitted as it was shown keeps its old value, byte for byte; only what was changed is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest

from gate.rules.action import Json
from gate.rules.canonical_json import BadArguments, parse
from gate.rules.tool import Problem
from views.block_kit import Block, field, line, option, rich, words
from views.form_fields import (
    ABSENT,
    MOST_DEPTH,
    MOST_FIELDS,
    NUMBER,
    Field,
    Form,
    Kind,
    spelled,
)
from views.form_schemas import MOST_OPTIONS, MOST_WORK, SchemaReader, TooMuchWork, extent

VALUE = "value"  # the action id of every input of the form
FORM_BYTES = 230 * 1024  # of the 250 KB of a modal
WRITTEN = 16  # bytes of a block that are as much work as one value
HOW = {Kind.LINES: "One per line. ", Kind.NUMBERS: "One number per line. ", Kind.JSON: "As JSON. "}
FORMATS = {
    "email": "An email address. ",
    "uri": "A whole address. ",
    "date": "A date: 2026-11-23. ",
    "date-time": "A date with time and zone: 2026-11-23T09:30:00Z. ",
}
ANOTHER_TOOL = (
    "The tool has changed since this was opened, or is away. Nothing changed: "
    "please close this and open it again."
)
RADIOS = 4  # choices up to which all are shown at once
LISTS = (Kind.LINES, Kind.NUMBERS, Kind.SEVERAL)
EMPTIABLE = (Kind.TEXT, *LISTS)


@dataclass(frozen=True, slots=True)
class Filled:
    """What a form gave: the arguments, or for some blocks a sentence that says what to mend."""

    args: dict[str, Json]
    errors: dict[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """A form as a modal shows it: its fields, the block of each, and how much work it was to make them."""

    form: Form
    fields: tuple[Field, ...]
    blocks: list[Block]
    work: int


class Unreadable(Exception):
    """What was typed cannot be read. Its text is the sentence for the field."""


def shown(form: Form) -> Shown:
    """The fields, each with its block; one for everything where that many, or that much in them, is more than a modal
    holds, or more work to find."""
    reader = SchemaReader(form.schema)
    try:
        for depth in (MOST_DEPTH, 1):
            fields = form.fields(reader, depth)
            if (made := _drawn(fields, reader)) is not None:
                return Shown(form, fields, made, reader.work)
            if all(len(each.path) == 1 for each in fields):
                break
    except TooMuchWork:
        pass
    fields = form.as_one()
    return Shown(form, fields, [_block(each) for each in fields], min(reader.work, MOST_WORK))


def blocks(form: Form) -> list[Block]:
    """The form's blocks, one for each field."""
    return shown(form).blocks


def values(asked: Shown, state: Mapping[str, Mapping[str, str]]) -> Filled:
    """The arguments as submitted. `asked`: what was shown; `state`: what stands in each input, by block and action.
    What a form of another definition of the tool gave is an error at its first input."""
    form = asked.form
    others = (block for block in state if block.startswith(form.prefix) and not block.startswith(form.begins))
    if other := next(others, None):
        return Filled(dict(form.args), {other: ANOTHER_TOOL})
    made, errors = dict(form.args), {}
    for each in asked.fields:
        if not each.editable or each.block not in state:
            continue
        raw = state[each.block].get(VALUE, "")
        if raw == each.shown:
            continue
        try:
            value = _submitted(each, raw)
        except Unreadable as error:
            errors[each.block] = str(error)
            continue
        if each.path:
            made = _put(made, each.path, value, each.within)
        else:
            made = {**{k: v for k, v in form.args.items() if k in form.bound}, **value}
    return Filled(made, errors)


def _put(
    values: Mapping[str, Json], path: Sequence[str], value: Json, within: Sequence[bool]
) -> dict[str, Json]:
    """The values with this one at its place, or without it where it is ABSENT. What is not there yet is made; an object
    that nothing is left of goes, too, where it need not be given. `within`: Field.within."""
    name, *inner = path
    if inner:
        before = values.get(name)
        left = _put(before if isinstance(before, Mapping) else {}, inner, value, within[1:])
        value = left if left or within[0] else ABSENT
    if value is ABSENT:
        return {key: one for key, one in values.items() if key != name}
    return {**values, name: value}


def field_errors(asked: Shown, problems: Sequence[Problem]) -> dict[str, str]:
    """Broken rules of the schema as errors of the form's blocks.

    Slack shows errors on inputs only: what belongs to none of them goes to the first. Empty when the form
    has no input at all.
    """
    inputs = [each for each in asked.fields if each.editable]
    found: dict[str, str] = {}
    for problem in problems if inputs else ():
        found.setdefault(max(inputs, key=lambda each: _common(each.path, problem.path)).block, problem.text)
    return found


def _common(path: Sequence[str], other: Sequence[str | int]) -> int:
    """With how many of the same names they begin."""
    pairs = zip(path, map(str, other), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _drawn(fields: Sequence[Field], reader: SchemaReader) -> list[Block] | None:
    """The blocks of these fields; None where a modal does not hold them all."""
    made, size = list[Block](), 0
    for each in fields if len(fields) <= MOST_FIELDS else ():
        reader.count(extent(each.choices))
        made.append(_block(each))
        length = len(json.dumps(made[-1]))
        size += length + len(", ")
        if size > FORM_BYTES:
            return None
        reader.count(length // WRITTEN)
    return made if len(fields) <= MOST_FIELDS else None


def _block(each: Field) -> Block:
    label = each.name or "All of it"
    if not each.editable:
        note = "is too long for Slack's input, so it stays as it is. Change it by a new request."
        return rich(line(words(label, "bold"), words(f" {note}")))
    form_of = each.schema.get("format")
    how = HOW.get(each.kind, "") or (FORMATS.get(form_of, "") if isinstance(form_of, str) else "")
    told = each.schema.get("description", "")
    hint = how + (told if isinstance(told, str) else "")
    return field(each.block, label, _element(each), hint=hint.strip(), optional=not _must_fill(each))


def _must_fill(each: Field) -> bool:
    """Whether Slack itself may insist on an answer: long texts and lists can be emptied, and stay empty."""
    emptiable = each.kind in EMPTIABLE and (each.multiline or each.old == "")
    return each.required and not each.nullable and not emptiable


def _element(each: Field) -> Block:
    if each.kind is Kind.CHOICE:
        return _choice(each)
    return _several(each) if each.kind is Kind.SEVERAL else _input(each)


def _input(each: Field) -> Block:
    start = {"initial_value": each.shown} if each.shown else {}
    if each.kind is Kind.NUMBER:
        whole = each.schema.get("type") == "integer" and "." not in each.shown
        return {"type": "number_input", "action_id": VALUE, "is_decimal_allowed": not whole, **start}
    return {"type": "plain_text_input", "action_id": VALUE, "multiline": each.multiline, **start}


def _choice(each: Field) -> Block:
    options = _options(each)
    start = {"initial_option": options[int(each.shown)]} if each.shown else {}
    kind = "radio_buttons" if len(options) <= RADIOS else "static_select"
    return {"type": kind, "action_id": VALUE, "options": options, **start}


def _several(each: Field) -> Block:
    options = _options(each)
    start = [options[int(index)] for index in each.shown.split(",") if index]
    made: Block = {"type": "multi_static_select", "action_id": VALUE, "options": options}
    return {**made, "initial_options": start} if start else made


def _options(each: Field) -> list[Block]:
    """Options carry the index of their value: values can be longer than Slack lets an option be."""
    shown = zip_longest(each.labels, map(_named, each.choices))
    return [option(label or name, str(index)) for index, (label, name) in enumerate(shown)]


def _named(value: Json) -> str:
    if value is ABSENT:
        return "(leave out)"
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def _submitted(each: Field, raw: str) -> Json:
    if each.kind is Kind.CHOICE:
        return _chosen(each, raw)
    if not raw:
        return _emptied(each)
    if each.kind is Kind.SEVERAL:
        picked = {spelled(_chosen(each, index)) for index in raw.split(",")}
        return [one for one in each.choices if spelled(one) in picked]
    lines = [text for text in raw.split("\n") if text.strip()]
    match each.kind:
        case Kind.NUMBER:
            return _number(raw, each.schema.get("type") == "integer")
        case Kind.LINES:
            return lines
        case Kind.NUMBERS:
            items = each.schema.get("items")
            whole = isinstance(items, dict) and items.get("type") == "integer"
            return [_number(text, whole) for text in lines]
    return raw if each.kind is Kind.TEXT else _json(raw, not each.path)


def _chosen(each: Field, raw: str) -> Json:
    is_index = raw.isascii() and raw.isdigit() and len(raw) < len(str(MOST_OPTIONS))
    if is_index and int(raw) < len(each.choices):
        return each.choices[int(raw)]
    raise Unreadable("Please choose one of the options.")


def _emptied(each: Field) -> Json:
    if not each.required:
        return ABSENT
    if each.nullable:
        return None
    if each.kind is Kind.TEXT:
        return ""
    if each.kind in LISTS:
        return []
    raise Unreadable("This needs a value.")


def _number(raw: str, whole: bool) -> Json:
    found = NUMBER.fullmatch(raw.strip())
    if found is None:
        raise Unreadable("This must be a number, such as 12 or 0.5.")
    if found[1] is None:
        return int(found[0])
    if whole:
        raise Unreadable("This must be a whole number.")
    return float(found[0])


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
