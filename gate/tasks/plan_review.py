"""Plan review: a person approves a plan, changes it, has it made anew, or gives it up."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from gate.actions.button_press import PressResult, TaskPress
from gate.actions.edit import without_bound_args
from gate.actions.loop_time import counted
from gate.actions.prepare import as_sentence, unknown_tool_text
from gate.actions.preview import policy_decision
from gate.actions.review_log import step_under_review
from gate.rules import jobs, plans
from gate.rules.action import Ref, Verdict
from gate.rules.audit import Entry
from gate.rules.canonical_json import canonical
from gate.rules.ids import derive_id
from gate.rules.permissions import TaskVerb
from gate.rules.plan_changes import BadChange, StepChange, added_notes, apply_changes, without_preview
from gate.rules.planner_port import Mode
from gate.rules.policy import words
from gate.rules.ports import StaleTask, Tx, World
from gate.rules.reviews import Phase, matched_names
from gate.rules.task import Instruction, Plan, Step, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks.plan_preview import (
    argument_problem,
    call_of_step,
    current_rules_hash,
    preview_plan,
    turn_to_judge,
)
from gate.tasks.step_action import withdraw_begun
from gate.tasks.task_transitions import (
    FULL,
    OLD_CARD,
    count_words,
    is_about_private,
    load_task,
    lock_unchanged,
    move_task,
    press_task,
    retry_once,
    start_turn,
    told_words,
    too_many_instructions,
    update_task,
    with_instruction,
)

MOST = 4000  # characters of a reason
PREVIEW_PENDING = "I am still looking at what this would change. Please press again in a moment."
CHANGED = "A tool or a rule changed since you saw the plan. I am looking at it anew."
BLOCKED = (
    "Step {number} cannot run: {problem} Please drop or change it with *Modify*, or have it planned again."
)
REASON_MISSING = "Please say what should be different about the plan."
RULES = "A tool or a rule changed since it was shown."
NOT_HERE = "There is no plan to decide on at the moment."
REVIEW_FIRST = (
    "The operator wants the last result reviewed. Decide on that first; then it can be planned again."
)
UNCHANGED = "Nothing was changed."
LAPSED = (
    "Nobody decided on this plan in time, and things may have changed. Press *Ask again*: I look at it anew."
)
Do = Callable[[Tx, Task, Plan], Awaitable[Task | PressResult]]


async def approve_all(world: World, press: TaskPress) -> PressResult:
    """*Approve all*: one consent to every write that the card shows whole; anything else still asks.

    Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task, plan: Plan) -> Task | PressResult:
        step = next((step for step in plan.steps if plans.is_blocked(step)), None)
        if step is not None:
            text = BLOCKED.format(number=plans.place(plan, step), problem=step.problem)
            return PressResult(False, "blocked", text, task=task)
        approved = plans.with_consent(task, _approved_plan(plan, press.user), world.shows(plan))
        for one in approved.steps:
            if one.consent:
                tx.audit(_consent(task, approved, one))
        return await _start(tx, task, approved, press.user)

    return await _approve(world, press, do)


async def _start(tx: Tx, task: Task, plan: Plan, user: str) -> Task:
    pause = replace(task.pause, wish=StopRequest.NONE)
    return await move_task(tx, task, TaskEvent.APPROVE, user, go=True, plan=plan, pause=pause, reason="")


async def step_by_step(world: World, press: TaskPress) -> PressResult:
    """*Step by step*: begin, and let each step that changes something ask. Raises Unavailable."""

    async def do(tx: Tx, task: Task, plan: Plan) -> Task:
        approved = replace(_approved_plan(plan, press.user), stepwise=True)
        return await _start(tx, task, approved, press.user)

    return await _approve(world, press, do)


def _approved_plan(plan: Plan, user: str) -> Plan:
    return replace(plans.without_consent(plan), approved_by=user, approved=plan.version)


def _consent(task: Task, plan: Plan, step: Step) -> Entry:
    """The record of a yes to one step of a plan."""
    return Entry(
        event="step_approved",
        session=task.session.key,
        actor=plan.approved_by,
        action=call_of_step(task, step, {}).id,
        tool=step.name,
        arguments=canonical(dict(step.args)).decode(),
        version=plan.version,
        receipt=step.consent,
        user_confirmed=True,
        reason=f"by approval of plan version {plan.version} of task {task.id}",
    )


async def _approve(world: World, press: TaskPress, do: Do) -> PressResult:
    """An approval: of exactly the plan that was shown, while its tools and rules are as they were."""
    found = await load_task(world, press, TaskVerb.APPROVE)
    if isinstance(found, PressResult):
        return found
    rules = (
        await _rules_now(world, found) if _is_newest(press, found) and _may_be_approved(found.plan) else {}
    )

    async def checked(tx: Tx, task: Task, plan: Plan) -> Task | PressResult:
        left = [step for step in plan.steps if not step.is_finished]
        if plan.lapsed:
            return PressResult(False, "lapsed", LAPSED, task=task)
        if not all(step.rules for step in left):
            return PressResult(False, "looking", PREVIEW_PENDING, task=task)
        if any(step.rules != rules.get((plan.version, step.id)) for step in left):
            await _store_plan(tx, task, _without_previews(plan), "system", RULES)
            return PressResult(False, "changed", CHANGED, task=task)
        return await do(tx, task, plan)

    return await _decide(world, press, TaskVerb.APPROVE, checked)


