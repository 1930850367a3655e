"""Steps: run a plan one step after the other. Each goes through the gate; code decides when to pause."""

from __future__ import annotations

from dataclasses import replace

from gate import plans, runs
from gate.action import Action, Class, Json, Verdict
from gate.autonomy import ApprovalMode
from gate.derive import derived
from gate.flows import after_step, simple
from gate.flows.after_step import Weighed
from gate.flows.decide import forget
from gate.flows.life import begun_turn, kept, moved, paused, unchanged, with_step
from gate.flows.look_plan import asked_of
from gate.flows.prepare import Answered, Refused, prepare
from gate.flows.step_action import Unseen, begins, begun, happened, went_wrong
from gate.reviews import Phase, names
from gate.states import State
from gate.talk import Mode
from gate.task import Step, StepState, Task, Why, Wish
from gate.task_states import TaskEvent
from gate.world import Note, Tx, World

GOING = (State.PREPARED, State.APPROVED, State.EXECUTING)
WENT_WELL = (State.SUCCEEDED, State.UNDOING)
EVERY = "Every step waits for a person here."
PRIVATE = "Its result was shown to whoever asked alone."


async def go_on(world: World, task: Task) -> bool:
    """Do what comes next of a plan. False while a person or a tool is at it. Safe to repeat, and at the same time
    as another run: whatever starts something is written together with its step."""
    plan = task.plan
    if plan is None:
        return False
    step = plan.current
    if step is not None and step.state is StepState.ASKED:
        return await _follow(world, task, step)
    if task.wish is not Wish.NONE or task.unused or step is None:
        return await _between(world, task, step)
    return await _begin(world, task, step)


async def _between(world: World, task: Task, step: Step | None) -> bool:
    """Nothing of the plan runs at this moment: do what somebody wished, take in what they said, or end."""
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        plan = now.plan
        assert plan is not None
        if now.wish is Wish.STOP:
            await stopped(tx, now)
        elif now.wish is Wish.PAUSE and step is not None:
            number = plans.place(plan, step)
            reason = f"Paused before step {number}."
            await moved(tx, now, TaskEvent.PAUSE, reason=reason, **paused(now, Why.WISH))
        elif now.unused:
            said = "\n".join(one.text for one in now.unused)
            spoken = await begun_turn(tx, now, Mode.PLAN, said)
            await moved(tx, now, TaskEvent.REPLAN, turn=spoken, reason="")
        else:
            now = await tx.keep_task(now, wish=Wish.NONE)
            await simple.finish(tx, world, now, plans.summary(plan), now.changed)
    return True


async def stopped(tx: Tx, task: Task) -> Task:
    """End a task because somebody said so, with what was done until then."""
    assert task.plan is not None
    return await moved(
        tx, task, TaskEvent.STOP, task.ended_by, wish=Wish.NONE, result=plans.summary(task.plan)
    )


async def _begin(world: World, task: Task, step: Step) -> bool:
    assert task.plan is not None
    try:
        args = plans.filled(task.plan, step)
    except plans.Lacking as lacking:
        return await _hold_up(world, task, step, str(lacking))
    asked = asked_of(task, step, args)
    try:
        made = await prepare(world, asked, begins(task, step))
    except Unseen as unseen:
        return await _hold_up(world, task, step, f"Step {plans.place(task.plan, step)} cannot run: {unseen}")
    if isinstance(made, Refused):
        number = plans.place(task.plan, step)
        return await _hold_up(world, task, step, f"Step {number} cannot run: {' '.join(made.reasons)}")
    if isinstance(made, Answered):
        return await _read(world, task, step, made)
    if made.action.state is State.APPROVED:
        await forget(world, made.action)
    return await _taken_up(world, task, step, made.action)


async def _taken_up(world: World, task: Task, step: Step, action: Action) -> bool:
    """Look again. An action that was there already without its step, as after a restored backup, is its own."""
    now = await world.ledger.task(task.id)
    if now is not None and now.revision == task.revision:
        async with world.ledger.begin() as tx:
            await begun(tx, await unchanged(tx, task), step, action)
    return True


async def _hold_up(world: World, task: Task, step: Step, reason: str) -> bool:
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        await _fail(tx, now, replace(step, state=StepState.FAILED, text=plans.clipped(reason)), reason)
    return True


async def _fail(tx: Tx, task: Task, step: Step, reason: str, why: Why = Why.STEP) -> Task:
    """The step did not go through: wait for a person, or stop where that was wished."""
    plan = with_step(task, step).plan
    if task.wish is Wish.STOP:
        return await stopped(tx, await tx.keep_task(task, plan=plan))
    return await moved(tx, task, TaskEvent.PAUSE, plan=plan, reason=reason, **paused(task, why))


