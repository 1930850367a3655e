"""Plan: what the planner proposes becomes steps that are looked at, shown, and decided on as a whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gate.rules import plans
from gate.rules.action import Verdict
from gate.rules.plan_changes import StepChange, composed
from gate.rules.planner_port import Clarify, Mode, ProposePlan, Turn
from gate.rules.ports import Tx, World
from gate.rules.task import Plan, Planning, Step, Task, Why
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks import clarify, replies
from gate.tasks.plan_preview import looked
from gate.tasks.plan_review import (
    approve_all,
    ask_again,
    cancel,
    lapse,
    look_again,
    modify,
    replan,
    step_by_step,
)
from gate.tasks.task_log import begun_turn, failed, kept, moved, paused, say_in_thread, unchanged

__all__ = [
    "StepChange",
    "approve_all",
    "ask_again",
    "cancel",
    "lapse",
    "look_again",
    "make",
    "modify",
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


async def make(world: World, task: Task) -> bool:
    """Make a plan of what the planner has answered. False while it is still at it. Safe to repeat: reads alone
    happen before the one transaction that shows it."""
    found = await world.ledger.turn(task.turn)
    if found is None or not replies.is_finished(world.planner, found):
        return False
    reply = found.exchanges[-1].reply
    if isinstance(reply, ProposePlan):
        plan = await _proposed(world, task, reply)
        return await _write(world, task, lambda tx, now: _take(tx, world, now, plan))
    return await _write(world, task, lambda tx, now: _other(tx, world, now, found))


async def _proposed(world: World, task: Task, reply: ProposePlan) -> Plan:
    steps, last = composed(task.plan, reply.steps)
    before = task.plan or Plan(0, ())
    plan = replace(
        before, version=before.version + 1, steps=steps, last=last, note=plans.clipped(reply.note, NOTE)
    )
    if too_long(world, plan):
        return plan
    return await looked(world, task, plan)


def too_long(world: World, plan: Plan) -> bool:
    return len(_left(plan)) > world.limits.steps


def _left(plan: Plan | None) -> list[Step]:
    return [step for step in plan.steps if not step.is_finished] if plan else []


async def _write(world: World, task: Task, do: Callable[[Tx, Task], Awaitable[Task]]) -> bool:
    async with world.ledger.begin() as tx:
        now = await unchanged(tx, task)
        if now.unused:  # said while the plan was being made: it has to be made of that, too
            again = await begun_turn(tx, now, Mode.PLAN, now.unused[-1].text)
            await tx.keep_task(now, planning=replace(now.planning, turn=again))
            return False
        now = await do(tx, now)
        return now.state is not TaskState.PLANNING


async def _take(tx: Tx, world: World, task: Task, plan: Plan) -> Task:
    """Show the plan, or begin with it; send it back to a planner that may mend it; or give up."""
    left = _left(plan)
    problems = [TOO_MANY.format(count=len(left), most=world.limits.steps)] if too_long(world, plan) else []
    problems += [_problem(plan, step) for step in left if plans.blocked(step)]
    if problems and world.planner.follows and task.planning.repairs < REPAIRS:
        text = REPAIR.format(problems=" ".join(problems))
        again = await begun_turn(tx, task, Mode.PLAN, text)
        planning = replace(task.planning, turn=again, repairs=task.planning.repairs + 1)
        return await kept(tx, task, "plan sent back", planning=planning)
    if too_long(world, plan):
        return await failed(tx, task, problems[0])
    if not plan.steps:
        return await failed(tx, task, NO_PLAN)
    return await _show(tx, task, plan)


async def _show(tx: Tx, task: Task, plan: Plan) -> Task:
    """An approved plan that an instruction changed goes on: what is new in it asks for itself."""
    if _only_reads(plan) or _goes_on(task):
        return await _begun(tx, task, plan)
    fresh = plans.sealed(task.id, plans.unapproved(replace(plan, lapsed=False)))
    return await _shown(tx, task, fresh)


async def _begun(tx: Tx, task: Task, plan: Plan | None) -> Task:
    return await moved(tx, task, TaskEvent.ACT, plan=plan, planning=_made(task), reason="")


async def _shown(tx: Tx, task: Task, plan: Plan) -> Task:
    return await moved(tx, task, TaskEvent.PRESENT, plan=plan, planning=_made(task), reason=task.reason)


def _made(task: Task) -> Planning:
    """The planner's work once it has made a plan that is taken."""
    return replace(task.planning, repairs=0)


def _only_reads(plan: Plan) -> bool:
    """Whether nothing of what is left needs anybody's yes: reads never wait, also when there are many of them."""
    return all(step.verdict is Verdict.RUN for step in _left(plan))


def _goes_on(task: Task) -> bool:
    """Whether a new version of the plan is not to be approved as a whole."""
    if not task.switches.plan_approval:
        return True
    return bool(task.plan and task.plan.approved_by and _left(task.plan))


def _problem(plan: Plan, step: Step) -> str:
    return f"Step {plans.place(plan, step)} ({step.name}): {step.problem}"


async def _other(tx: Tx, world: World, task: Task, found: Turn) -> Task:
    """The planner has not answered with a plan."""
    reply = found.exchanges[-1].reply
    if isinstance(reply, Clarify):
        return await clarify.ask(tx, task, reply.questions)
    plan = task.plan
    if plan is None or not plan.steps:
        return await failed(tx, task, NO_PLAN)
    if _left(plan) and _goes_on(task):  # it must not go on as if nothing had been said
        on = await moved(tx, task, TaskEvent.ACT, planning=_made(task))
        reason = NOT_TAKEN.format(text=f"“{plans.clipped(found.text, 300)}”.")
        return await moved(tx, on, TaskEvent.PAUSE, reason=reason, pause=paused(on, Why.WISH))
    await say_in_thread(tx, task, AS_IT_WAS, task.revision)
    if not _left(plan):
        return await _begun(tx, task, plan)
    same = plans.sealed(task.id, replace(plan, version=plan.version + 1))
    return await _shown(tx, task, same)
