"""A recipe once the reads for a call were made: what they say that the call touches, by the names that rules use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gate.arguments.declared_targets import Targets, with_resolved_paths
from gate.rules.action import Json
from gate.rules.templates import TemplateError, Unreadable, expand, names
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


def reads_of_targets(recipe: Recipe) -> frozenset[str]:
    """The reads by which a recipe tells what a call touches, or what class it is: where one fails, nobody knows."""
    declared = recipe.targets or Targets()
    templates = (*declared.reported, *declared.reported_in, *declared.left_out, *recipe.reported_as.values())
    conditions = (one.when for one in recipe.raises)
    found = names([*templates, *conditions])
    return frozenset(path[1] for path in found if path[0] == "capture" and len(path) > 1)


def check_reads(recipe: Recipe, capture: Mapping[str, Json]) -> None:
    """Raises Unreadable where a read was answered with what cannot be taken apart for what the call touches. One that
    lacks it tells nothing, and rules hold for the arguments alone."""
    declared = recipe.targets or Targets()
    for template in (*declared.reported, *declared.reported_in):
        try:
            expand(template, {"capture": capture})
        except Unreadable:
            raise
        except TemplateError:
            continue


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
