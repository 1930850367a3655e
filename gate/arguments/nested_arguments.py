"""Arguments that stand deeper in a call than in others of its server's tools, at the place where those have them."""

from __future__ import annotations

from collections.abc import Mapping

from gate.arguments.canonical_targets import Targets, steps_to
from gate.rules.action import Json


def with_nested_arguments(targets: Targets | None, args: Json) -> Json:
    """The arguments with what their recipe declares as `nested` beside the others; `args` itself where there is none.
    What an argument of the same name says is replaced, so both forms are to be judged."""
    if targets is None or not isinstance(args, Mapping):
        return args
    made = dict(args)
    for place in targets.nested:
        way, _, name = place.partition("=")
        value = _at(args, way)
        if name and value is not None:
            made[name] = value
        elif isinstance(value, Mapping):
            made.update(value)
    return args if made == args else made


def _at(value: Json, way: str) -> Json:
    for step in steps_to(way):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
