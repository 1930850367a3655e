"""Arguments that stand deeper in a call than in others of its server's tools, at the place where those have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.arguments.identifiers import opened
from gate.arguments.target_texts import steps_to
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
    yield from (form for one in made if (form := {**args, **dict(_beside(args, one))}) != args)


def _beside(args: Mapping[str, Json], found: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """What was found, an object with what the arguments have in the one of that name."""
    for name, value in found.items():
        given = opened(args.get(name)) if isinstance(value, Mapping) else None
        yield name, {**given, **value} if isinstance(given, Mapping) and isinstance(value, Mapping) else value


def _found(args: Mapping[str, Json], place: str) -> Mapping[str, Json]:
    """What stands at a place of the arguments by the names that it has elsewhere."""
    way, _, name = place.partition("=")
    value: Json = args
    for step in steps_to(way):
        value = opened(value)
        value = value.get(step) if isinstance(value, Mapping) else None
    if name:
        return {} if value is None else _at(steps_to(name), value)
    return value if isinstance(value, Mapping) else {}


def _at(steps: Sequence[str], value: Json) -> dict[str, Json]:
    """Arguments with this value alone, at the end of these steps."""
    return {steps[0]: _at(steps[1:], value) if steps[1:] else value}
