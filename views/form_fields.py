"""From a tool's JSON Schema and the present arguments to the fields of a form."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice
from typing import Any, NamedTuple

from gate.rules.action import Json
from gate.rules.server_questions import NoForm, labels
from views.block_kit import visible
from views.form_schemas import MOST_OPTIONS, MOST_TYPES, TEXT, Schema, SchemaReader, union

MOST_TEXT = 3_000  # characters that Slack's text input takes
MOST_FIELDS = 90  # of the 100 blocks of a modal
MOST_DEPTH = 4  # names from the arguments to a field
UNSHOWN = "…" * (MOST_TEXT + 1)  # stands for a value that no input holds: to write it out takes long
ABSENT: Any = object()  # an argument that is not given at all, which null is not
ARGUMENT = "arg"  # begins the blocks of a form for the arguments of a call
MOST_DEFINITION = 16  # characters of the hash of a definition that tell one from another

LONG_NAMES = re.compile(r"content|body|description|text|message|comment|summary", re.I)
ORDINARY = re.compile(r"[\w.-]{1,200}", re.ASCII)
NUMBERS = frozenset(["integer", "number"])
SCALARS = frozenset(["string", "integer", "number", "boolean"])
ANY = SCALARS | {"array", "object", "null"}
PLAIN = (str, int, float, bool, type(None))
NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


class Kind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    LINES = "lines"  # a list of texts, one per line
    NUMBERS = "numbers"  # a list of numbers, one per line
    SEVERAL = "several"  # a list of some of the values that its schema names
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Field:
    """One argument of the form, or one value inside of an argument. `path`: the names that lead to it; none for the
    field of all arguments. `shown` is what its input holds at first; "" when nothing."""

    path: tuple[str, ...]
    block: str
    kind: Kind
    schema: Schema
    required: bool
    old: Json  # or ABSENT
    shown: str
    choices: tuple[Json, ...] = ()  # their values; ABSENT leaves the argument out
    title: str = ""  # "" for its path
    labels: tuple[str, ...] = ()  # how its choices are shown; none, or "" for one, where as they are
    multiline: bool = False
    nullable: bool = False
    within: tuple[bool, ...] = ()  # of each object around it, whether that has to be given

    @property
    def name(self) -> str:
        """What people read above it: its title, or its path as in `address.city`."""
        return self.title or ".".join(self.path)

    @property
    def editable(self) -> bool:
        return len(self.shown) <= MOST_TEXT


class _Place(NamedTuple):
    """Where a value stands, whether it has to be given, and how many names may lead to a field."""

    path: tuple[str, ...]
    required: bool
    depth: int
    within: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """What a form is made for: the values `args`, which are arguments or a result. `bound`: names that are not asked
    for. `prefix` begins the ids of its blocks, then `definition`, that of the tool: a choice comes back as its place,
    so what another form gave is not read. `titled`: names and choices are shown by the titles of the schema."""

    schema: Schema
    args: Mapping[str, Json]
    bound: frozenset[str] = frozenset()
    prefix: str = ARGUMENT
    titled: bool = False
    definition: str = ""

    @property
    def begins(self) -> str:
        """What the ids of its blocks begin with."""
        return self.prefix + self.definition[:MOST_DEFINITION]

    def fields(self, reader: SchemaReader, depth: int = MOST_DEPTH) -> tuple[Field, ...]:
        """A field for every parameter but the bound ones, and for every value that the schema does not name; an object
        whose names are known becomes fields of its own, down to `depth` names. At most MOST_FIELDS and one more: a
        small schema can stand for millions. `reader`: that of its schema. Raises TooMuchWork."""
        rest = {name: value for name, value in self.args.items() if name not in self.bound}
        properties = self.schema.get("properties", {})
        asked = {name: one for name, one in properties.items() if name not in self.bound}
        found = self._inside(reader, {**self.schema, "properties": asked}, rest, _Place((), True, depth))
        return tuple(islice(found, MOST_FIELDS + 1))

    def as_one(self) -> tuple[Field, ...]:
        """A single field for everything but the bound names, as JSON."""
        rest = {name: value for name, value in self.args.items() if name not in self.bound}
        shown = _shown(Kind.JSON, rest, ())
        return (Field((), f"{self.begins}s", Kind.JSON, {}, True, rest, shown, multiline=True),)

    def _inside(
        self, reader: SchemaReader, schema: Schema, values: Mapping[str, Json], around: _Place
    ) -> Iterator[Field]:
        properties, required = schema.get("properties", {}), schema.get("required")
        required = required if isinstance(required, Sequence) else ()
        for name in chain(properties, (one for one in values if one not in properties)):
            reader.count(1 + len(required) // TEXT)
            within = (*around.within, around.required) if around.path else ()
            place = _Place((*around.path, name), name in required, around.depth, within)
            yield from self._fields(reader, place, properties.get(name, {}), values.get(name, ABSENT))

    def _fields(self, reader: SchemaReader, place: _Place, declared: Json, old: Json) -> Iterator[Field]:
        described = declared if isinstance(declared, dict) else {}
        schema, nullable = reader.shape(declared)
        if len(place.path) < place.depth and _has_names(schema, old, nullable):
            is_given = isinstance(old, Mapping)
            inside = schema if is_given or place.required else {**schema, "required": ()}
            yield from self._inside(reader, inside, old if is_given else {}, place)
            return
        hint = {"description": described.get("description", schema.get("description", ""))}
        reader.count(sum(map(len, place.path)))  # they may be long, and are gone through
        kind, choices = _kind(reader, schema, old, nullable, place.required)
        yield Field(
            path=place.path,
            block=block_of(place.path, self.begins),
            kind=kind,
            schema={**schema, **hint},
            required=place.required,
            old=old,
            shown=_shown(kind, old, choices),
            choices=choices,
            multiline=kind is not Kind.TEXT or _is_long(place.path[-1], schema, old),
            nullable=nullable,
            title=_text(described.get("title")) if self.titled else "",
            labels=_labels(schema, kind, choices) if self.titled else (),
            within=place.within,
        )


def block_of(path: tuple[str, ...], prefix: str = ARGUMENT) -> str:
    """The block id of a field: the name of the parameter where that is an ordinary one."""
    if len(path) == 1 and ORDINARY.fullmatch(path[0]):
        return f"{prefix}.{path[0]}"
    spelled = path[0] if len(path) == 1 else json.dumps(path)
    return f"{prefix}#" + hashlib.sha256(spelled.encode("utf-8", "surrogatepass")).hexdigest()


def _kind(
    reader: SchemaReader, schema: Schema, old: Json, nullable: bool, required: bool
) -> tuple[Kind, tuple[Json, ...]]:
    """How the argument is asked for: the simplest input that can hold the present value exactly."""
    options = reader.options(schema)
    if isinstance(old, bool) and not options and "boolean" in _types(schema):
        options = (True, False)
    if options:
        extra = ([None] if nullable and None not in options else []) + ([] if required else [ABSENT])
        choices = (*options, *extra)
        if len(choices) <= MOST_OPTIONS and (old is ABSENT or _index_of(old, choices) >= 0):
            return Kind.CHOICE, choices
    blank, fits = old is ABSENT or (nullable and old is None), not _is_too_long(old)
    allowed = _types(schema)
    if "string" in allowed and fits and (_plain_text(old) or (blank and allowed <= SCALARS)):
        return Kind.TEXT, ()
    if allowed & NUMBERS and (_plain_number(old) or (blank and allowed <= NUMBERS)):
        return Kind.NUMBER, ()
    if "array" in allowed and (isinstance(old, list) or (blank and allowed == {"array"})):
        named = reader.options(items) if isinstance(items := schema.get("items"), dict) else ()
        if 0 < len(named) <= MOST_OPTIONS and _can_be_picked([] if blank else old, named):
            return Kind.SEVERAL, named
        return _kind_of_list(schema, [] if blank else old) if fits else Kind.JSON, ()
    return Kind.JSON, ()


def _can_be_picked(items: list[Json], named: Sequence[Json]) -> bool:
    """Whether each of a list's items is another one of the named values, in their order: a menu keeps no order. None of
    those is a list or object, which may take long to be compared."""
    if len(items) > len(named) or not all(isinstance(one, PLAIN) for one in named):
        return False
    found = places(items, named)
    return found == sorted({place for place in found if place >= 0})


def places(items: Sequence[Json], named: Sequence[Json]) -> list[int]:
    """Where each item stands among the named values; -1 for one that does not."""
    known = {spelled(one): i for i, one in reversed([*enumerate(named)])}
    return [known.get(spelled(item), -1) for item in items]


def _kind_of_list(schema: Schema, old: list[Json]) -> Kind:
    """A list has a line for each item where all are texts, or all are numbers."""
    if "prefixItems" in schema:
        return Kind.JSON
    allowed = _types(schema.get("items", {}))
    if "string" in allowed and _plain_lines(old) and (old or allowed == {"string"}):
        return Kind.LINES
    if allowed & NUMBERS and all(map(_plain_number, old)) and (old or allowed <= NUMBERS):
        return Kind.NUMBERS
    return Kind.JSON


def _types(schema: Json) -> frozenset[str]:
    """The types of JSON that it allows, as far as it says so in a plain way; none otherwise."""
    if not isinstance(schema, dict):
        return ANY
    ways = union(schema)
    if isinstance(schema.get("type"), str | list):
        return _named_types(schema)
    if ways and all(isinstance(way, dict) and "type" in way for way in ways):
        return frozenset[str]().union(*map(_named_types, ways))
    return frozenset() if ways or _is_intricate(schema) else ANY


def _named_types(schema: Schema) -> frozenset[str]:
    wanted = schema.get("type")
    listed = wanted[:MOST_TYPES] if isinstance(wanted, list) else [wanted]
    return frozenset(one for one in listed if isinstance(one, str))


def _has_names(schema: Schema, old: Json, nullable: bool) -> bool:
    """Whether it is an object of which people can fill in each value by itself."""
    properties = schema.get("properties", {})
    if "object" not in _types(schema) or _is_intricate(schema) or not isinstance(properties, dict):
        return False
    if isinstance(old, Mapping):
        return bool(old or properties)
    blank = old is ABSENT or (nullable and old is None)
    return blank and schema.get("type") == "object" and bool(properties)


def _is_intricate(schema: Schema) -> bool:
    """Whether it says more than types and names."""
    return not schema.keys().isdisjoint(("enum", "const", "anyOf", "oneOf", "allOf", "not", "if"))


def _labels(schema: Schema, kind: Kind, choices: tuple[Json, ...]) -> tuple[str, ...]:
    """The titles of its choices; "" for one that has none."""
    try:
        known = labels(schema["items"] if kind is Kind.SEVERAL else schema)
    except NoForm:
        known = {}
    return tuple(known.get(one, "") if isinstance(one, str) else "" for one in choices)


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: True is not 1, and 1.0 is not 1."""
    if one is ABSENT or other is ABSENT or isinstance(one, PLAIN) is not isinstance(other, PLAIN):
        return one is other
    return spelled(one) == spelled(other)


