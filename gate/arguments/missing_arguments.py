"""Schemas that are held against arguments some of which are missing, and may have any value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from urllib.parse import unquote

from gate.arguments.inside_work import says_of
from gate.rules.action import Json

JOINED, CHOICES = frozenset({"allOf", "anyOf"}), ("anyOf", "oneOf")
# Keywords about the same value that are said by those two; a reference that is left may be to anything
JOINABLE = frozenset({"$ref", "oneOf", "if", "then", "else", "dependentSchemas", "dependentRequired"})
REFERENCES = ("$ref", "$dynamicRef")
# Of one schema that are looked into, and references that lead from one to the next; what is more stays as it is
MOST_PARTS, MOST_IN_A_ROW = 1_000, 20


def without_missing(schema: Json, paths: Collection[str], missing: Collection[str]) -> Json:
    """The schema without what it requires of missing arguments where it asks for one with a path, or stands beside what
    does: they may have any value. What it says by references, `oneOf`, `if` and the like counts, too."""
    return _without(_Joined(schema, missing).form(schema), paths, missing, False)


def _without(schema: Json, paths: Collection[str], missing: Collection[str], asked: bool) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    asked = asked or _asks(schema, paths)
    made = {
        key: [_without(one, paths, missing, asked) for one in value] if key in JOINED else value
        for key, value in schema.items()
    }
    if asked and "required" in schema:
        made["required"] = [name for name in schema["required"] if name not in missing]
    return made


def _asks(schema: Json, paths: Collection[str]) -> bool:
    """Whether a schema asks for one of these arguments, or says something of one, in all of its parts that must hold,
    and in each way in which it may."""
    if not isinstance(schema, Mapping):
        return False
    if any(name in paths for name in (*schema.get("required", ()), *schema.get("properties", ()))):
        return True
    ways = [[one for one in schema[key] if not _is_never(one)] for key in CHOICES if key in schema]
    return any(_asks(one, paths) for one in schema.get("allOf", ())) or any(
        some and all(_asks(one, paths) for one in some) for some in ways
    )


def _is_never(schema: Json) -> bool:
    """Whether a schema says that it holds for nothing."""
    return schema is False or (isinstance(schema, Mapping) and any(map(_is_never, schema.get("allOf", ()))))


class _Joined:
    """Says by `allOf` and `anyOf` what a schema says of arguments: it holds where the schema does for some values of
    the missing ones. What depends on these may turn out either way: each of `oneOf` alone, `then` and `else`, and what
    a `not` is around."""

    def __init__(self, root: Json, missing: Collection[str]) -> None:
        self.root, self.left = root, MOST_PARTS
        self.unknown, self.any_is_missing = (*missing, *REFERENCES), bool(missing)

    def form(self, schema: Json, within: tuple[str, ...] = ()) -> Json:
        """`within`: the references that have led here."""
        self.left -= 1
        if not isinstance(schema, Mapping) or self.left < 0:
            return schema
        made = {
            key: [self.form(one, within) for one in value] if key in JOINED else value
            for key, value in schema.items()
            if key not in JOINABLE and not (self.any_is_missing and self._may_be_else(key, value))
        }
        parts = [*self._parts(schema, within)]
        return {**made, "allOf": [*made.get("allOf", ()), *parts]} if parts else made

    def _parts(self, schema: Mapping[str, Json], within: tuple[str, ...]) -> Iterator[Json]:
        """What the other keywords say."""
        if "$ref" in schema:
            yield self._referred(schema["$ref"], within)
        if "oneOf" in schema:
            some = [self.form(one, within) for one in schema["oneOf"]]
            yield {"anyOf" if any(map(self._is_open, some)) else "oneOf": some}
        if "if" in schema:
            yield self._either(schema, within)
        for name, names in schema.get("dependentRequired", {}).items():
            yield self._beside(name, {"required": names}, within)
        for name, one in schema.get("dependentSchemas", {}).items():
            yield self._beside(name, one, within)

    def _referred(self, reference: str, within: tuple[str, ...]) -> Json:
        found = at_pointer(self.root, reference)
        if found is None or reference in within or len(within) >= MOST_IN_A_ROW:
            return {"$ref": reference}
        return self.form(found, (*within, reference))

    def _either(self, schema: Mapping[str, Json], within: tuple[str, ...]) -> Json:
        given, then, other = (self.form(schema.get(key, {}), within) for key in ("if", "then", "else"))
        unless = [] if self._is_open(given) else [{"not": given}]
        return {"anyOf": [{"allOf": [given, then]}, {"allOf": [*unless, other]}]}

    def _beside(self, name: str, schema: Json, within: tuple[str, ...]) -> Json:
        there: Json = {"required": [name]}
        return {"anyOf": [{"not": there}, {"allOf": [there, self.form(schema, within)]}]}

    def _may_be_else(self, key: str, value: Json) -> bool:
        """Whether what a keyword says may not be so with other values of the missing arguments."""
        return key == "minProperties" or (key == "not" and self._is_open(value))

    def _is_open(self, schema: Json) -> bool:
        """Whether it may depend on what nobody knows."""
        return any(says_of(schema, name) for name in self.unknown)


def at_pointer(schema: Json, reference: str) -> Json:
    """What stands in a schema where a JSON pointer leads; None where nothing does, or it is none."""
    begin, *steps = unquote(reference).split("/")
    found = schema if begin == "#" else None
    for step in (one.replace("~1", "/").replace("~0", "~") for one in steps):
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, Mapping) else None
    return found
