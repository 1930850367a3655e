"""The texts among the arguments of a call that name what it touches, and the same arguments with other texts there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gate.arguments.declared_targets import Targets
from gate.arguments.json_texts import parsed
from gate.arguments.text_forms import (
    Forms,
    other_variants,
    path_variants,
    text_variants,
)
from gate.rules.action import Json

# Arguments that hold words, where a tool does not declare its targets.
PROSE = frozenset(
    "answer body comment content contents description keywords message messages prompt q query question reason search "
    "sql summary task text thought title topic".split()
)


def touched(targets: Targets | None, args: Mapping[str, Json]) -> tuple[str, ...]:
    """The paths that a call is really about, as the reads have told; else those that its arguments declare."""
    if targets is None:
        return ()
    only = Targets(paths=targets.paths, looks=targets.looks)
    return targets.resolved_to or tuple(text for text, _ in target_texts(only, args))


def judged_texts(targets: Targets | None, args: Mapping[str, Json]) -> tuple[str, ...]:
    """Those among the arguments that rules are held against in all of their forms."""
    return tuple(text for text, _ in target_texts(targets, args))


def paths_and_holders(targets: Targets, args: Mapping[str, Json]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths that a call is about and the arguments that name what these lie in; none where reads name that."""
    return (touched(targets, args), targets.inside_by_path) if targets.inside_by_path else ((), ())


def target_texts(targets: Targets | None, args: Mapping[str, Json]) -> list[tuple[str, Forms]]:
    """Each target among the arguments, with what gives its other forms."""
    found: list[tuple[str, Forms]] = []
    for of, names in _kinds(targets):

        def note(text: str, of: Forms = of) -> str:
            found.append((text, of))
            return text

        with_named(args, names, note)
    return found


def with_targets(targets: Targets | None, args: Mapping[str, Json], change: Callable[[str], str]) -> Json:
    """The arguments with each target changed."""
    for _, names in _kinds(targets):
        args = with_named(args, names, change)
    return args


def _kinds(targets: Targets | None) -> tuple[tuple[Forms, tuple[str, ...] | None], ...]:
    """What the named arguments are; None in place of names: whatever is no prose."""
    if targets is None:
        return ((text_variants, None),)
    return (
        (path_variants, (*targets.paths, *targets.looks)),
        (other_variants, targets.addresses),
    )


def arguments_of(targets: Targets) -> set[str]:
    """The arguments that hold targets."""
    return {steps_to(name)[0] for _, names in _kinds(targets) for name in names or ()}


def with_named(
    args: Mapping[str, Json], names: tuple[str, ...] | None, change: Callable[[str], str]
) -> Mapping[str, Json]:
    """The arguments with the texts of these changed; None in place of names: with all that is no prose."""
    if names is None:
        return {change(key): _unless_prose(key, value, change) for key, value in args.items()}
    for name in names:
        args = _changed(args, steps_to(name), change)
    return args


def with_parsed_json(args: Mapping[str, Json]) -> Mapping[str, Json]:
    """The arguments with every text that is JSON, but for prose, in the form of what it says."""
    opened = {key: value if is_prose(key, value) else parsed(value) for key, value in args.items()}
    return args if opened == args else opened


def is_prose(key: str, value: Json) -> bool:
    """Whether an argument holds words. Only a text does: what is inside of an object or a list may be a path."""
    return key.lower() in PROSE and isinstance(value, str)


def _unless_prose(key: str, value: Json, change: Callable[[str], str]) -> Json:
    if is_prose(key, value):
        return value
    if key.lower() in PROSE:
        return _inside_prose(value, change)
    return _everywhere(value, change)


def _inside_prose(value: Json, change: Callable[[str], str]) -> Json:
    """Of what stands under a name for words, such as messages, the words are left out at any depth."""
    if isinstance(value, Mapping):
        return {change(k): v if is_prose(k, v) else _inside_prose(v, change) for k, v in value.items()}
    if isinstance(value, list):
        return [_inside_prose(item, change) for item in value]
    return change(value) if isinstance(value, str) else value


def steps_to(name: str) -> tuple[str, ...]:
    """The way to an argument as a recipe names it; `[]`: to each item of a list."""
    return tuple(name.replace("[]", ".[]").split("."))


def _changed(value: Json, steps: Sequence[str], change: Callable[[str], str]) -> Json:
    """The value with the texts at this place changed; a list at its end is changed item by item."""
    if not steps:
        if isinstance(value, list):
            return [_changed(item, (), change) for item in value]
        return change(value) if isinstance(value, str) else value
    if steps[0] == "[]":
        return [_changed(item, steps[1:], change) for item in value] if isinstance(value, list) else value
    if isinstance(value, Mapping) and steps[0] in value:
        return {**value, steps[0]: _changed(value[steps[0]], steps[1:], change)}
    return value


def _everywhere(value: Json, change: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return change(value)
    if value is None or isinstance(value, (int, float)):  # of which there may be thousands
        return value
    if isinstance(value, Mapping):
        return {change(key): _everywhere(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_everywhere(item, change) for item in value]
    return value
