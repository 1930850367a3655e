"""Undo a plan: its done steps are taken back one after the other, the one that ended last first, as far as it goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

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
NOT_QUOTED = ". Its own card says more."


async def undo_all(world: World, press: TaskPress) -> PressResult:
    """*Undo all*, after the end. Each step is taken back as its own button would do it, once. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        plan = task.plan
        if plan is None or not _steps_to_undo(plan):
            return PressResult(False, "no_undo", NOTHING, task=task)
        if not task.is_finished and task.state is not TaskState.SATISFACTION:
            return PressResult(False, "running", RUNNING, task=task)
        if press.ref.receipt != plan.seal[:16]:
            return PressResult(False, "stale", OLD_CARD, task=task)
        if plan.undoing:
            return PressResult(True, "undoing", UNDER_WAY, task=task)
        steps = tuple(replace(step, run=replace(step.run, undo="")) for step in plan.steps)
        now = await update_task(
            tx, task, "undo_asked", press.user, plan=replace(plan, steps=steps, undoing=press.user, undone="")
        )
        tx.enqueue(jobs.task(now.id, now.revision))
        return now

    return await press_task(
        world, press, TaskVerb.UNDO, lambda task: task.plan.version if task.plan else 0, do
    )


def _steps_to_undo(plan: Plan) -> list[Step]:
    """The steps to be taken back, the last one first."""
    return [s for s in reversed(plan.steps) if s.ran and s.cls is not CallClass.READ]


async def _latest_first(world: World, plan: Plan) -> list[tuple[Step, Action]]:
    """The steps to be taken back with their actions, the one that ended last first: siblings end in any order."""
    found = [
        (step, action) for step in _steps_to_undo(plan) if (action := await world.ledger.action(step.action))
    ]
    return sorted(found, key=lambda pair: _ended_at(pair[1]), reverse=True)


def _ended_at(action: Action) -> datetime:
    return (action.outcome and action.outcome.at) or action.created_at


async def undo_next(world: World, task: Task) -> bool:
    """Take back the next step, or see how that went. False while it is under way, or nothing is to be taken back.
    Safe to repeat: which undo belongs to a step is written down before it is asked for."""
    plan = task.plan
    if plan is None or not plan.undoing:
        return False
    for step, action in await _latest_first(world, plan):
        if action.state is State.UNDONE:
            continue
        if step.run.undo:
            return await _follow_undo(world, task, step, action)
        return await _store_undo(world, task, step, action)
    return await _finish(world, task, None, "")


async def _store_undo(world: World, task: Task, step: Step, action: Action) -> bool:
    """Write down which undo it will be."""
    if action.state is State.UNDOING:
        return False  # somebody pressed the step's own button: its end lets this go on
    undo_id, _ = await undo.undo_slot(world, action)
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        marked = replace(step, run=replace(step.run, undo=undo_id))
        await tx.update_task(now, plan=with_step(now, marked).plan)
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
    back = [s for s in _steps_to_undo(task.plan) if await _is_step_undone(world, s)]
    text = _summary(task.plan, back, step, why)
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        ids = {s.id for s in back}
        steps = tuple(_is_undone(s) if s.id in ids else s for s in task.plan.steps)
        plan = replace(task.plan, steps=steps, undoing="", undone=text)
        if step is None:
            plan, outcome = replace(plan, closing=""), replace(now.outcome, result=text)
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
    back = [step for step in _steps_to_undo(task.plan) if await _is_step_undone(world, step)]
    told = _undone_names(task.plan, back)
    if back and len(back) == len(_steps_to_undo(task.plan)):
        await rewrite_result(world, replace(task, plan=replace(task.plan, undone=told)), told)
    elif back:
        await rewrite_result(world, task, f"{plans.summary(task.plan)} {told}")
    return False


async def taken_back(world: World, plan: Plan) -> str:
    """The steps that were taken back by now, as a sentence; "" where none was."""
    back = [step for step in _steps_to_undo(plan) if await _is_step_undone(world, step)]
    return _undone_names(plan, back) if back else ""


async def _is_step_undone(world: World, step: Step) -> bool:
    action = await world.ledger.action(step.action)
    return action is not None and action.state is State.UNDONE


def _summary(plan: Plan, back: list[Step], step: Step | None, why: str) -> str:
    done = _undone_names(plan, back) if back else "Nothing was taken back."
    if step is None:
        return done
    rest = [s for s in _steps_to_undo(plan) if s not in back and s.id != step.id]
    left = f" Left as before: {_named(plan, rest)}." if rest else ""
    return f"{done} Step {plans.place(plan, step)} ({quoted(plans.step_sentence(step))}) was not: {why}{left}"


def _undone_names(plan: Plan, back: list[Step]) -> str:
    return f"Taken back: {_named(plan, back)}."


def _named(plan: Plan, steps: list[Step]) -> str:
    return "; ".join(f"step {plans.place(plan, s)} ({quoted(plans.step_sentence(s))})" for s in steps)
