"""Look at the steps of a plan before anybody approves it: by reads alone; nothing is reserved, nothing waits."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace

from gate.actions.action_versions import TOO_LONG
from gate.actions.edit import without_bound_args
from gate.actions.loop_time import counted, own_turn, yield_loop
from gate.actions.prepare import DO_NOT_FIT, CallRequest, as_sentence, draft_action, unknown_tool_text
from gate.actions.preview import (
    PreviewResult,
    make_preview,
    may_turn_private,
    policy_decision,
    reads_in_private,
)
from gate.arguments.declared_targets import with_resolved_paths
from gate.arguments.target_texts import touched
from gate.rules import advisers, plans
from gate.rules.action import Action, Decision, Json, Preview, Verdict
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.ids import derive_id
from gate.rules.plan_room import within_room, without_details
from gate.rules.planner_port import Call
from gate.rules.policy import made_private
from gate.rules.ports import World
from gate.rules.previews import default_verb, plainly
from gate.rules.reviews import Phase, matched_names
from gate.rules.steps import HIDDEN, is_shown_in_thread, judged, with_call
from gate.rules.task import Origin, Plan, Preflight, Step, StepState, Task
from gate.rules.tool import ToolSpec

MAX_PARALLEL = 4
SLASH = re.compile(r"(?<=[^/])/")
DENIED_IN_PRIVATE = (
    "The policy does not allow this. Which rule says so is not told here, since the step is private."
)
MOST_NAMES = 200  # that are kept of what a step is about
NOT_THERE = "not there"  # the rules of a tool that is not
CHECKED_SEPARATELY = (
    "type",
    "properties",
    "additionalProperties",
    "patternProperties",
    "$defs",
    "definitions",
    "$schema",
)


def call_of_step(task: Task, step: Step, args: Mapping[str, Json], private: bool = False) -> CallRequest:
    """The call of a step, under the id that this attempt of it has. `private`: some of what it is given is."""
    action_id = derive_id("step", task.id, step.id, step.attempt)
    call = Call(step.server, step.tool, dict(args))
    heard = advisers.of_task(task) if step.heard is None else frozenset(step.heard)
    asked = CallRequest(
        action_id,
        task.session,
        task.requester,
        call,
        task=task.id,
        step=step.id,
        title=step.title,
        instructed=task.instructed | heard,
        private=private,
    )
    if step.origin is None:  # the card of its plan says what was assumed
        return asked
    told = () if task.asked else tuple(f"{one.answer} ({one.question})" for one in task.decided if not one.by)
    return _reply_place(replace(asked, assumed=told), step, step.origin)


async def call_to_begin(world: World, task: Task, step: Step, args: Mapping[str, Json]) -> CallRequest:
    """The call of a step that begins now. What it takes from earlier results may come of what was typed for a server
    since it was proposed."""
    is_private = step.is_private or (task.plan is not None and plans.takes_private(task.plan, step))
    asked = call_of_step(task, step, args, is_private)
    if not (step.refs and advisers.are_counted(world.policy)):
        return asked
    said = await world.ledger.grants.said_in((), (task.id,))
    return replace(asked, instructed=asked.instructed | said - {task.requester})


def _reply_place(asked: CallRequest, step: Step, origin: Origin) -> CallRequest:
    """The first try has the id, and stands on the card, that its place in the reply gives it."""
    call = replace(asked.call, risk=origin.risk, prose=origin.prose)
    asked = replace(asked, call=call, turn=origin.turn, index=origin.call)
    if step.attempt > 1:
        return asked
    action_id = derive_id("action", origin.turn, origin.reply, origin.call)
    return replace(asked, id=action_id, group=origin.group)


async def turn_to_judge(world: World) -> None:
    """Waits until no other step of a plan is judged, and other work has had its turn: large arguments take a while."""
    async with own_turn(world), world.judging.one:
        await yield_loop(world)


async def preview_plan(world: World, task: Task, plan: Plan) -> Plan:
    """The plan with every step looked at that was not yet since it last changed, and sealed. What was approved of
    a step stays approved only where it is sealed as before."""
    slots = asyncio.Semaphore(MAX_PARALLEL)

    async def one(step: Step) -> Step:
        if step.refs or not _is_new(step):
            return step
        async with slots:
            return await _preview_step(world, task, plan, step)

    seen = tuple(await asyncio.gather(*map(one, plan.steps)))
    steps = await _with_takers(world, task, replace(plan, steps=seen))
    wrong = {step.id: name for step, name in plans.out_of_order(steps)}
    steps = tuple(_in_order(step, wrong.get(step.id)) for step in steps)
    kept = tuple(s if s.consent == s.preflight.seal else replace(s, consent="") for s in steps)
    return plans.with_seal(task.id, replace(plan, steps=within_room(kept)))


def _is_new(step: Step) -> bool:
    """Whether a step is left that was not looked at since it last changed."""
    return not step.is_finished and not step.rules


async def _with_takers(world: World, task: Task, plan: Plan) -> tuple[Step, ...]:
    """The steps of the plan, with those looked at, too, that take results of others: in their order, and whenever any
    step has changed, since each is at least as private as those that it takes from."""
    for step in plan.steps:
        if step.refs and (_is_new(step) or step.state is StepState.WAITING):
            seen = await _preview_step(world, task, plan, step)
            plan = replace(plan, steps=tuple(seen if one.id == step.id else one for one in plan.steps))
    return plan.steps


def _in_order(step: Step, name: str | None) -> Step:
    if name is None or plans.is_blocked(step):
        return step
    return with_problem(step, f"Its `{name}` is to be the result of a step that does not come before it.")


def with_problem(step: Step, problem: str) -> Step:
    """The step, marked as one that will not run as it is."""
    found = Preflight(cls=step.cls, verdict=Verdict.DENY, problem=problem, rules=step.rules or NOT_THERE)
    return replace(step, preflight=found)


@counted
async def _preview_step(world: World, task: Task, plan: Plan, step: Step) -> Step:
    spec = world.tools.find(step.server, step.tool)
    if spec is None:
        return with_problem(step, unknown_tool_text(world, step.name))
    refs = {name: form for name, form in step.refs.items() if name not in spec.recipe.bind}
    step = replace(step, call=replace(step.call, args=without_bound_args(spec, step.args), refs=refs))
    await turn_to_judge(world)
    decision = policy_decision(world, spec, step.args, task.session.channel)
    rules = plans.rules_hash(spec.definition, world.policy.version, decision)
    private = decision.private or reads_in_private(world, spec, step.args, task.session.channel)
    step = _judged_as_known(world, plan, step, spec, private)
    await turn_to_judge(world)
    wrong = argument_problem(world, spec, step)
    if wrong:
        said = DO_NOT_FIT.format(tool=spec.full_name) if not is_shown_in_thread(step) else wrong
        return with_problem(replace(step, preflight=replace(step.preflight, rules=rules)), said)
    seen = Preflight(cls=decision.cls, verdict=decision.verdict, rules=rules)
    step = replace(step, preflight=seen)
    if decision.verdict is Verdict.DENY:
        return with_problem(step, _refusal(decision, step))
    if step.is_private:
        return replace(step, preflight=replace(seen, preview=_hidden(spec)))
    return step if step.refs else await _with_preview(world, task, step, spec)


def _refusal(decision: Decision, step: Step) -> str:
    """Why the policy does not allow a step, for everybody: the name of a rule may say what the step is about."""
    return DENIED_IN_PRIVATE if decision.private or step.is_private else as_sentence(decision.reason)


def _judged_as_known(world: World, plan: Plan, step: Step, spec: ToolSpec, private: bool) -> Step:
    """The step, private or public; not judged where what is still open may make it private. `private`: its known
    arguments are."""
    if private or plans.takes_private(plan, step):
        return judged(step, private=True)
    is_open = may_turn_private(world, spec, bool(step.refs)) or plans.takes_unjudged(plan, step)
    return with_call(step, step.call) if is_open else judged(step, private=False)


async def _with_preview(world: World, task: Task, step: Step, spec: ToolSpec) -> Step:
    """The step with its preview and, where an approval can cover it, with its seal."""
    seen = await make_preview(world, spec, step.args, task.session.channel)
    await turn_to_judge(world)
    decision = seen.decision or policy_decision(world, spec, seen.args, task.session.channel, seen.capture)
    decision = made_private(decision, seen.private)
    if decision.private or not seen.unseen:  # what could not be looked at may still be private
        step = judged(step, decision.private)
    if decision.verdict is Verdict.DENY:  # because of something that was bound
        return with_problem(step, _refusal(decision, step))
    if decision.private:
        found = replace(step.preflight, cls=decision.cls, verdict=decision.verdict, preview=_hidden(spec))
        return replace(step, preflight=found)
    if decision.verdict is Verdict.RUN and not world.policy.review(
        Phase.BEFORE, step.name, matched_names(step)
    ):
        found = replace(step.preflight, cls=decision.cls, verdict=decision.verdict, preview=seen.preview)
        return replace(step, preflight=found)
    try:
        action = draft_action(
            world, call_of_step(task, step, step.args), spec, decision, seen, await world.ledger.now()
        )
    except BadArguments as error:
        return with_problem(step, str(error))
    step = _without_identity(step, action)
    return _with_names(step, spec, seen) if is_shown_in_thread(step) else step


def _with_names(step: Step, spec: ToolSpec, seen: PreviewResult) -> Step:
    """The step with the names of what it is about: its paths, and the things that its preview lists. What was seen
    rests on those things and on texts that are compared; where nothing could be seen, it may be a path that is not
    there yet, or a folder that it is in."""
    targets = with_resolved_paths(spec.recipe.targets, seen.args, seen.capture)
    paths = touched(targets, seen.args)
    listed = [part for thing in seen.preview.affected for part in thing.name.split(" → ")]
    above = [path[: end.start()] for path in paths for end in SLASH.finditer(path)]
    whole = paths if seen.unseen or spec.recipe.show.kind == "diff" else ()
    touches = _distinct(*paths, *listed)
    rests_on = _distinct(*listed, *whole, *(above if seen.unseen else ()))
    return replace(step, preflight=replace(step.preflight, touches=touches, rests_on=rests_on))


def _distinct(*names: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))[:MOST_NAMES]


def _without_identity(step: Step, action: Action) -> Step:
    seen = action.preview
    found = Preflight(
        cls=action.cls,
        verdict=action.verdict,
        preview=without_details(seen) if seen.problem == TOO_LONG else seen,
        problem=seen.problem,
        rules=step.rules,
        seal=plans.step_seal(action) if plans.is_coverable(action) else "",
    )
    return replace(step, preflight=found)


def _hidden(spec: ToolSpec) -> Preview:
    name = plainly(spec, {})
    return Preview(summary=name, verb=default_verb(spec), facts=(), notes=(HIDDEN,))


def argument_problem(world: World, spec: ToolSpec, step: Step) -> str:
    """Why the known arguments of a step do not fit its tool, in a sentence; "" when they do."""
    try:
        canonical(dict(step.args))
    except BadArguments as error:
        return str(error)
    problems = world.tools.problems(_schema(spec, step), dict(step.args))
    if problems:
        return problems[0].text
    known = spec.schema.get("properties", {})
    closed = spec.schema.get("additionalProperties") is False
    strange = next((name for name in step.refs if closed and name not in known), None)
    return f"`{strange}` is none of its arguments." if strange else ""


def _schema(spec: ToolSpec, step: Step) -> Mapping[str, Json]:
    """The schema; where some arguments are not known yet, what it says of each of the others."""
    if not step.refs:
        return spec.schema
    parts: dict[str, Json] = {key: spec.schema[key] for key in CHECKED_SEPARATELY if key in spec.schema}
    return parts | {"required": [n for n in spec.schema.get("required", ()) if n not in step.refs]}


def current_rules_hash(world: World, task: Task, step: Step) -> str:
    """What the tool and the policy say of this step at this moment, as a hash."""
    spec = world.tools.find(step.server, step.tool)
    if spec is None:
        return NOT_THERE
    decision: Decision = policy_decision(
        world, spec, without_bound_args(spec, step.args), task.session.channel
    )
    return plans.rules_hash(spec.definition, world.policy.version, decision)
