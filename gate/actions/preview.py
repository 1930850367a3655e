"""Look before asking: run the recipe's reads, bind what they found into the arguments, build the preview."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

from gate.actions.file_checks import found_gated, matching, named_gated
from gate.actions.loop_time import counted, own_turn, yield_loop
from gate.actions.sampling_records import not_sampling
from gate.arguments.canonical_paths import with_canonical_paths
from gate.arguments.named_paths import names_of_others, names_of_paths
from gate.rules.action import Decision, Json, Preview, Risk, Verdict
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.gated_files import TooManyFiles, file_readers, is_only_private
from gate.rules.policy import decide
from gate.rules.ports import World
from gate.rules.previews import (
    COVERED,
    build,
    build_covered,
    build_without_reads,
    covered_by_facts,
    failed_preview,
    text_of,
)
from gate.rules.resolved_recipes import check_reads, reads_of_targets, with_reads
from gate.rules.result_targets import found_in_answer
from gate.rules.reviews import Phase
from gate.rules.templates import TemplateError, expand, names
from gate.rules.tool import Answer, OutcomeUnknown, Read, ServerUnavailable, ToolSpec

READ_SECONDS = 10.0
MAX_EACH = 20  # reads of one kind for one card
NOT_QUOTED = (
    "a read failed, and what it said is not told, as it may quote what is kept from others: check the names that you "
    "gave"
)
NOT_SHOWN = "{server} cannot show what is there now. Try again in a moment, or ask your administrator"
NOT_ALLOWED = "I may not look at what is there now. Ask your administrator to check the rules for {server}"


@dataclass(frozen=True, slots=True)
class PreviewResult:
    """What a call would do, as far as reading can tell. `unseen`: why it cannot tell; with `preview.problem`, the
    same on a card, nothing may be confirmed. `private`: some of it was read for whoever asked alone. `decision`: what
    the policy says of it, where all could be read."""

    args: dict[str, Json]
    capture: Mapping[str, Json]
    preview: Preview
    unseen: str = ""
    private: bool = False
    decision: Decision | None = None


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What was read, by name. `private`: some of it is for whoever asked alone. `covered`: some of it is in a file that
    the policy keeps from being read at once, which no argument of the read has named, or is `reviewed`: given to
    nobody before a person has looked at it."""

    found: dict[str, Json]
    private: bool = False
    covered: bool = False
    reviewed: bool = False


class PreviewReadFailed(Exception):
    """A read that the preview needs did not work. Its text is a sentence for people, which quotes nothing private."""

    def __init__(self, text: str, private: bool = False) -> None:
        super().__init__(text)
        self.private = private


def policy_decision(
    world: World,
    spec: ToolSpec,
    args: Json,
    channel: str,
    capture: Mapping[str, Json] | None = None,
    asked: Risk | None = None,
) -> Decision:
    """The policy's decision on this call, as things stand now, on its declared paths in their canonical form.
    `capture`: what was read for it, once it was."""
    if isinstance(args, Mapping):
        args = with_canonical_paths(spec.recipe.targets, args)
    if capture is not None:
        recipe = with_reads(spec.recipe, args, capture)
        targets = recipe.targets
        if targets and targets.resolved_to and not names_of_paths(spec):
            targets = replace(targets, elsewhere=names_of_others(spec, world.tools.specs()))
        spec = replace(spec, recipe=replace(recipe, targets=targets))
    return decide(world.policy, spec, args, channel, matching(world), asked)


@counted
async def decision_in_turn(
    world: World, spec: ToolSpec, args: Json, channel: str, asked: Risk | None = None
) -> Decision:
    """The policy's decision on this call, once the person for whom it is made has a turn."""
    async with own_turn(world):
        return policy_decision(world, spec, args, channel, asked=asked)


