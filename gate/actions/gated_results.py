"""Results of searches without what the policy keeps from being read at once, unless a person has confirmed that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gate.actions.preview import matching
from gate.rules.action import Json
from gate.rules.gated_files import asked_for, file_readers, found_files, gated_file, too_many_files
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


def without_gated_files(world: World, call: MadeCall, answer: Answer) -> Answer:
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
    if too_many_files(paths):
        return Answer(TOO_MANY_FILES, is_error=True)
    readers = file_readers(call.spec, world.tools.specs())

    def gated(*found: str) -> bool:
        return gated_file(world.policy, readers, found, call.channel, matching(world)) is not None

    given = asked_for(call.args, targets, paths, gated) if call.is_confirmed else ()
    left = [path for path in paths if path not in given]
    found = gated_file(world.policy, readers, left, call.channel, matching(world))
    if found is None:
        return answer
    path, rule = found
    return Answer(GATED_FILE.format(path=path, rule=rule.name), is_error=True)
