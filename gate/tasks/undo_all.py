"""Undo a plan: its done steps are taken back one after the other, the one that ended last first, as far as it goes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta

from gate.actions import undo
from gate.actions.button_press import Press, PressResult, TaskPress
from gate.actions.prepare import REFUSED_ALONE
from gate.arguments.unicode_safety import quoted
from gate.rules import jobs, plans
from gate.rules.action import Action, CallClass, Ref
from gate.rules.action_states import State
from gate.rules.permissions import TaskVerb
from gate.rules.ports import Tx, World
from gate.rules.task import Plan, Step, Task
from gate.rules.task_states import TaskState
from gate.rules.undo_privacy import is_confidential
from gate.rules.unreleased_results import may_quote
from gate.tasks.step_action import MAY_HAVE_RUN
from gate.tasks.task_transitions import (
    OLD_CARD,
    lock_unchanged,
    press_task,
    rewrite_result,
    say_in_thread,
    update_task,
    with_step,
)

RUNNING = "This is not over yet. Stop it first; then what was done can be taken back."
NOTHING = "No step of this changed anything."
UNDER_WAY = "The steps are being taken back already, one after the other."
UNDER_WAY_STATES = (State.PREPARED, State.APPROVED, State.EXECUTING)
FAILURE_TEXTS = {
    State.FAILED: "taking it back failed{why}",
    State.UNKNOWN: "nobody knows whether taking it back worked{why} Please look, and say so on its card.",
    State.CANCELLED: "taking it back was called off{why}",
    State.REJECTED: "taking it back was rejected.",
    State.EXPIRED: "nobody decided in time whether to take it back.",
}
Find = Callable[[str], Awaitable[Action | None]]
NOT_QUOTED = ". Its own card says more."


async def undo_all(world: World, press: TaskPress) -> PressResult:
    """*Undo all*, after the end. Each step is taken back as its own button would do it, once. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        plan = task.plan
        if plan is None or not await _latest_first(world, plan, tx.action):
            return PressResult(False, "no_undo", NOTHING, task=task)
        if not task.is_finished and task.state is not TaskState.SATISFACTION:
            return PressResult(False, "running", RUNNING, task=task)
        if press.ref.receipt != plan.seal[:16]:
            return PressResult(False, "stale", OLD_CARD, task=task)
        if plan.undoing:
            return PressResult(True, "undoing", UNDER_WAY, task=task)
        steps = tuple(_unmarked(step) for step in plan.steps)
        now = await update_task(
            tx, task, "undo_asked", press.user, plan=replace(plan, steps=steps, undoing=press.user, undone="")
        )
        tx.enqueue(jobs.task(now.id, now.revision))
        return now

    return await press_task(
        world, press, TaskVerb.UNDO, lambda task: task.plan.version if task.plan else 0, do
    )


def _unmarked(step: Step) -> Step:
    tries = tuple(replace(one, undo="") for one in step.run.tries)
    return replace(step, run=replace(step.run, undo="", tries=tries))


def _marked(plan: Plan, tried: Step, undo_id: str) -> Step:
    """The step of the plan, with the undo of this try of it."""
    step = plans.step_of(plan, tried.id) or tried
    if step.action == tried.action:
        return replace(step, run=replace(step.run, undo=undo_id))
    tries = tuple(replace(t, undo=undo_id) if t.action == tried.action else t for t in step.run.tries)
    return replace(step, run=replace(step.run, tries=tries))


def _every_try(plan: Plan) -> list[Step]:
    """Each try of each step, as that step with its action; the last one first."""
    tries = [
        replace(step, run=replace(step.run, action=one.action, undo=one.undo))
        for step in plan.steps
        for one in step.run.tries
        if one.action != step.action
    ]
    return [*reversed(plan.steps), *reversed(tries)]


async def _latest_first(world: World, plan: Plan, find: Find | None = None) -> list[tuple[Step, Action]]:
    """What changed something, or may have, of a plan: each try of its steps with its action, the one that ended last
    first: siblings end in any order."""
    find = find or world.ledger.action
    found = [(step, action) for step in _every_try(plan) if (action := await find(step.action))]
    ran = [(s, a) for s, a in found if a.state in MAY_HAVE_RUN and a.cls is not CallClass.READ]
    lease = timedelta(seconds=world.limits.claim)
    return sorted(ran, key=lambda pair: _ended_at(pair[1], lease), reverse=True)


def _ended_at(action: Action, lease: timedelta) -> datetime:
    """When it ended; where a person has said later that it happened, when it was last known to run."""
    if action.claim and action.outcome and action.outcome.took_ms == 0:
        return action.claim.until - lease
    return (action.outcome and action.outcome.at) or action.created_at


async def undo_next(world: World, task: Task) -> bool:
    """Take back the next step, or see how that went. False while it is under way, or nothing is to be taken back.
    Safe to repeat: which undo belongs to a step is written down before it is asked for."""
    plan = task.plan
    if plan is None or not plan.undoing:
        return False
    for step, action in await _latest_first(world, plan):
        if action.state in (State.UNDONE, State.UNKNOWN):
            continue
        if step.run.undo:
            return await _follow_undo(world, task, step, action)
        return await _store_undo(world, task, step, action)
    return await _finish(world, task, None, "")