def _may_be_approved(plan: Plan | None) -> bool:
    """Whether a plan was looked at, and not too long ago: else a press on it is refused without another look."""
    return (
        plan is not None
        and not plan.lapsed
        and all(step.rules for step in plan.steps if not step.is_finished)
    )


@counted
async def _rules_now(world: World, task: Task) -> dict[tuple[int, str], str]:
    """What tools and rules say now of the steps that are left, by the version of the plan and the step. Not asked in
    a transaction: arguments may be large, and other work has its turn after each step."""
    found = dict[tuple[int, str], str]()
    for step in task.plan.steps if task.plan else ():
        if not step.is_finished:
            await turn_to_judge(world)
            found[_version(task), step.id] = current_rules_hash(world, task, step)
    return found


async def _decide(world: World, press: TaskPress, verb: TaskVerb, do: Do) -> PressResult:
    """A decision on the plan that waits for one."""

    async def checked(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.PLAN_REVIEW or task.plan is None:
            raise StaleTask(task)
        if press.ref.receipt != task.plan.seal[:16]:
            return PressResult(False, "stale", OLD_CARD, task=task)
        return await do(tx, task, task.plan)

    return await press_task(world, press, verb, _version, checked)


def _is_newest(press: TaskPress, task: Task) -> bool:
    """Whether a press is on the plan that waits now: of any other, nothing has to be judged."""
    waits = task.plan if task.state is TaskState.PLAN_REVIEW else None
    return waits is not None and press.ref == Ref(task.id, waits.version, waits.seal[:16])


def _version(task: Task) -> int:
    return task.plan.version if task.plan else 0


async def renew_plan(world: World, press: TaskPress) -> PressResult:
    """*Ask again*, where nobody decided on a plan in time: look at all of it anew. Raises Unavailable."""

    async def do(tx: Tx, task: Task, plan: Plan) -> Task:
        if not plan.lapsed:
            raise StaleTask(task)
        return await _store_plan(tx, task, plan.steps, press.user, "")

    return await _decide(world, press, TaskVerb.MODIFY, do)


async def expire_plan(world: World, task_id: str, version: int) -> None:
    """The timer of one version: nobody decided on it in time, so that no press on what was shown counts any more.
    Does nothing when the plan has moved on."""
    async with world.ledger.begin() as tx:
        task = await tx.task(task_id)
        if task is None or task.state is not TaskState.PLAN_REVIEW or task.plan is None:
            return
        if task.plan.version == version and not task.plan.lapsed:
            await _store_plan(
                tx, task, _without_previews(task.plan), "system", "Nobody decided on it in time.", lapsed=True
            )


def _without_previews(plan: Plan) -> tuple[Step, ...]:
    """The steps as if nobody had looked at what they would change."""
    return tuple(step if step.is_finished else without_preview(step) for step in plan.steps)


async def _store_plan(
    tx: Tx, task: Task, steps: tuple[Step, ...], user: str, reason: str, *, lapsed: bool = False
) -> Task:
    """Another version of the plan; a run looks at those of its steps that have to be looked at. `lapsed`: only once
    somebody asks for that."""
    assert task.plan is not None
    plan = replace(task.plan, version=task.plan.version + 1, steps=steps, lapsed=lapsed)
    plan = plans.with_seal(task.id, plans.without_consent(plan))
    return await move_task(tx, task, TaskEvent.MODIFY, user, go=True, plan=plan, reason=reason)


async def refresh_previews(world: World, task: Task) -> bool:
    """Look at what was changed in a plan that waits for its decision. Safe to repeat."""
    plan = task.plan
    if plan is None or plan.lapsed or all(step.is_finished or step.rules for step in plan.steps):
        return False
    seen = await preview_plan(world, task, plan)
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        await update_task(tx, now, "looked", plan=seen)
    return False


async def modify(world: World, press: TaskPress, changes: Sequence[StepChange]) -> PressResult:
    """*Modify*: reorder, drop, change arguments, “ask me here”, add an instruction. All of it, or nothing: what
    does not fit is told, with the step and the field. Raises Unavailable: then nothing changed."""
    found = await load_task(world, press, TaskVerb.MODIFY)
    if isinstance(found, PressResult):
        return found
    unfit = await _first_problem(world, found, changes) if _is_newest(press, found) else None

    async def do(tx: Tx, task: Task, plan: Plan) -> Task | PressResult:
        try:
            steps = apply_changes(plan, changes)
            steps = _by_a_client(plan, steps) if tx.token else steps
        except BadChange as wrong:
            return PressResult(False, "unfit", str(wrong), task=task, step=wrong.step)
        if steps == plan.steps and not plan.lapsed:
            return PressResult(True, "unchanged", UNCHANGED, task=task)
        if unfit is not None:
            step, problem = unfit
            text = f"Step {plans.place(plan, step)} ({_called(step)}): {problem} Nothing was changed."
            return PressResult(False, "unfit", text, task=task, step=step.id)
        notes = added_notes(plan, steps)
        if notes and too_many_instructions(task, len(notes)):
            return PressResult(False, "full", FULL, task=task)
        told = [*task.instructions]
        for number, step in notes:
            key = derive_id("note", task.id, task.revision, step.id)
            # Not by its card, which may quote others.
            text = f"For step {number} ({_called(step)}): {step.note}"
            told.append(Instruction(key, press.user, text, await tx.now(), alone=step.is_private))
        await count_words(tx, task, press.user)
        now = await tx.update_task(task, input=replace(task.input, instructions=tuple(told)))
        return await _store_plan(tx, now, steps, press.user, "")

    return await _decide(world, press, TaskVerb.MODIFY, do)


def _by_a_client(plan: Plan, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps as the client of an API token has changed them: that may be what anybody asked for who was heard."""
    before = {step.id: step.args for step in plan.steps}
    return tuple(step if step.args == before.get(step.id) else replace(step, heard=None) for step in steps)


@counted
async def _first_problem(world: World, task: Task, changes: Sequence[StepChange]) -> tuple[Step, str] | None:
    """The first step whose arguments cannot be taken with these changes, and why. Other work has turns in between."""
    try:
        steps = apply_changes(task.plan, changes) if task.plan else ()
    except BadChange:
        return None  # which is said of the plan as it is then
    for step in steps:
        if step.rules or step.is_finished:
            continue
        await turn_to_judge(world)
        if problem := _argument_problem(world, task, step):
            return step, problem
    return None


def _argument_problem(world: World, task: Task, step: Step) -> str:
    """Why the new arguments of a step cannot be taken, in a sentence; "" when they can."""
    spec = world.tools.find(step.server, step.tool)
    if spec is None:
        return unknown_tool_text(world, step.name)
    step = replace(step, call=replace(step.call, args=without_bound_args(spec, step.args)))
    wrong = argument_problem(world, spec, step)
    decision = policy_decision(world, spec, step.args, task.session.channel)
    denied = as_sentence(decision.reason) if decision.verdict is Verdict.DENY else ""
    return wrong or denied


async def replan(world: World, press: TaskPress) -> PressResult:
    """*Plan anew…*, with a reason (`press.text`). While steps run, the reason is an instruction that is taken in
    before the next one. Raises Unavailable: then nothing changed."""
    reason = press.text.strip()[:MOST]

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if not reason:
            return PressResult(False, "empty", REASON_MISSING, task=task)
        if task.plan is None:
            raise StaleTask(task)
        if task.state is TaskState.RUNNING:
            return await _instruct(tx, task, press.user, reason)
        if task.state is TaskState.PLAN_REVIEW and press.ref.receipt != task.plan.seal[:16]:
            return PressResult(False, "stale", OLD_CARD, task=task)
        step = step_under_review(task)
        if step is not None and world.policy.review(Phase.AFTER, step.name, matched_names(step)):
            return PressResult(False, "review", REVIEW_FIRST, task=task)
        noted = await withdraw_begun(tx, task, press.user, "Its plan was made anew")
        if isinstance(noted, PressResult):
            return noted
        spoken = await start_turn(tx, task, Mode.PLAN, reason)
        plan = plans.without_consent(noted.plan or task.plan)
        planning, why = replace(task.planning, turn=spoken), await told_words(tx, task, reason)
        request = replace(task.request, asks=True)  # no grant covers what comes of a reply
        return await move_task(
            tx, task, TaskEvent.REPLAN, press.user, plan=plan, planning=planning, reason=why, request=request
        )

    return await retry_once(lambda: press_task(world, press, TaskVerb.REPLAN, _version, do))


async def _instruct(tx: Tx, task: Task, user: str, text: str) -> Task | PressResult:
    if too_many_instructions(task):
        return PressResult(False, "full", FULL, task=task)
    key, alone = derive_id("replan", task.id, task.revision), await is_about_private(tx, task)
    said = Instruction(key, user, text, await tx.now(), alone=alone)
    now = await update_task(tx, task, "user_instruction", user, **with_instruction(task, said))
    tx.enqueue(jobs.task(now.id, now.revision))
    return now


async def cancel(world: World, press: TaskPress) -> PressResult:
    """*Cancel*, before anything ran of it: a plan that waits for its decision, or a question. Raises Unavailable."""

    def number(task: Task) -> int:
        return task.asked if task.state is TaskState.CLARIFYING else _version(task)

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state not in (TaskState.PLAN_REVIEW, TaskState.CLARIFYING):
            raise StaleTask(task)
        outcome = replace(task.outcome, ended_by=press.user)
        return await move_task(tx, task, TaskEvent.CANCEL, press.user, outcome=outcome)

    return await press_task(world, press, TaskVerb.CANCEL, number, do)


def _called(step: Step) -> str:
    """The words of its tool's name, as people read them."""
    return " ".join(words(step.call.tool))
