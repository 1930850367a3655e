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
    )


def _told(recipe: Recipe, capture: Mapping[str, Json]) -> Iterator[tuple[str, Json]]:
    """What the reads tell by the name of an argument; nothing of what one lacks, as a fork that was deleted."""
    for name, template in recipe.reported_as.items():
        try:
            yield name, expand(template, {"capture": capture})
        except TemplateError:
            continue
