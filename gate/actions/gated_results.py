"""Results of searches without what the policy keeps from being read at once, unless a person has confirmed that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gate.actions.file_checks import (
    asked_gated,
    found_gated,
    in_slices,
    matching,
    named_gated,
    rules_beyond,
    told_gated,
)
from gate.arguments.declared_targets import Targets
from gate.arguments.identifiers import fold
from gate.rules.action import Json
from gate.rules.asked_names import names_asked, not_asked_by_word, not_asked_for
from gate.rules.gated_files import Gated, Readers, TooManyFiles, file_readers, holder_readers, is_only_private
from gate.rules.policy import matching_rules
from gate.rules.ports import World
from gate.rules.result_targets import found_in_answer, told_files, told_folders
from gate.rules.reviews import Phase
from gate.rules.templates import TemplateError
from gate.rules.tool import Answer, ToolSpec

TOO_MANY_FILES = (
    "This is about more files, or files of odder names, than can be checked for those that the policy keeps from being "
    "read at once, so nothing of it is given. Ask for less at a time."
)
UNCHECKED = (
    "This is too long, or not of the form, to be checked for files that the policy keeps from being read at once, so "
    "nothing of it is given. Ask for less at a time."
)
GATED_FILE = (
    "This holds what is in {path}, which the rule “{rule}” of the policy keeps from being read at once, so nothing of "
    "it is given. Ask for that file by its name, or look in another folder or for other names."
)

GATED_NAME = (
    "This holds what is in {path}, which the rule “{rule}” of the policy keeps from being read at once, so nothing of "
    "it is given. Ask for {path} by its name, or for something else."
)
GATED_WORDS = (
    "This holds words that the rule “{rule}” of the policy keeps from being read at once, so nothing of it is given. "
    "Ask for something else."
)
REVIEWED = (
    "What was said of that is told to nobody: it may quote what this gives, and that is to be reviewed first."
)
GATED_FOLDER = (
    "This tells of files that the rule “{rule}” of the policy keeps from being looked at here at once, so nothing of "
    "it is given. Look in another folder, or for other names."
)


@dataclass(frozen=True, slots=True)
class MadeCall:
    """The call that a result is of. `is_confirmed`: a person has said yes to it. `is_private`: as it was decided, its
    result is for whoever asks alone."""

    spec: ToolSpec
    args: Mapping[str, Json]
    channel: str
    is_confirmed: bool = False
    is_private: bool = False
    names: tuple[str, ...] = ()  # those that a review may know it by besides its tool


async def without_gated_files(world: World, call: MadeCall, answer: Answer) -> Answer:
    """The answer; a sentence in its place where it holds what is in a file that the policy keeps from being read at
    once, which was found below a folder or in an index. What a person has confirmed gives the files that its arguments
    ask for by their names, under the rules that are about it. A failure that says what its tool read is held against
    the rules as a result is: that it failed may tell of what is there. One of a tool whose results are reviewed is told
    without what was said of it, which nobody reviews and may quote them, as SQLite's errors do."""
    if refusal := await _refusal(world, call, answer):
        return Answer(refusal, is_error=True)
    if answer.is_error and world.policy.review(Phase.AFTER, call.spec.full_name, call.names):
        return Answer(f"It failed. {REVIEWED}", is_error=True)
    return answer


async def _refusal(world: World, call: MadeCall, answer: Answer) -> str:
    """Why an answer is not given; "" where it may be."""
    targets = call.spec.recipe.targets
    if not targets or (answer.is_error and not isinstance(answer.structured, dict)):
        return ""
    if not answer.is_error and (refusal := await _told_too_much(world, call, targets, answer)):
        return refusal
    if not (targets.found or targets.found_in or targets.words):
        return ""
    try:
        paths = found_in_answer(targets, call.args, answer)
    except TemplateError:
        return UNCHECKED
    try:
        gated = await found_gated(world, call.spec, call.args, paths, call.channel)
        if gated and call.is_confirmed:
            gated = await _not_confirmed(world, call, targets, gated)
        gated += await _under_names(world, call, paths, answer)
    except TooManyFiles:
        return TOO_MANY_FILES
    if call.is_private:
        gated = _not_for_one_alone(world, call, gated)
    if not gated:
        return ""
    path, rule = gated[0]
    named = GATED_NAME if path or targets.found_in else GATED_WORDS
    said = GATED_FILE if path in paths else named
    return said.format(path=path or "an entry without a name", rule=rule.name)