async def make_preview(
    world: World,
    spec: ToolSpec,
    args: Mapping[str, Json],
    channel: str,
    before: Mapping[str, str] | None = None,
    decided: Decision | None = None,
) -> PreviewResult:
    """Settle, capture, bind and preview one call. What the target or the recipe does wrong, the preview says.
    `decided`: what this policy has said of these very arguments; it holds where the recipe adds nothing to them."""
    given = {k: v for k, v in args.items() if k not in spec.recipe.bind}
    asked = with_canonical_paths(spec.recipe.targets, given)
    bound, read = asked, ReadResult({})
    try:
        read = await run_capture(world, spec, bound, channel)
        capture = read.found
        bound = bound | _bind(spec, bound, capture)
        _validate_args(world, spec, bound)
        await yield_loop(world)
        decision = decided if decided and _adds_nothing(spec) else None
        decision = decision or policy_decision(world, spec, bound, channel, capture)
        await yield_loop(world)
        make = build_without_reads if read.reviewed else build_covered if read.covered else build
        shown = make(spec, bound, capture, before)
        if decision.secret:
            shown = covered_by_facts(shown)
            covered = (COVERED,) if read.covered and not read.reviewed else ()
            shown = replace(shown, notes=tuple(dict.fromkeys([*covered, *shown.notes])))
        return PreviewResult(bound, capture, shown, private=read.private, decision=decision)
    except (PreviewReadFailed, TemplateError, BadArguments) as error:
        failed = next((found["text"] for found in read.found.values() if found["error"]), str(error))
        own = policy_decision(world, spec, bound, channel, read.found)
        private = read.private or own.private or (isinstance(error, PreviewReadFailed) and error.private)
        said = NOT_QUOTED if private or own.secret or read.covered else failed
        bound = asked if read.private else bound
        shown = failed_preview(spec, bound, f"I could not look at what this would change: {said}")
        return PreviewResult(bound, {}, shown, said, private)


def _adds_nothing(spec: ToolSpec) -> bool:
    """Whether a call is judged the same before and after it is looked at: nothing is read, bound or reported for it."""
    recipe = spec.recipe
    return not (recipe.capture or recipe.bind or (recipe.targets and recipe.targets.reported))


def reads_in_private(world: World, spec: ToolSpec, args: Mapping[str, Json], channel: str) -> bool:
    """Whether a look at this call reads something private, as far as its arguments tell before anything is read."""
    given = {key: value for key, value in args.items() if key not in spec.recipe.bind}
    scope = {"args": with_canonical_paths(spec.recipe.targets, given), "capture": {}}
    return any(
        _reads_in_private(world, spec.server, read, scope, channel) for read in spec.recipe.capture.values()
    )


def _reads_in_private(world: World, server: str, read: Read, scope: Mapping[str, Json], channel: str) -> bool:
    spec = world.tools.find(server, read.tool)
    if spec is None:
        return False
    try:
        return policy_decision(world, spec, expand(read.args, scope), channel).private
    except TemplateError:  # it is given what another read finds
        return False


def may_turn_private(world: World, spec: ToolSpec, open_args: bool) -> bool:
    """Whether a rule may yet make a call private that is not so by what is known of it: because of what is read for it
    first, and, with `open_args`, of arguments that it is still to be given."""
    names = {f"{spec.server}.{read.tool}" for read in spec.recipe.capture.values()}
    names |= {spec.full_name} if open_args else set()
    return any(rule.private and any(map(rule.names, names)) for rule in world.policy.rules)


async def run_capture(world: World, spec: ToolSpec, args: Mapping[str, Json], channel: str) -> ReadResult:
    """The recipe's reads, each under its name: the structured result, with `text` and `error` beside it.

    Raises PreviewReadFailed or TemplateError.
    """
    found: dict[str, Json] = {}
    private = covered = reviewed = False
    decisive = reads_of_targets(spec.recipe)
    for name, read in spec.recipe.capture.items():
        run = run_each if read.each else run_read
        try:
            one = await run(world, spec.server, read, {"args": args, "capture": found}, channel)
        except (PreviewReadFailed, TemplateError) as error:
            if private or covered:  # it was given what is kept from others, and may quote it
                raise PreviewReadFailed(NOT_QUOTED, private) from error
            raise
        if one.found["error"] and not read.absent and name in decisive:
            raise PreviewReadFailed(
                NOT_QUOTED if one.covered else f"{spec.server} says: {one.found['text']}", one.private
            )
        found[name] = one.found
        private |= one.private
        covered |= one.covered
        reviewed |= one.reviewed
    check_reads(spec.recipe, found)
    return ReadResult(found, private, covered, reviewed)


async def run_each(
    world: World, server: str, read: Read, scope: Mapping[str, Json], channel: str
) -> ReadResult:
    """The read of a recipe for each that its pattern finds, and what was taken of each answer as `items`.

    Raises PreviewReadFailed, also where one of them cannot be looked up, or TemplateError.
    """
    each = read.each
    assert each is not None
    hits = re.finditer(each.find, text_of(expand(each.text, scope)))
    wanted = dict.fromkeys(next(filter(None, hit.groups()), hit[0]) for hit in hits)
    if len(wanted) > MAX_EACH:
        raise PreviewReadFailed(f"it names {len(wanted):,} things to look up, and {MAX_EACH} are the most")
    items: list[Json] = []
    private = covered = reviewed = False
    for one in wanted:
        answer = await run_read(world, server, read, {**scope, "each": one}, channel)
        private |= answer.private
        covered |= answer.covered
        reviewed |= answer.reviewed
        try:
            items.append(expand(each.take, {"read": answer.found}))
        except TemplateError:
            raise PreviewReadFailed(f"{server} does not know “{one}”", private) from None
    found: dict[str, Json] = {"text": ", ".join(map(text_of, items)), "error": False, "items": items}
    return ReadResult(found, private, covered, reviewed)


