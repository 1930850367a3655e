"""Look at the steps of a plan before anybody approves it: by reads alone; nothing is reserved, nothing waits."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

from gate import plans
from gate.action import Action, Json, Preview, Verdict
from gate.canonical import BadArguments, canonical
from gate.derive import derived
from gate.flows.edit import unbound
from gate.flows.look import decided, look
from gate.flows.prepare import Asked, draft, missing, sentence
from gate.policy import Decision
from gate.previews import default_verb
from gate.reviews import Phase, names
from gate.talk import Call
from gate.task import Plan, Step, Task
from gate.tool import ToolSpec
from gate.world import World

AT_ONCE = 4
NOT_THERE = "not there"  # the rules of a tool that is not
ONE_BY_ONE = (
    "type",
    "properties",
    "additionalProperties",
    "patternProperties",
    "$defs",
    "definitions",
    "$schema",
)
HIDDEN = "Its details are shown to whoever asked alone, when it comes to it."


def asked_of(task: Task, step: Step, args: Mapping[str, Json]) -> Asked:
    """The call of a step, under the id that this attempt of it has."""
    action_id = derived("step", task.id, step.id, step.attempt)
    call = Call(step.server, step.tool, dict(args))
    return Asked(action_id, task.session, task.requester, call, task=task.id, step=step.id, title=step.title)


async def looked(world: World, task: Task, plan: Plan) -> Plan:
    """The plan with every step looked at that was not yet since it last changed, and sealed. What was approved of
    a step stays approved only where it is sealed as before."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(step: Step) -> Step:
        if step.over or step.rules:
            return step
        async with slots:
            return await _looked(world, task, step)

    steps = tuple(await asyncio.gather(*map(one, plan.steps)))
    wrong = {step.id: name for step, name in plans.out_of_order(steps)}
    steps = tuple(_in_order(step, wrong.get(step.id)) for step in steps)
    kept = tuple(s if s.consent == s.seal else replace(s, consent="") for s in steps)
    return plans.sealed(task.id, replace(plan, steps=kept))


def _in_order(step: Step, name: str | None) -> Step:
    if name is None or plans.blocked(step):
        return step
    return unfit(step, f"Its `{name}` is to be the result of a step that does not come before it.")


def unfit(step: Step, problem: str) -> Step:
    """The step, marked as one that will not run as it is."""
    rules = step.rules or NOT_THERE
    return replace(step, verdict=Verdict.DENY, problem=problem, preview=None, seal="", rules=rules)


async def _looked(world: World, task: Task, step: Step) -> Step:
    spec = world.tools.find(step.server, step.tool)
    if spec is None:
        return unfit(step, missing(world, step.name))
    refs = {name: form for name, form in step.refs.items() if name not in spec.recipe.bind}
    step = replace(step, args=unbound(spec, step.args), refs=refs, preview=None, seal="", problem="")
    wrong = misfit(world, spec, step)
    if wrong:
        return unfit(replace(step, rules=rules_now(world, task, step)), wrong)
    decision = decided(world, spec, step.args, task.session.channel)
    step = replace(step, cls=decision.cls, verdict=decision.verdict, rules=rules_now(world, task, step))
    if decision.verdict is Verdict.DENY:
        return unfit(step, sentence(decision.reason))
    if decision.private:
        return replace(step, preview=_hidden(spec))
    return step if step.refs else await _seen(world, task, step, spec)


async def _seen(world: World, task: Task, step: Step, spec: ToolSpec) -> Step:
    """The step with its preview and, where an approval can cover it, with its seal."""
    seen = await look(world, spec, step.args, task.session.channel)
    decision = decided(world, spec, seen.args, task.session.channel)
    if decision.verdict is Verdict.DENY:  # because of something that was bound
        return unfit(step, sentence(decision.reason))
    if decision.verdict is Verdict.RUN and not world.policy.review(Phase.BEFORE, step.name, names(step)):
        return replace(step, cls=decision.cls, verdict=decision.verdict, preview=seen.preview)
    try:
        action = draft(world, asked_of(task, step, step.args), spec, decision, seen, await world.ledger.now())
    except BadArguments as error:
        return unfit(step, str(error))
    return _as_drafted(step, action)


def _as_drafted(step: Step, action: Action) -> Step:
    return replace(
        step,
        cls=action.cls,
        verdict=action.verdict,
        preview=action.preview,
        problem=action.preview.problem,
        seal=plans.seal(action) if plans.coverable(action) else "",
    )


def _hidden(spec: ToolSpec) -> Preview:
    name = spec.title or spec.full_name
    return Preview(summary=name, verb=default_verb(spec), facts=(), notes=(HIDDEN,))


def misfit(world: World, spec: ToolSpec, step: Step) -> str:
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
    parts: dict[str, Json] = {key: spec.schema[key] for key in ONE_BY_ONE if key in spec.schema}
    return parts | {"required": [n for n in spec.schema.get("required", ()) if n not in step.refs]}


def rules_now(world: World, task: Task, step: Step) -> str:
    """What the tool and the policy say of this step at this moment, as a hash."""
    spec = world.tools.find(step.server, step.tool)
    if spec is None:
        return NOT_THERE
    decision: Decision = decided(world, spec, unbound(spec, step.args), task.session.channel)
    return plans.rules(spec.definition, world.policy.version, decision)


def shown_here(step: Step) -> bool:
    """Whether the results of a step may be shown to the whole thread."""
    return not (step.preview and HIDDEN in step.preview.notes)