async def _store_undo(world: World, task: Task, step: Step, action: Action) -> bool:
    """Write down which undo it will be."""
    assert task.plan is not None
    if action.state is State.UNDOING:
        return False  # somebody pressed the step's own button: its end lets this go on
    undo_id, _ = await undo.undo_slot(world, action)
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        await tx.update_task(now, plan=with_step(now, _marked(task.plan, step, undo_id)).plan)
    return True


async def _follow_undo(world: World, task: Task, step: Step, action: Action) -> bool:
    """Ask for the undo of a step as a press on its own button would, and see what became of it."""
    assert task.plan is not None
    if await world.ledger.action(step.run.undo) is None:
        press = Press(
            Ref(action.id, action.version, action.receipt[:16]), task.session.team, task.plan.undoing
        )
        said = await undo.request_undo(world, press)
        if not said.ok:
            kept = said.code == "denied" and undo.is_refused_in_private(world, action)
            told, alone = (REFUSED_ALONE, said.text) if kept else (said.text, "")
            return await _finish(world, task, step, told, alone)
        await undo.run_undo(world, step.run.undo)
    back = await world.ledger.action(step.run.undo)
    if back is None:
        return await _finish(world, task, step, "somebody else took it back meanwhile, or tried to.")
    if back.state is State.PREPARED and back.version > 1:
        return await _finish(
            world, task, step, "it was changed since. What to do is asked on a card of its own."
        )
    if back.state in UNDER_WAY_STATES:
        return False
    if back.state is State.SUCCEEDED:
        return True  # and its step is taken back, as the next look shows
    text = quoted(back.outcome.text if back.outcome else back.decision)
    quotes = may_quote(task, action) and not is_confidential(back)
    why = (f": “{text}”" if text else ".") if quotes else NOT_QUOTED
    return await _finish(world, task, step, FAILURE_TEXTS[back.state].format(why=why))


async def _finish(world: World, task: Task, step: Step | None, why: str, alone: str = "") -> bool:
    """Say how far it came: on the card of the plan, and in the thread where `step` was not taken back. `alone`: a
    sentence for whoever takes it back."""
    assert task.plan is not None
    found = await _latest_first(world, task.plan)
    back = [s for s, action in found if action.state is State.UNDONE]
    unknown = [s for s, action in found if action.state is State.UNKNOWN]
    rest = [s for s, _ in found if s not in [*back, *unknown, step]]
    text = _summary(task.plan, back, unknown, "" if step is None else _not_undone(task.plan, step, rest, why))
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        actions = {s.action for s in back}
        steps = tuple(_is_undone(s) if s.action in actions else s for s in task.plan.steps)
        plan = replace(task.plan, steps=steps, undoing="", undone=text)
        if step is None:
            result = f"{plans.summary(plan)} {text}" if unknown else text  # it is not all taken back
            plan, outcome = replace(plan, closing=""), replace(now.outcome, result=result)
            await update_task(tx, now, "undo_ended", plan=plan, reason=text, outcome=outcome)
        else:
            ended = await update_task(tx, now, "undo_ended", plan=plan, reason=text)
            await say_in_thread(tx, ended, text, f"undo:{ended.revision}")
            if alone:
                await say_in_thread(tx, ended, alone, f"undo alone:{ended.revision}", task.plan.undoing)
    return True


def _is_undone(step: Step) -> Step:
    return replace(step, output=replace(step.output, text=plans.UNDONE, result=None))


async def refresh_result(world: World, task: Task) -> bool:
    """While it is asked whether that was what they needed: its result says which steps were taken back, together or
    one by one. False: nothing comes after it."""
    assert task.plan is not None
    found = await _latest_first(world, task.plan)
    back = [step for step, action in found if action.state is State.UNDONE]
    told = _undone_names(task.plan, back)
    if back and len(back) == len(found):
        await rewrite_result(world, replace(task, plan=replace(task.plan, undone=told)), told)
    elif back:
        await rewrite_result(world, task, f"{plans.summary(task.plan)} {told}")
    return False


async def taken_back(world: World, plan: Plan) -> str:
    """The steps that were taken back by now, as a sentence; "" where none was."""
    found = await _latest_first(world, plan)
    back = [step for step, action in found if action.state is State.UNDONE and step in plan.steps]
    return _undone_names(plan, back) if back else ""


def _summary(plan: Plan, back: list[Step], unknown: list[Step], not_undone: str) -> str:
    done = _undone_names(plan, back) if back else "Nothing was taken back."
    asked = f"Nobody knows whether this ran: {_named(plan, unknown)}. Please look." if unknown else ""
    return " ".join(filter(None, [done, not_undone, asked]))


def _not_undone(plan: Plan, step: Step, rest: list[Step], why: str) -> str:
    left = f" Left as before: {_named(plan, rest)}." if rest else ""
    label = _label(plan, step)
    return f"{label[:1].upper()}{label[1:]} was not: {why}{left}"


def _undone_names(plan: Plan, back: list[Step]) -> str:
    return f"Taken back: {_named(plan, back)}."


def _named(plan: Plan, steps: list[Step]) -> str:
    return "; ".join(_label(plan, step) for step in steps)


def _label(plan: Plan, step: Step) -> str:
    """Which step this is, or was an earlier try of, which may have done something else."""
    place = plans.place(plan, step)
    own = any(one.action == step.action for one in plan.steps)
    return f"step {place} ({quoted(plans.step_sentence(step))})" if own else f"an earlier try of step {place}"
