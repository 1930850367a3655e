"""A recipe once the reads for a call were made: what they say that the call touches, by the names that rules use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gate.arguments.canonical_targets import with_resolved_paths
from gate.rules.action import Json
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import Recipe


def with_reads(recipe: Recipe, args: Mapping[str, Json], capture: Mapping[str, Json]) -> Recipe:
    """The recipe of a tool with what was read for a call of it."""
    return replace(
        recipe,
        targets=with_resolved_paths(recipe.targets, args, capture),
        resolved_as=dict(_told(recipe, capture)),
        raises=[
            replace(one, when="")
            for one in recipe.raises
            if not one.when or _may_hold(one.when, {"args": args, "capture": capture})
        ],
    )


def is_told(recipe: Recipe, args: Mapping[str, Json], capture: Mapping[str, Json]) -> bool:
    """Whether the reads have told all that the recipe says they tell of what a call touches."""
    found = with_reads(recipe, args, capture)
    paths = not (recipe.targets and recipe.targets.reported) or bool(found.targets and found.targets.reported)
    return paths and all(found.resolved_as.get(name) is not None for name in recipe.reported_as)


def _may_hold(condition: str, scope: Mapping[str, Json]) -> bool:
    """Whether it holds, or the reads do not tell."""
    try:
        return bool(expand(condition, scope))
    except TemplateError:
        return True


def _told(recipe: Recipe, capture: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """What the reads tell by the name of an argument; nothing of what one lacks, as a fork that was deleted."""
    for name, template in recipe.reported_as.items():
        try:
            yield name, expand(template, {"capture": capture})
        except TemplateError:
            continue
