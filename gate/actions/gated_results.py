"""Results of searches without what the policy keeps from being read at once, unless a person has confirmed that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gate.actions.file_checks import found_gated, in_slices
from gate.rules.action import Json
from gate.rules.gated_files import TooManyFiles, found_files, names_asked, not_asked_for
from gate.rules.ports import World
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


@dataclass(frozen=True, slots=True)
class MadeCall:
    """The call that a result is of. `is_confirmed`: a person has said yes to it."""

    spec: ToolSpec
    args: Mapping[str, Json]
    channel: str
    is_confirmed: bool = False


async def without_gated_files(world: World, call: MadeCall, answer: Answer) -> Answer:
    """The answer; a sentence in its place where it holds what is in a file that the policy keeps from being read at
    once, which was found below a folder or in an index. What a person has confirmed gives the files that its arguments
    ask for by their names."""
    targets = call.spec.recipe.targets
    if not targets or not targets.found or answer.is_error:
        return answer
    try:
        paths = found_files(targets, call.args, answer.structured, answer.text)
    except TemplateError:
        return Answer(UNCHECKED, is_error=True)
    try:
        gated = await found_gated(world, call.spec, paths, call.channel)
        if gated and call.is_confirmed:
            names = names_asked(call.args, targets)
            asked = dict.fromkeys(
                name for name, _ in await found_gated(world, call.spec, names, call.channel)
            )
            gated = await in_slices(world.clock, not_asked_for([*asked], gated))
    except TooManyFiles:
        return Answer(TOO_MANY_FILES, is_error=True)
    if not gated:
        return answer
    path, rule = gated[0]
    return Answer(GATED_FILE.format(path=path, rule=rule.name), is_error=True)
