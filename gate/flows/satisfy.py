"""Satisfy: after a task, ask once whether it was what they needed. It blocks nobody and settles itself."""

from __future__ import annotations

from gate import runs
from gate.flows.clarify import held
from gate.flows.life import begun_turn, moved, pressed
from gate.flows.open import opened_task
from gate.flows.press import Said, TaskPress
from gate.people import TaskVerb
from gate.talk import Mode
from gate.task import Flow, Task
from gate.task_states import NoSuchTaskArrow, TaskEvent, TaskState
from gate.world import StaleTask, Tx, World

WHAT = "Please say what should be different."
MOST = 4000  # characters of feedback


def _ends(task: Task) -> int:
    return task.ends


async def satisfied(world: World, press: TaskPress) -> Said:
    """*Yes, done*. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task:
        return await moved(tx, task, TaskEvent.SETTLE, press.user, ended_by=press.user)

    return await pressed(world, press, TaskVerb.SATISFY, _ends, do)


async def needs_changes(world: World, press: TaskPress) -> Said:
    """Run again with what they say (`press.text`), and with all that was known. Raises Unavailable."""
    feedback = press.text.strip()[:MOST]

    async def do(tx: Tx, task: Task) -> Task | Said:
        if not feedback:
            return Said(False, "empty", WHAT, task=task)
        other = await tx.holder(task.session) if task.plan else None
        if other is not None and other.id != task.id:
            return Said(False, "held", held(other, press.user), task=task)
        again = task.attempts + 1
        changed = await moved(
            tx, task, TaskEvent.CHANGE, press.user, attempts=again, reason=feedback, flow=_flow(task)
        )
        if changed.flow is Flow.PLAN:
            turn = await begun_turn(tx, changed, Mode.PLAN, feedback)
            return await moved(tx, changed, TaskEvent.REPLAN, press.user, turn=turn)
        turn = await begun_turn(tx, changed, Mode.ACT, feedback)
        return await tx.keep_task(changed, turn=turn)

    return await pressed(world, press, TaskVerb.SATISFY, _ends, do)


def _flow(task: Task) -> Flow:
    return Flow.PLAN if task.plan else Flow.SIMPLE


async def start_over(world: World, press: TaskPress) -> Said:
    """The same request as a new task, without what was said and done before. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task:
        done = await moved(tx, task, TaskEvent.SETTLE, press.user, ended_by=press.user, reason="started over")
        now = await tx.now()
        fresh = opened_task(f"over:{task.id}", task.session, task.requester, task.text, task.switches, now)
        await tx.open_task(fresh)
        tx.enqueue(runs.task(fresh.id, "open"))
        return done

    return await pressed(world, press, TaskVerb.SATISFY, _ends, do)


async def settle(world: World, task_id: str, ends: int) -> None:
    """A day later nobody has said otherwise. Does nothing when the task has moved on."""
    try:
        async with world.ledger.begin() as tx:
            task = await tx.task(task_id)
            if task is None or task.state is not TaskState.SATISFACTION or task.ends != ends:
                return
            await moved(tx, task, TaskEvent.SETTLE, reason="nobody said otherwise")
    except (NoSuchTaskArrow, StaleTask):
        return
