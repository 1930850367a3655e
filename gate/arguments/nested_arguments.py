"""Arguments that stand deeper in a call than in others of its server's tools, at the place where those have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.arguments.canonical_targets import steps_to
from gate.arguments.identifiers import opened
from gate.rules.action import Json


def with_nested_arguments(places: Sequence[str], args: Json) -> Iterator[Json]:
    """The arguments with what their recipe declares as `nested` beside the others; none where there is none. Of several
    that have one place each is in other arguments. What an argument of the same name says is replaced, so the given
    ones are to be judged as well."""
    if not isinstance(args, Mapping):
        return
    made: list[dict[str, Json]] = []
    for place in places:
        found = _found(args, place)
        free = next((one for one in made if one.keys().isdisjoint(found)), None)
        if free is not None:
            free.update(found)
        elif found:
            made.append({**(made[0] if made else {}), **found})
    yield from (form for one in made if (form := {**args, **one}) != args)


def _found(args: Mapping[str, Json], place: str) -> Mapping[str, Json]:
    """What stands at a place of the arguments by the names that it has elsewhere."""
    way, _, name = place.partition("=")
    value: Json = args
    for step in steps_to(way):
        value = opened(value)
        value = value.get(step) if isinstance(value, Mapping) else None
    if name:
        return {} if value is None else {name: value}
    return value if isinstance(value, Mapping) else {}
