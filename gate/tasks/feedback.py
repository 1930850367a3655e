"""Satisfy: after a task, ask once whether it was what they needed. It blocks nobody and settles itself."""

from __future__ import annotations

from dataclasses import replace

from gate.actions.button_press import PressResult, TaskPress
from gate.rules import jobs, plans
from gate.rules.audit import Entry
from gate.rules.ledger_ports import TaskParts
from gate.rules.permissions import TaskVerb, may_task
from gate.rules.planner_port import Mode
from gate.rules.ports import StaleTask, Tx, World
from gate.rules.settings import Switches
from gate.rules.task import Flow, Task
from gate.rules.task_states import NoSuchTaskArrow, TaskEvent, TaskState
from gate.sentences.feedback import is_thanks
from gate.tasks.clarify import thread_busy_reason
from gate.tasks.create_task import new_task
from gate.tasks.task_transitions import move_task, press_task, start_turn, told_words

CHANGE_MISSING = "Please say what should be different."
NO_CHANGE = "That reads as thanks, so nothing runs again. Press *Yes, done*, or say what should be different."
NOTED = "Thank you, I have written that down. Whether it is done is for <@{user}> to say."
MOST = 4000  # characters of feedback


def _ends(task: Task) -> int:
    return task.ends


async def satisfied(world: World, press: TaskPress) -> PressResult:
    """*Yes, done*. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task:
        return await _finish(tx, task, press.user)

    return await press_task(world, press, TaskVerb.SATISFY, _ends, do)


async def positive_feedback(world: World, press: TaskPress) -> PressResult:
    """Slack's positive feedback: *Yes, done* of whoever may say so; of others it is written down. Raises Unavailable:
    then nothing changed."""
    person = await world.people.known(press.team, press.user)

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if may_task(world.policy, TaskVerb.SATISFY, task, person).allowed:
            return await _finish(tx, task, press.user)
        session = task.session.key
        tx.audit(
            Entry(event="feedback", session=session, actor=press.user, action=task.id, outcome="positive")
        )
        return PressResult(True, "feedback", NOTED.format(user=task.requester), task=task)

    return await press_task(world, press, TaskVerb.LOOK, _ends, do)


async def _finish(tx: Tx, task: Task, user: str) -> Task:
    return await move_task(tx, task, TaskEvent.SETTLE, user, outcome=replace(task.outcome, ended_by=user))


async def needs_changes(world: World, press: TaskPress) -> PressResult:
    """Run again with what they say (`press.text`), and with all that was known. Whatever was allowed before, by a
    grant or with the plan, each call of the new attempt asks. Raises Unavailable."""
    feedback = press.text.strip()[:MOST]

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if not feedback:
            return PressResult(False, "empty", CHANGE_MISSING, task=task)
        if is_thanks(feedback):
            return PressResult(False, "thanks", NO_CHANGE, task=task)
        other = await tx.thread_holder(task.session) if task.planned else None
        if other is not None and other.id != task.id:
            return PressResult(False, "held", thread_busy_reason(other, press.user), task=task)
        again = TaskParts(
            planning=replace(task.planning, attempts=task.attempts + 1),
            request=replace(task.request, asks=True),
            reason=await told_words(tx, task, feedback),
            flow=_flow(task),
            plan=replace(plans.without_consent(task.plan), undone="") if task.plan else None,
        )
        changed = await move_task(tx, task, TaskEvent.CHANGE, press.user, **again)
        planned = changed.flow is Flow.PLAN
        turn = await start_turn(tx, changed, Mode.PLAN if planned else Mode.ACT, feedback)
        planning = replace(changed.planning, turn=turn)
        if planned:
            return await move_task(tx, changed, TaskEvent.REPLAN, press.user, planning=planning)
        return await tx.update_task(changed, planning=planning)

    return await press_task(world, press, TaskVerb.SATISFY, _ends, do)


def _flow(task: Task) -> Flow:
    return Flow.PLAN if task.planned else Flow.SIMPLE


def _switches(task: Task) -> Switches:
    """Those of a task that is begun anew: what ran before, or may have, asks for itself, and so does all that changes
    something, since it may be in other words."""
    if task.plan is None or not plans.ran_before(task.plan):
        return task.switches
    review = "both" if plans.reviews_each(task) else "before_step"
    return replace(task.switches, review=review)


async def start_over(world: World, press: TaskPress) -> PressResult:
    """The same request as a new task, without what was said and done before; no grant covers a call of it, nor the
    approval of its plan where something ran before, or may have, that is not known to be done. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task:
        outcome = replace(task.outcome, ended_by=press.user)
        done = await move_task(tx, task, TaskEvent.SETTLE, press.user, outcome=outcome, reason="started over")
        now = await tx.now()
        fresh = new_task(f"over:{task.id}", task.session, task.requester, task.text, _switches(task), now)
        await tx.open_task(replace(fresh, request=replace(fresh.request, asks=True)))
        if maker := await tx.token_of(task.id, ""):  # what an agent asked for stays an agent's
            await tx.record_token(maker, fresh.id)
        tx.enqueue(jobs.task(fresh.id, "open"))
        return done

    return await press_task(world, press, TaskVerb.SATISFY, _ends, do)


async def finish_unanswered(world: World, task_id: str, ends: int) -> None:
    """A day later nobody has said otherwise. Does nothing when the task has moved on."""
    try:
        async with world.ledger.begin() as tx:
            task = await tx.task(task_id)
            if task is None or task.state is not TaskState.SATISFACTION or task.ends != ends:
                return
            await move_task(tx, task, TaskEvent.SETTLE, reason="nobody said otherwise")
    except (NoSuchTaskArrow, StaleTask):
        return