async def run_read(
    world: World, server: str, read: Read, scope: Mapping[str, Json], channel: str
) -> ReadResult:
    """One read call of a recipe; only what the policy calls a read runs, secret files included: what is in them is
    not put on the card, nor what a review wants looked at. Raises PreviewReadFailed or TemplateError."""
    spec = world.tools.find(server, read.tool)
    if spec is None:
        raise PreviewReadFailed(NOT_SHOWN.format(server=server))
    args = expand(read.args, scope)
    decision = policy_decision(world, spec, args, channel)
    if decision.verdict is Verdict.DENY or not decision.reads:
        raise PreviewReadFailed(NOT_ALLOWED.format(server=server))
    kept = decision.private or decision.secret
    reviewed = any(world.policy.review(phase, spec.full_name) for phase in Phase)
    try:
        with not_sampling() if kept or reviewed else nullcontext():
            answer = await _answer(world, spec, read, args)
    except PreviewReadFailed as error:
        raise PreviewReadFailed(NOT_QUOTED if kept or reviewed else str(error), decision.private) from error
    structured = answer.structured if isinstance(answer.structured, dict) else {}
    private, covered = await _kept_because_of_files(world, spec, args, channel, answer)
    said = NOT_QUOTED if (kept or reviewed or private or covered) and answer.is_error else answer.text
    found: dict[str, Json] = {"text": said, "error": answer.is_error, **structured}
    return ReadResult(found, decision.private or private, covered or reviewed, reviewed)


async def _kept_because_of_files(
    world: World, spec: ToolSpec, args: Mapping[str, Json], channel: str, answer: Answer
) -> tuple[bool, bool]:
    """Whether a read has given what is in a file that the policy has shown to whoever asked alone, and what is in one
    that it keeps from being read at once, or in some file that cannot be told."""
    targets = spec.recipe.targets
    if not targets or not (targets.found or targets.found_in or targets.words):
        return False, False
    if answer.is_error and not isinstance(answer.structured, dict):
        return False, False
    try:
        paths = found_in_answer(targets, args, answer)
        gated = await found_gated(world, spec, args, paths, channel)
        readers = file_readers(spec, world.tools.specs(), args, paths)
        gated += await named_gated(world, readers, answer.structured, channel)
    except (TemplateError, TooManyFiles):
        return False, True
    only_private = [is_only_private(rule, spec, channel) for _, rule in gated]
    return any(only_private), not all(only_private)


async def _answer(world: World, spec: ToolSpec, read: Read, args: Json) -> Answer:
    """What a read answers. Raises PreviewReadFailed, whose text may quote what it read."""
    try:
        seconds = read.seconds or READ_SECONDS
        answer = await world.tools.call(spec.server, spec.name, canonical(args), seconds, spec.definition)
    except (ServerUnavailable, OutcomeUnknown, BadArguments) as error:
        raise PreviewReadFailed(f"{spec.server} did not answer ({error})") from error
    if answer.clipped:
        raise PreviewReadFailed(f"what {spec.server} shows of it is too long. Ask for less at a time")
    if answer.is_error and read.absent and not re.search(read.absent, answer.text):
        raise PreviewReadFailed(f"{spec.server} says: {answer.text}")
    return answer


def _bind(spec: ToolSpec, args: Mapping[str, Json], capture: Mapping[str, Json]) -> dict[str, Json]:
    scope = {"args": args, "capture": capture}
    bind = spec.recipe.bind.items()
    return {key: expand(form, scope) for key, form in bind if not _may_omit(spec, key, form, capture)}


def _may_omit(spec: ToolSpec, key: str, form: str, capture: Mapping[str, Json]) -> bool:
    """Whether there is nothing to bind: what it would come from is not there yet, and the tool does not need it."""
    sources = [path[1] for path in names(form) if path[0] == "capture"]
    gone = [name for name in sources if spec.recipe.capture[name].absent and capture[name]["error"]]
    return bool(gone) and key not in spec.schema.get("required", ())


def _validate_args(world: World, spec: ToolSpec, args: Mapping[str, Json]) -> None:
    canonical(args)
    problems = world.tools.problems(spec.schema, args)
    if problems:
        raise PreviewReadFailed(problems[0].text)
