"""Arguments that are left out of a call, with what reads say that stands in their place: a draft has a subject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gate.rules.action import Json
from gate.rules.templates import expand


def told_of_left_out(templates: Sequence[str], capture: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """Each argument of such templates, as `subject={capture.plan.subject}`, and what the reads say of it, where that is
    not null. Raises TemplateError."""
    for one in templates:
        name, _, template = one.partition("=")
        if (told := expand(template, {"capture": capture})) is not None:
            yield name, told


def with_left_out(told: Sequence[tuple[str, Json]], args: Json) -> Json:
    """The arguments with what was told of those that are left out; `args` itself where none is."""
    if not isinstance(args, Mapping):
        return args
    missing = {name: value for name, value in told if args.get(name) is None}
    return {**args, **missing} if missing else args
