"""What the arguments of a call are where it leaves them out, as the schema of the tool says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gate.arguments.missing_arguments import at_pointer
from gate.rules.action import Json

MOST_LOOKS = 20_000  # parts of a schema that are looked at for one call: some 10 ms
MOST_IN_A_ROW = 20  # parts, each of which stands in the one before
MOST_LEFT_OUT = 3  # objects in each other that a call leaves out
MOST_DEFAULTS = 1_000  # values, and characters of them: all tools of a server are looked at in one go
PARTS = ("allOf", "anyOf", "oneOf")


class TooManyParts(Exception):
    """The schema has more parts beside these arguments than are looked at, or longer defaults."""


def with_defaults(schema: Mapping[str, Json], args: Mapping[str, Json]) -> Json:
    """The arguments with the `default` of each that is left out or null, at whatever depth, also where a reference
    within the schema, or one of several schemas, gives it. Raises TooManyParts."""
    return _Filling(schema).filled(schema, args, 0)


class _Filling:
    def __init__(self, root: Json) -> None:
        self._root, self._looks, self._room = root, MOST_LOOKS, MOST_DEFAULTS

    def filled(self, schema: Json, value: Json, left_out: int) -> Json:
        """The value; None where nothing is given and no default is. `left_out`: in how many objects that the call
        leaves out it stands."""
        parts = [*self._parts(schema)]
        if value is None:
            value = self._default(parts)
        if isinstance(value, Mapping):
            return self._object(parts, value, left_out)
        if isinstance(value, list) and (items := [one["items"] for one in parts if "items" in one]):
            return [self.filled({"allOf": items}, one, left_out) for one in value]
        if value is None and left_out < MOST_LEFT_OUT:
            return self._object(parts, {}, left_out + 1) or None
        return value

    def _default(self, parts: list[Mapping[str, Json]]) -> Json:
        found = next((one["default"] for one in parts if "default" in one), None)
        left = [] if found is None else [found]
        while left:
            one = left.pop()
            self._room -= 1 + (len(one) if isinstance(one, str) else 0)
            if self._room < 0:
                raise TooManyParts
            if isinstance(one, Mapping):
                left += [*one, *one.values()]
            elif isinstance(one, list):
                left += one
        return found

    def _object(self, parts: list[Mapping[str, Json]], value: Mapping[str, Json], left_out: int) -> Json:
        declared: dict[str, list[Json]] = {}
        for part in parts:
            properties = part.get("properties")
            for name, one in properties.items() if isinstance(properties, Mapping) else ():
                declared.setdefault(name, []).append(one)
        found = dict(value)
        for name, some in declared.items():
            one = self.filled({"allOf": some} if some[1:] else some[0], value.get(name), left_out)
            if one is not None:
                found[name] = one
        return found

    def _parts(self, schema: Json, level: int = 0) -> Iterator[Mapping[str, Json]]:
        """A schema, and each that it refers to or joins."""
        self._looks -= 1
        if self._looks < 0:
            raise TooManyParts
        if not isinstance(schema, Mapping) or level > MOST_IN_A_ROW:
            return
        yield schema
        if isinstance(reference := schema.get("$ref"), str):
            yield from self._parts(at_pointer(self._root, reference), level + 1)
        for some in (schema.get(key) for key in PARTS):
            for one in some if isinstance(some, list) else ():
                yield from self._parts(one, level + 1)
