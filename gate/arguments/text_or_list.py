"""Arguments that take a text or a list of texts: rules written for the one see the other as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gate.arguments.missing_arguments import at_pointer
from gate.arguments.named_paths import TextsApart
from gate.rules.action import Json

BOTH = frozenset({"string", "array"})  # types of JSON Schema
TYPES: Mapping[type, str] = {str: "string", list: "array"}
# Parts of a tool's schema that are looked into for one call, and references in a row; what is more may be of any type
MOST_PARTS, MOST_IN_A_ROW = 1_000, 20


def names_of_both(schema: Mapping[str, Json], given: Sequence[Json]) -> tuple[str, ...]:
    """The arguments among those given that a tool with this schema may take as a text and as a list: also where it
    does not say."""
    properties = schema.get("properties")
    said = properties if isinstance(properties, Mapping) else {}
    names = dict.fromkeys(name for args in given if isinstance(args, Mapping) for name in args)
    types = _Types(schema)
    return tuple(name for name in names if types.of(said.get(name, True)) == BOTH)


class _Types:
    """Whether a part of a schema takes texts and lists. What cannot be told may be both."""

    def __init__(self, root: Json) -> None:
        self.root, self.left = root, MOST_PARTS

    def of(self, schema: Json, within: int = 0) -> frozenset[str]:
        self.left -= 1
        if schema is False:
            return frozenset()
        if not isinstance(schema, Mapping) or self.left < 0 or within > MOST_IN_A_ROW:
            return BOTH
        found = BOTH
        for some in self._alternatives(schema, within):
            found &= frozenset().union(*some)
        return found

    def _alternatives(self, schema: Mapping[str, Json], within: int) -> Iterator[Iterable[frozenset[str]]]:
        """What each keyword takes: one of these."""
        if isinstance(said := schema.get("type"), str | list):
            yield [
                frozenset([said] if isinstance(said, str) else (one for one in said if isinstance(one, str)))
            ]
        if "const" in schema or isinstance(schema.get("enum"), list):
            values = [schema["const"]] if "const" in schema else schema["enum"]
            yield [frozenset(filter(None, [TYPES.get(type(value))])) for value in values]
        if isinstance(reference := schema.get("$ref"), str):
            found = at_pointer(self.root, reference)
            yield [self.of(True if found is None else found, within + 1)]
        for key in ("anyOf", "oneOf"):
            if isinstance(parts := schema.get(key), list):
                yield [self.of(one, within + 1) for one in parts]
        for one in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
            yield [self.of(one, within + 1)]


def texts_of_both(names: Sequence[str], given: Sequence[Json]) -> Iterator[str]:
    """The texts that such arguments hold, alone or in a list."""
    for args in given if names else ():
        for name in names if isinstance(args, Mapping) else ():
            yield from _texts(args.get(name))


def other_values(
    names: Sequence[str], forms: Sequence[Json], apart: TextsApart, lists: bool
) -> Iterator[Mapping[str, Json]]:
    """Each text of such arguments alone, by its name; where `lists`, also as the only one of a list. `apart` leaves one
    of each kind of texts."""
    for name in names:
        for text in apart.firsts(dict.fromkeys(texts_of_both([name], forms))):
            yield {name: text}
            if lists:
                yield {name: [text]}


def in_other_form(
    of_paths: Sequence[str],
    names: Sequence[str],
    given: Sequence[Json],
    texts: tuple[TextsApart, Sequence[str]],
    lists: bool,
) -> Iterator[Json]:
    """The arguments with each text of such a list alone in its place; where `lists`, with a text as the only one of a
    list. Of an argument for paths also with each of the paths in `texts`, of which it leaves one of each kind."""
    apart, paths = texts
    for args in given if names else ():
        for name in names if isinstance(args, Mapping) else ():
            value = args.get(name)
            firsts = apart.firsts(_texts(value))
            for text in dict.fromkeys((*firsts, *(paths if firsts and name in of_paths else ()))):
                if isinstance(value, list):
                    yield {**args, name: text}
                elif lists:
                    yield {**args, name: [text]}


def in_other_shape(names: Sequence[str], given: Sequence[Json], lists: bool) -> Iterator[Mapping[str, Json]]:
    """The arguments with a text in the place of each such list, and where `lists` a list in that of each text: empty,
    for something else to be put there."""
    for args in given:
        for name in names if isinstance(args, Mapping) else ():
            if isinstance(args.get(name), list):
                yield {**args, name: ""}
            elif lists and isinstance(args.get(name), str):
                yield {**args, name: []}


def _texts(value: Json) -> Iterator[str]:
    return (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
