"""Arguments that take a text or a list of texts: rules written for the one see the other as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.arguments.named_paths import TextsApart, names_of_paths
from gate.rules.action import Json
from gate.rules.tool import ToolSpec

BOTH = frozenset({"string", "array"})  # types of JSON Schema


def names_of_both(schema: Mapping[str, Json]) -> tuple[str, ...]:
    """The arguments that a tool with this schema takes as a text and as a list."""
    properties = schema.get("properties")
    said = properties.items() if isinstance(properties, Mapping) else ()
    return tuple(name for name, one in said if BOTH.issubset(_types(one)))


def _types(schema: Json) -> Iterator[str]:
    if isinstance(schema, Mapping):
        said = schema.get("type")
        yield from (said,) if isinstance(said, str) else said or ()
        for one in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            yield from _types(one)


def texts_of_both(spec: ToolSpec, given: Sequence[Json]) -> Iterator[str]:
    """The texts that such arguments hold, alone or in a list."""
    names = names_of_both(spec.schema)
    for args in given if names else ():
        for name in names if isinstance(args, Mapping) else ():
            yield from _texts(args.get(name))


def in_other_form(
    spec: ToolSpec, given: Sequence[Json], paths: Sequence[str], apart: TextsApart, lists: bool
) -> Iterator[Json]:
    """The arguments with each text of such a list alone in its place; where `lists`, with a text as the only one of a
    list. Of an argument for paths also with each of these paths. `apart` leaves one of each kind of texts."""
    names, of_paths = names_of_both(spec.schema), names_of_paths(spec)
    for args in given if names else ():
        for name in names if isinstance(args, Mapping) else ():
            value = args.get(name)
            texts = apart.firsts(_texts(value))
            for text in dict.fromkeys((*texts, *(paths if texts and name in of_paths else ()))):
                if isinstance(value, list):
                    yield {**args, name: text}
                elif lists:
                    yield {**args, name: [text]}


def _texts(value: Json) -> Iterator[str]:
    return (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))
