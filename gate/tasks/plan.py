"""Plan: what the planner proposes becomes steps that are looked at, shown, and decided on as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gate.rules import plans
from gate.rules.action import Verdict
from gate.rules.plan_changes import StepChange, begun_anew, rebuilt_plan
from gate.rules.planner_port import Clarify, Mode, ProposePlan, Say, Turn
from gate.rules.ports import Tx, World
from gate.rules.task import PauseReason, Plan, Planning, Step, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks import clarify, replies
from gate.tasks.plan_preview import preview_plan
from gate.tasks.plan_review import (
    approve_all,
    cancel,
    expire_plan,
    modify,
    refresh_previews,
    renew_plan,
    replan,
    step_by_step,
)
from gate.tasks.task_transitions import (
    IN_WORDS,
    fail_task,
    lock_unchanged,
    move_task,
    next_pause,
    say_in_thread,
    start_turn,
    told_by,
    told_words,
    update_task,
    words_are_private,
)

__all__ = [
    "StepChange",
    "approve_all",
    "cancel",
    "expire_plan",
    "make_plan",
    "modify",
    "refresh_previews",
    "renew_plan",
    "replan",
    "step_by_step",
]

REPAIRS = 2  # times that a planner may mend a plan that cannot run
NOTE = 1000  # characters of a planner's note
NO_PLAN = "I could not make a plan of this, so nothing was done. Please ask for it in other words."
AS_IT_WAS = "I could not make another plan of that, so the plan stays as it was."
NOT_TAKEN = "I could not work this into the plan: {text} Continue as planned, say it in other words, or stop."
TOO_MANY = "The plan has {count} steps, and I take at most {most} in one. Please ask for less at a time."
REPAIR = "This plan cannot run as it is. Please propose it anew: {problems}"


async def make_plan(world: World, task: Task) -> bool:
    """Make a plan of what the planner has answered. False while it is still at it. Safe to repeat: reads alone
    happen before the one transaction that shows it."""
    found = await world.ledger.turn(task.turn)
    if found is None or not replies.is_finished(world.planner, found):
        return False
    reply = found.exchanges[-1].reply
    if isinstance(reply, ProposePlan):
        plan = await _proposed(world, task, reply)
        if plan.note and words_are_private(task, found):  # which it may quote
            await _tell_alone(world, task, plan)
            plan = replace(plan, note="")
        return await _write(world, task, lambda tx, now: _accept_plan(tx, world, now, plan))
    return await _write(world, task, lambda tx, now: _handle_other_reply(tx, world, now, found))


async def _tell_alone(world: World, task: Task, plan: Plan) -> None:
    async with world.ledger.begin() as tx:
        await say_in_thread(tx, task, plan.note, f"note:{plan.version}", task.requester)


async def _proposed(world: World, task: Task, reply: ProposePlan) -> Plan:
    steps, last = rebuilt_plan(task.plan, reply.steps)
    before = task.plan or Plan(0, ())
    note = plans.clipped(reply.note, NOTE)
    version = before.version + 1
    plan = replace(before, version=version, steps=steps, last=last, note=note, own_note=reply.own)
    plan = plans.with_heard(task, plan, await told_by(world, task))
    if too_long(world, plan):
        return plan
    return await preview_plan(world, task, plan)


def too_long(world: World, plan: Plan) -> bool:
    return len(_unfinished(plan)) > world.limits.steps


def _unfinished(plan: Plan | None) -> list[Step]:
    return [step for step in plan.steps if not step.is_finished] if plan else []


async def _write(world: World, task: Task, do: Callable[[Tx, Task], Awaitable[Task]]) -> bool:
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        if now.unused:  # said while the plan was being made: it has to be made of that, too
            again = await start_turn(tx, now, Mode.PLAN, now.unused_text)
            await tx.update_task(now, planning=replace(now.planning, turn=again))
            return False
        now = await do(tx, now)
        return now.state is not TaskState.PLANNING


async def _accept_plan(tx: Tx, world: World, task: Task, plan: Plan) -> Task:
    """Show the plan, or begin with it; send it back to a planner that may mend it; or give up."""
    left = _unfinished(plan)
    problems = [TOO_MANY.format(count=len(left), most=world.limits.steps)] if too_long(world, plan) else []
    problems += [_problem(plan, step) for step in left if plans.is_blocked(step)]
    if problems and world.planner.follows and task.planning.repairs < REPAIRS:
        text = REPAIR.format(problems=" ".join(problems))
        again = await start_turn(tx, task, Mode.PLAN, text)
        planning = replace(task.planning, turn=again, repairs=task.planning.repairs + 1)
        return await update_task(tx, task, "plan sent back", planning=planning)
    if too_long(world, plan):
        return await fail_task(tx, task, problems[0])
    if not plan.steps:
        return await fail_task(tx, task, NO_PLAN)
    return await _show_changed_plan(tx, task, plan)


async def _show_changed_plan(tx: Tx, task: Task, plan: Plan) -> Task:
    """An approved plan that an instruction changed goes on: what is new in it asks for itself."""
    if _only_reads(plan) or _needs_no_approval(task):
        return await _started(tx, task, plan)
    fresh = plans.with_seal(task.id, plans.without_consent(replace(plan, lapsed=False)))
    return await _presented(tx, task, fresh)


async def _started(tx: Tx, task: Task, plan: Plan | None) -> Task:
    return await move_task(tx, task, TaskEvent.ACT, plan=plan, planning=_planning_done(task), reason="")


async def _presented(tx: Tx, task: Task, plan: Plan) -> Task:
    """Show it for a decision. Whoever wanted a pause has one."""
    waits = replace(task.pause, wish=StopRequest.NONE)
    return await move_task(
        tx, task, TaskEvent.PRESENT, plan=plan, planning=_planning_done(task), reason=task.reason, pause=waits
    )


def _planning_done(task: Task) -> Planning:
    """The planner's work once it has made a plan that is taken."""
    return replace(task.planning, repairs=0)


