"""What the parts of a tool's JSON Schema allow, read for a form.

A small schema can stand for very much by references. So a reader remembers where they lead, copies nothing that a form
does not look at, and counts its work: at a bound, the form is given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from gate.rules.action import Json

Schema = Mapping[str, Json]

MOST_OPTIONS = 100
MOST_REFERENCES = 8  # that lead one to the next
MOST_TYPES = 7  # of JSON
MOST_WORK = 60_000  # of one form
TEXT = 32  # characters that are as much work as one value
UNIONS = ("anyOf", "oneOf")
# The keywords that a form looks at; there may be thousands of others.
READ = (
    *("$ref", "type", "enum", "enumNames", "const", "allOf", *UNIONS, "not", "if", "properties", "required"),
    *("items", "prefixItems", "title", "description", "format", "maxLength"),
)


class TooMuchWork(Exception):
    """A form stands for more than is read."""


class SchemaReader:
    """Reads the parts of one schema, within MOST_WORK."""

    def __init__(self, root: Schema) -> None:
        self.work = 0
        self._root = root
        self._targets: dict[str, Json] = {}
        self._shapes: dict[str, tuple[Schema, bool]] = {}

    def count(self, work: int) -> None:
        """Raises TooMuchWork."""
        self.work += work
        if self.work > MOST_WORK:
            raise TooMuchWork

    def shape(self, declared: Json) -> tuple[Schema, bool]:
        """What is behind a schema, with what a form looks at alone and without null, and whether null was in."""
        reference = declared.get("$ref") if isinstance(declared, dict) else None
        if not isinstance(reference, str):
            return self._shape(declared)
        if reference not in self._shapes:
            self._shapes[reference] = self._shape(declared)
        return self._shapes[reference]

    def _shape(self, declared: Json) -> tuple[Schema, bool]:
        schema, nullable = self._without_null(_read(self._resolved(declared)))
        if isinstance(schema.get("items"), dict):
            schema = {**schema, "items": self._resolved(schema["items"])}
        return _read(schema), nullable

    def _resolved(self, schema: Json) -> Schema:
        """The schema behind local references and wrappers of one; `true` and unknown references allow anything."""
        for _ in range(MOST_REFERENCES):  # a reference to itself ends here
            self.count(1)
            if not isinstance(schema, dict):
                return {}
            single = _listed(schema, "allOf")
            if "$ref" in schema:
                schema = self._pointed(schema["$ref"])
            elif len(single) == 1 and isinstance(single[0], dict):
                schema = {**_read(schema, but="allOf"), **_read(single[0])}
            else:
                return schema
        return {}

    def _pointed(self, reference: Json) -> Json:
        # Not one to an anchor, or one whose names the validator would decode: the form asks for what is checked.
        if not isinstance(reference, str) or "%" in reference or not f"{reference}/".startswith("#/"):
            return {}
        if reference not in self._targets:
            at: Json = self._root
            steps = reference[1:].split("/")[1:]
            self.count(len(steps))
            for step in steps:
                at = at.get(step.replace("~1", "/").replace("~0", "~"), {}) if isinstance(at, dict) else {}
            self._targets[reference] = at
        return self._targets[reference]

    def _without_null(self, schema: Schema) -> tuple[Schema, bool]:
        """What is left of a schema when null is taken out, and whether it was in."""
        types = schema.get("type")
        if isinstance(types, list):
            self.count(len(types))
            rest = [t for t in types if t != "null"]
            return {**schema, "type": rest[0] if len(rest) == 1 else rest}, "null" in types
        for key in UNIONS:
            declared = _listed(schema, key)
            if len(declared) > MOST_OPTIONS + 1:  # with null
                return schema, False
            ways = [self._resolved(way) for way in declared]
            others = [way for way in ways if way.get("type") != "null"]
            if len(others) == 1:
                return {**_read(schema, but=key), **_read(others[0])}, len(ways) > 1
            if ways:
                return {**schema, key: others}, len(others) < len(ways)
        return schema, False

    def options(self, schema: Schema) -> tuple[Json, ...]:
        """The values of an enum, a const, a union of consts, or a boolean; none when it is anything else. At most
        MOST_OPTIONS and one more."""
        self.count(1 + 4 * len(union(schema)))  # they are gone through as often for one field
        found = tuple(islice(self._options(schema), MOST_OPTIONS + 1))
        self.count(extent(found))
        return found

    def _options(self, schema: Schema) -> Iterator[Json]:
        self.count(1)
        if isinstance(schema.get("enum"), list):
            yield from schema["enum"]
        elif "const" in schema:
            yield schema["const"]
        elif schema.get("type") == "boolean":
            yield from (True, False)
        else:
            unions = (_listed(schema, key) for key in UNIONS)
            for way in next(filter(_are_options, unions), ()):
                yield from self._options(way)


def union(schema: Schema) -> list[Json]:
    """All ways in which a value may be right."""
    return [way for key in UNIONS for way in _listed(schema, key)]


def extent(values: Iterable[Json]) -> int:
    """How much work it is to write values out: one for each, for what is in it, and for each TEXT characters."""
    rest, found = list(values), 0
    while rest:
        one = rest.pop()
        found += 1
        if isinstance(one, str):
            found += len(one) // TEXT
        elif isinstance(one, int):
            found += one.bit_length() // TEXT
        elif isinstance(one, dict):
            rest += [*one, *one.values()]
        elif isinstance(one, list):
            rest += one
    return found


def _are_options(ways: list[Json]) -> bool:
    return bool(ways) and all(isinstance(way, dict) and ("const" in way or "enum" in way) for way in ways)


def _read(schema: Schema, but: str = "") -> dict[str, Json]:
    return {key: schema[key] for key in READ if key in schema and key != but}


def _listed(schema: Schema, key: str) -> list[Json]:
    found = schema.get(key)
    return found if isinstance(found, list) else []