def spelled(value: Json) -> str:
    """By which values are compared."""
    return f'"{value}' if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _index_of(value: Json, choices: Sequence[Json]) -> int:
    """Where a value stands among choices, by what is the same; -1 where it does not. It may take long to be spelled,
    so it is only once."""
    if value is ABSENT:
        return next((i for i, one in enumerate(choices) if one is ABSENT), -1)
    is_plain, said = isinstance(value, PLAIN), spelled(value)
    alike = ((i, one) for i, one in enumerate(choices) if isinstance(one, PLAIN) is is_plain)
    return next((i for i, one in alike if one is not ABSENT and spelled(one) == said), -1)


def _plain_text(value: Json) -> bool:
    """Whether an input can hold it and people can see all of it."""
    return isinstance(value, str) and visible(value) == value


def _plain_number(value: Json) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and NUMBER.fullmatch(json.dumps(value)) is not None


def _plain_lines(items: list[Json]) -> bool:
    return all(_plain_text(item) and item.strip() and "\n" not in item for item in items)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _is_long(name: str, schema: Schema, old: Json) -> bool:
    long_now = isinstance(old, str) and ("\n" in old or len(old) > 100)
    most = schema.get("maxLength")
    long_allowed = isinstance(most, int) and most > 200
    return long_now or long_allowed or schema.get("format") == "text" or bool(LONG_NAMES.search(name))