async def _read(world: World, task: Task, step: Step, read: Answered) -> bool:
    """A read has run: keep its answer for later steps. Reads never pause, unless they fail or each step is to be
    looked at by a person."""
    answer = read.answer
    assert task.plan is not None
    if answer.is_error:
        number = plans.place(task.plan, step)
        return await _hold_up(world, task, step, f"Step {number} failed: {answer.text}")
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        done = plans.kept_result(task.plan, step, answer.text, answer.structured)
        done = replace(done, cls=Class.READ, verdict=Verdict.RUN, text=PRIVATE if read.private else done.text)
        wanted = world.policy.review(Phase.AFTER, done.name, names(done)) if now.wish is not Wish.STOP else ""
        if wanted or (now.switches.approval_mode == ApprovalMode.MANUAL and now.wish is Wish.NONE):
            await after_step.looked_at(tx, now, done, after_step.review_told(wanted) or EVERY)
        else:
            await _keep(tx, now, done, "step_done")
        if read.private:
            await _show_alone(tx, now, step, read)
    return True


async def _keep(tx: Tx, task: Task, step: Step, event: str, **changes: Json) -> Task:
    return await kept(tx, task, event, plan=with_step(task, step).plan, reason=plans.called(step), **changes)


async def _show_alone(tx: Tx, task: Task, step: Step, read: Answered) -> None:
    body = {
        "name": read.spec.full_name,
        "summary": plans.called(step),
        "arguments": dict(read.args),
        "structured": read.answer.structured,
        "text": read.answer.text,
        "clipped": read.answer.clipped,
        "open_world": bool(read.spec.hints.open_world),
        "error": False,
    }
    key = derived("step read", task.id, step.id, step.attempt)
    if await tx.note(Note(key, task.session, "read", body, task.requester)):
        tx.enqueue(runs.post(key))


async def _follow(world: World, task: Task, step: Step) -> bool:
    """A step has begun: see what became of its action."""
    action = await world.ledger.action(step.action)
    if action is None or action.state in GOING:
        return False
    found = await _weighed(world, task, step, action)
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        if found is not None:
            await _done(tx, world, now, step, found)
        else:
            await _not_done(tx, now, step, action)
    return True


async def _weighed(world: World, task: Task, step: Step, action: Action) -> Weighed | None:
    return await after_step.weighed(world, task, step, action) if action.state in WENT_WELL else None


async def _done(tx: Tx, world: World, task: Task, step: Step, found: Weighed) -> Task:
    """Write down that a step went through, and go on or let somebody look at it."""
    assert task.plan is not None
    return await after_step.taken(tx, world, task, happened(task.plan, step, found.action), found)


async def _not_done(tx: Tx, task: Task, step: Step, action: Action) -> Task:
    """Write down why a step did not go through, and wait for a person, or stop."""
    assert task.plan is not None
    why, reason = went_wrong(task.plan, step, action)
    failed = replace(step, state=StepState.FAILED, text=plans.clipped(reason))
    changed = task.changed or action.state is State.UNKNOWN
    return await _fail(tx, await tx.keep_task(task, changed=changed), failed, reason, why)


async def follow(world: World, task: Task) -> bool:
    """A task waits because of a step: when that step has gone through after all, as confirmed anew or settled by
    a person, go on. False while it has not."""
    step = task.plan.current if task.plan else None
    if step is None or not step.action or task.why not in (Why.STEP, Why.LAPSED):
        return False
    action = await world.ledger.action(step.action)
    if action is None or action.state in GOING:
        return False
    found = await _weighed(world, task, step, action)
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        if found is not None:
            running = await moved(tx, now, TaskEvent.CONTINUE, why=Why.NONE, reason="")
            await _done(tx, world, running, step, found)
            return True
        return await _still_wrong(tx, now, step, action)


async def _still_wrong(tx: Tx, task: Task, step: Step, action: Action) -> bool:
    """Say what has become of it since, if that is news. Nobody has to be asked anew for it."""
    assert task.plan is not None
    why, reason = went_wrong(task.plan, step, action)
    if task.wish is Wish.STOP:
        await stopped(tx, task)
        return True
    if (step.state, task.why, task.reason) != (StepState.FAILED, why, reason):
        failed = replace(step, state=StepState.FAILED, text=plans.clipped(reason))
        await kept(tx, task, "step_settled", plan=with_step(task, failed).plan, why=why, reason=reason)
    return False