def _only_reads(plan: Plan) -> bool:
    """Whether nothing of what is left needs anybody's yes: reads never wait, also when there are many of them."""
    return all(step.verdict is Verdict.RUN for step in _unfinished(plan))


def _needs_no_approval(task: Task) -> bool:
    """Whether a new version of the plan is not to be approved as a whole."""
    if not task.switches.plan_approval:
        return True
    return bool(task.plan and task.plan.approved_by and _unfinished(task.plan))


def _problem(plan: Plan, step: Step) -> str:
    return f"Step {plans.place(plan, step)} ({step.name}): {step.problem}"


async def _answered(tx: Tx, task: Task) -> Task:
    """End a task whose planner has answered in words, which stand in the thread: there is nothing left to plan."""
    acting = await move_task(tx, task, TaskEvent.ACT, planning=_planning_done(task))
    return await move_task(tx, acting, TaskEvent.SETTLE, outcome=replace(acting.outcome, result=IN_WORDS))


async def _handle_other_reply(tx: Tx, world: World, task: Task, found: Turn) -> Task:
    """The planner has not answered with a plan."""
    reply = found.exchanges[-1].reply
    if isinstance(reply, Clarify):
        return await clarify.ask_questions(tx, task, reply.questions)
    plan = task.plan
    if plan is None or not plan.steps:
        return await (_answered(tx, task) if isinstance(reply, Say) else fail_task(tx, task, NO_PLAN))
    if _unfinished(plan) and _needs_no_approval(task):  # it must not go on as if nothing had been said
        on = await move_task(tx, task, TaskEvent.ACT, plan=begun_anew(plan), planning=_planning_done(task))
        said = found.text or "".join(one.text for one in task.instructions[-1:])  # of an admin
        told = await told_words(tx, task, said)
        reason = NOT_TAKEN.format(text=f"“{plans.clipped(told, 300)}”.")
        return await move_task(tx, on, TaskEvent.PAUSE, reason=reason, pause=next_pause(on, PauseReason.WISH))
    await say_in_thread(tx, task, AS_IT_WAS, task.revision)
    if not _unfinished(plan):
        return await _started(tx, task, plan)
    same = plans.with_seal(task.id, replace(begun_anew(plan), version=plan.version + 1))
    return await _presented(tx, task, same)