def _may_lie_in_gated(world: World, call: MadeCall) -> bool:
    """Whether rules may keep something that the content of an answer lies in, which is not named."""
    readers = holder_readers(file_readers(call.spec, world.tools.specs(), call.args))
    rules = rules_beyond(world, call.spec, call.args, call.channel).rules
    return any(rule.names(one.full_name) for rule in rules for one in readers)


async def _not_confirmed(
    world: World, call: MadeCall, targets: Targets, gated: Sequence[Gated]
) -> list[Gated]:
    """Those that a person's yes to this call was not about: their rule does not hold for the call, so whoever said yes
    is not who that rule asks, or the arguments do not ask for them."""
    about = _confirmed_rules(world, call)
    asked = await asked_gated(world, call.spec, call.args, names_asked(call.args, targets), call.channel)
    beyond = [one for one in gated if id(one[1]) not in about]
    within = [one for one in gated if id(one[1]) in about]
    return beyond + await in_slices(world, not_asked_for(asked, within))


def _confirmed_rules(world: World, call: MadeCall) -> set[int]:
    """The rules that the yes to a call was given under."""
    about = matching_rules(world.policy, call.spec, call.args, matching(world))
    return {id(rule) for rule in about if not rule.deny}


async def _under_names(world: World, call: MadeCall, found: Sequence[str], answer: Answer) -> list[Gated]:
    """What the answer says by itself that its content lies in, where the policy keeps that; not what a person has
    confirmed under the same rule, with its name in the arguments or beside such a name. `found`: its files."""
    readers = file_readers(call.spec, world.tools.specs(), call.args, found)
    gated = await named_gated(world, readers, answer.structured, call.channel)
    if not (gated and call.is_confirmed):
        return gated
    targets = call.spec.recipe.targets or Targets()
    about = _confirmed_rules(world, call)
    beyond = frozenset(await in_slices(world, not_asked_by_word(targets, answer.structured, call.args)))
    return [one for one in gated if id(one[1]) not in about or fold(one[0]) in beyond]


def _not_for_one_alone(world: World, call: MadeCall, gated: Sequence[Gated]) -> list[Gated]:
    """Those whose rule does more than to give the answer of this very call to whoever asks alone, as it is given: the
    rule may have been loaded since the call was decided."""
    rules = {id(rule): rule for _, rule in gated}
    alone = replace(world.policy, rules=tuple(rules.values()))
    about = matching_rules(alone, call.spec, call.args, matching(world))
    given = {id(rule) for rule in about if is_only_private(rule, call.spec, call.channel)}
    return [(path, rule) for path, rule in gated if id(rule) not in given]


async def _told_too_much(world: World, call: MadeCall, targets: Targets, answer: Answer) -> str:
    """Why an answer is not given that lists what is in a folder, tells of the content of files without giving it, or is
    too long to name what its content lies in; "" where it may be. It names none of them."""
    if (
        (targets.found_in or targets.words)
        and not isinstance(answer.structured, dict)
        and _may_lie_in_gated(world, call)
    ):
        return UNCHECKED
    if not (targets.told or targets.listed):
        return ""
    policy = rules_beyond(world, call.spec, call.args, call.channel)
    if not policy.rules:
        return ""
    if answer.clipped or not isinstance(answer.structured, dict):
        return UNCHECKED
    readers = file_readers(call.spec, world.tools.specs(), call.args)
    files = told_files(targets, answer.structured)
    folders = told_folders(targets, call.args, answer.structured)
    try:
        gated = await told_gated(world, policy, readers, files, call.channel)
        gated += await told_gated(world, policy, Readers([call.spec], call.args), folders, call.channel)
    except TooManyFiles:
        return TOO_MANY_FILES
    return GATED_FOLDER.format(rule=gated[0][1].name) if gated else ""
