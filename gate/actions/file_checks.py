"""Which files the policy keeps from being read at once, found out in slices between which other work has its turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import chain
from typing import TypeVar

from gate.actions.loop_time import own_turn, yield_loop
from gate.arguments.declared_targets import Targets
from gate.rules.action import Json
from gate.rules.gated_files import (
    Gated,
    Readers,
    file_readers,
    gated_files,
    gated_holders,
    gated_named_holders,
    gated_words,
)
from gate.rules.policy import Matches, Policy, matching_rules
from gate.rules.ports import World
from gate.rules.result_targets import found_holders
from gate.rules.tool import ToolSpec

SLICE = timedelta(seconds=0.02)  # of such work in one turn of the loop

_T = TypeVar("_T")


def matching(world: World) -> Matches:
    """A test whether a value may keep a schema."""

    def matches(schema: Mapping[str, Json], value: Json) -> bool:
        return all(problem.unsure for problem in world.tools.problems(schema, value))

    return matches


async def found_gated(
    world: World, spec: ToolSpec, args: Mapping[str, Json], paths: Sequence[str], channel: str
) -> list[Gated]:
    """Those of these files that the policy keeps from being read at once, which the tool has found or has read when it
    was called with these arguments, each with each such rule. Raises TooManyFiles where that cannot be told."""
    readers = file_readers(spec, world.tools.specs(), args)
    return await told_gated(world, world.policy, readers, paths, channel)


async def named_gated(world: World, readers: Readers, result: Json, channel: str) -> list[Gated]:
    """The same of what a result says by itself that its content lies in, and of entries whose words a rule is about."""
    targets = readers.tools[0].recipe.targets or Targets()
    names = found_holders(targets, result)
    if not (names or targets.words):
        return []
    words = gated_words(world.policy, readers, result, channel)
    holders = gated_named_holders(_of_names(world.policy, targets), readers, names, channel, matching(world))
    return await in_slices(world, chain(words, holders))


def _of_names(policy: Policy, targets: Targets) -> Policy:
    """The policy with those rules that are held against the names in a result; the others against all of its words."""
    return replace(
        policy, rules=tuple(rule for rule in policy.rules if rule.schema is not None or not targets.words)
    )


async def asked_gated(
    world: World, spec: ToolSpec, args: Mapping[str, Json], names: Sequence[str], channel: str
) -> list[Gated]:
    """The same of names that the arguments ask for, each of which may be that of what files lie in."""
    folders = [f"{name}/" for name in names]
    inside = gated_holders(world.policy, Readers([spec], args), folders, channel, matching(world))
    return [*await found_gated(world, spec, args, names, channel), *await in_slices(world, inside)]


def rules_beyond(world: World, spec: ToolSpec, args: Mapping[str, Json], channel: str) -> Policy:
    """The policy with those rules alone that keep files from whoever looks at their folder, and that do not hold for
    this call anyway: by the rules of now, which may be others than those that it was decided by. A secret file may be
    told of, as long as its content is not."""
    looks = (replace(rule, reads=False) for rule in world.policy.rules)
    strict = replace(world.policy, rules=tuple(rule for rule in looks if rule.keeps_from_reading(channel)))
    anyway = matching_rules(strict, spec, args, matching(world))
    return replace(strict, rules=tuple(rule for rule in strict.rules if rule not in anyway))


async def told_gated(
    world: World, policy: Policy, readers: Readers, paths: Sequence[str], channel: str
) -> list[Gated]:
    """Those of these files and folders, and of what they lie in, that this policy keeps from being looked at once by
    some of the readers, each with each such rule. Raises TooManyFiles where that cannot be told."""
    asked = (policy, readers, paths, channel, matching(world))
    return await in_slices(world, chain(gated_files(*asked), gated_holders(*asked)))


async def in_slices(world: World, work: Iterable[_T | None]) -> list[_T]:
    """What this work gives, other than None. Other work has its turn after each slice of it, also where much of this
    kind is under way, of which each person has one slice after the other, and none while they have used up their share
    of the loop's time."""
    found, left, ended = list[_T](), iter(work), False
    while not ended:
        async with own_turn(world), world.judging.slice:  # held until the next turn
            begun, ended = world.clock.now(), True
            for one in left:
                if one is not None:
                    found.append(one)
                if abs(world.clock.now() - begun) > SLICE:
                    ended = False
                    break
            await yield_loop(world)
    return found