def _shown(kind: Kind, old: Json, choices: tuple[Json, ...]) -> str:
    if kind is Kind.CHOICE:
        index = _index_of(old, choices)
        return str(index) if index >= 0 else ""
    if kind is Kind.SEVERAL:
        return ",".join(map(str, places(old if isinstance(old, list) else [], choices)))
    if old is ABSENT or (old is None and kind is not Kind.JSON):
        return ""
    if _is_too_long(old):
        return UNSHOWN
    if kind is Kind.TEXT:
        return str(old)
    if kind is Kind.LINES:
        return "\n".join(old)
    if kind is Kind.NUMBERS:
        return "\n".join(map(json.dumps, old))
    return json.dumps(old) if kind is Kind.NUMBER else json_text(old)


def _is_too_long(value: Json) -> bool:
    """Whether no input holds a value, in whatever form: by the least that its parts take, a sign between two and one
    for each that is no text. Looks at no more of it than that takes."""
    left, room = [value], MOST_TEXT + 1
    while left and room >= 0:
        one = left.pop()
        if isinstance(one, list | dict):
            room -= len(one)
            left += (one.values() if isinstance(one, dict) else one) if room >= 0 else ()
        else:
            room -= len(one) if isinstance(one, str) else 1
    return room < 0


def json_text(value: Json) -> str:
    """JSON that an input can hold and people can see: invisible characters stay escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return text if visible(text) == text else json.dumps(value, ensure_ascii=True, indent=2)
