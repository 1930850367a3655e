"""From a tool's JSON Schema and the present arguments to the fields of a form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gate.rules.action import Json
from views.block_kit import visible

Schema = Mapping[str, Json]

MOST_TEXT = 3_000  # characters that Slack's text input takes
MOST_OPTIONS = 100
ABSENT: Any = object()  # an argument that is not given at all, which null is not
WHOLE = "args"  # the block of the form that has one field for all arguments

LONG_NAMES = re.compile(r"content|body|description|text|message|comment|summary", re.I)
ORDINARY = re.compile(r"[\w.-]{1,200}", re.ASCII)
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


class Kind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    LINES = "lines"  # a list of texts, one per line
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of the form. `shown` is what its input holds at first; "" when nothing."""

    name: str
    block: str
    kind: Kind
    schema: Schema
    required: bool
    old: Json  # or ABSENT
    shown: str
    choices: tuple[Json, ...] = ()  # their values; ABSENT leaves the argument out
    multiline: bool = False
    nullable: bool = False

    @property
    def editable(self) -> bool:
        return len(self.shown) <= MOST_TEXT


def fields(schema: Schema, args: Mapping[str, Json], bound: Iterable[str] = ()) -> tuple[Field, ...]:
    """A field for every parameter but the bound ones, and for every argument the schema does not name."""
    skip = set(bound)
    properties = schema.get("properties", {})
    names = [n for n in [*properties, *(a for a in args if a not in properties)] if n not in skip]
    required = set(schema.get("required", ()))
    return tuple(
        _field(name, properties.get(name, {}), schema, name in required, args.get(name, ABSENT))
        for name in names
    )


def as_one(args: Mapping[str, Json], bound: Iterable[str] = ()) -> tuple[Field, ...]:
    """A single field for all arguments but the bound ones, as JSON."""
    skip = set(bound)
    rest = {name: value for name, value in args.items() if name not in skip}
    return (Field("", WHOLE, Kind.JSON, {}, True, rest, _json(rest), multiline=True),)


def block_of(name: str) -> str:
    """The block id of a parameter: its name where that is an ordinary one."""
    if ORDINARY.fullmatch(name):
        return f"arg.{name}"
    return "arg#" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def resolved(schema: Json, root: Schema) -> Schema:
    """The schema behind local references and wrappers of one; `true` and unknown references allow anything."""
    for _ in range(16):  # a reference to itself ends here
        if not isinstance(schema, dict):
            return {}
        single = schema.get("allOf", ())
        if "$ref" in schema:
            schema = _pointed(schema["$ref"], root)
        elif len(single) == 1 and isinstance(single[0], dict):
            schema = {**{k: v for k, v in schema.items() if k != "allOf"}, **single[0]}
        else:
            return schema
    return {}


def _pointed(reference: Json, root: Schema) -> Json:
    at: Json = root
    if not isinstance(reference, str) or not reference.startswith("#"):
        return {}
    for step in reference[1:].split("/")[1:]:
        at = at.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(at, dict) else {}
    return at


def _field(name: str, declared: Json, root: Schema, required: bool, old: Json) -> Field:
    described = declared if isinstance(declared, dict) else {}
    schema, nullable = _without_null(resolved(declared, root), root)
    hint = {"description": described.get("description", schema.get("description", ""))}
    kind, choices = _kind(schema, old, nullable, required)
    return Field(
        name=name,
        block=block_of(name),
        kind=kind,
        schema={**schema, **hint},
        required=required,
        old=old,
        shown=_shown(kind, old, choices),
        choices=choices,
        multiline=kind is not Kind.TEXT or _is_long(name, schema, old),
        nullable=nullable,
    )


def _without_null(schema: Schema, root: Schema) -> tuple[Schema, bool]:
    """What is left of a schema when null is taken out, and whether it was in."""
    types = schema.get("type")
    if isinstance(types, list):
        rest = [t for t in types if t != "null"]
        return {**schema, "type": rest[0] if len(rest) == 1 else rest}, "null" in types
    for key in ("anyOf", "oneOf"):
        ways = [resolved(way, root) for way in schema.get(key, ())]
        others = [way for way in ways if way.get("type") != "null"]
        if len(others) == 1:
            return {**{k: v for k, v in schema.items() if k != key}, **others[0]}, len(ways) > 1
        if ways:
            return {**schema, key: others}, len(others) < len(ways)
    return schema, False


def _kind(schema: Schema, old: Json, nullable: bool, required: bool) -> tuple[Kind, tuple[Json, ...]]:
    """How the argument is asked for: the simplest input that can hold the present value exactly."""
    options = _options(schema)
    if options:
        extra = ([None] if nullable and None not in options else []) + ([] if required else [ABSENT])
        choices = (*options, *extra)
        listed = old is ABSENT or any(same(old, choice) for choice in choices)
        if listed and len(choices) <= MOST_OPTIONS:
            return Kind.CHOICE, choices
    blank = old is ABSENT or (nullable and old is None)
    wanted = schema.get("type")
    if wanted == "string" and (blank or _plain_text(old)):
        return Kind.TEXT, ()
    if wanted in ("integer", "number") and (blank or _plain_number(old)):
        return Kind.NUMBER, ()
    if wanted == "array" and (blank or _plain_lines(old)) and _of_texts(schema):
        return Kind.LINES, ()
    return Kind.JSON, ()


def _options(schema: Schema) -> list[Json]:
    """The values of an enum, a const, a union of consts, or a boolean; none when it is anything else."""
    if isinstance(schema.get("enum"), list):
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    if schema.get("type") == "boolean":
        return [True, False]
    for key in ("anyOf", "oneOf"):
        ways = schema.get(key, ())
        if ways and all(isinstance(way, dict) and ("const" in way or "enum" in way) for way in ways):
            return [value for way in ways for value in _options(way)]
    return []


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: True is not 1, and 1.0 is not 1."""
    if one is ABSENT or other is ABSENT:
        return one is other
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _plain_text(value: Json) -> bool:
    """Whether an input can hold it and people can see all of it."""
    return isinstance(value, str) and visible(value) == value


def _plain_number(value: Json) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and NUMBER.fullmatch(json.dumps(value)) is not None


def _plain_lines(value: Json) -> bool:
    return isinstance(value, list) and all(
        _plain_text(item) and item.strip() and "\n" not in item for item in value
    )


def _of_texts(schema: Schema) -> bool:
    items = schema.get("items")
    return isinstance(items, dict) and items.get("type") == "string" and "prefixItems" not in schema


def _is_long(name: str, schema: Schema, old: Json) -> bool:
    long_now = isinstance(old, str) and ("\n" in old or len(old) > 100)
    most = schema.get("maxLength")
    long_allowed = isinstance(most, int) and most > 200
    return long_now or long_allowed or schema.get("format") == "text" or bool(LONG_NAMES.search(name))


def _shown(kind: Kind, old: Json, choices: tuple[Json, ...]) -> str:
    if kind is Kind.CHOICE:
        return next((str(i) for i, choice in enumerate(choices) if same(choice, old)), "")
    if old is ABSENT or (old is None and kind is not Kind.JSON):
        return ""
    if kind is Kind.TEXT:
        return str(old)
    if kind is Kind.LINES:
        return "\n".join(old)
    return json.dumps(old) if kind is Kind.NUMBER else _json(old)


def _json(value: Json) -> str:
    """JSON that an input can hold and people can see: invisible characters stay escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if visible(text) == text else json.dumps(value, ensure_ascii=True, indent=2)
