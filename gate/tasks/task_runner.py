"""Drive: let a task go on by itself until somebody has to say something."""

from __future__ import annotations

from gate.rules.planner_port import Turn
from gate.rules.ports import StaleTask, Unavailable, World
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from gate.tasks import clarify, converse, plan, replies, run_steps, undo_all
from gate.tasks.step_action import settle_unknown_steps
from gate.tasks.task_transitions import BROKEN, fail_task


async def run_task(world: World, task_id: str, task: Task | None = None, turn: Turn | None = None) -> None:
    """Do what comes next, until nothing does. Safe to repeat, and at the same time as another run: every write
    is guarded, and who was second looks again. `task`, `turn`: as they stood just now, where the caller knows.

    Raises Unavailable: then the run is tried again; and what else went wrong, once people have been told."""
    try:
        await _run_task(world, task_id, task, turn)
    except Unavailable:
        raise
    except Exception:
        async with world.ledger.begin() as tx:
            task = await tx.task(task_id)
            if task is not None and not task.is_finished:
                await fail_task(tx, task, BROKEN)
        raise


async def _run_task(world: World, task_id: str, task: Task | None, turn: Turn | None) -> None:
    begun = None
    while (task := task or await world.ledger.task(task_id)) is not None:
        if task.state is TaskState.SATISFACTION and begun not in (None, task.state):
            return  # it has just come to its end: nothing of it was taken back since
        begun = task.state
        try:
            if not await settle_unknown_steps(world, task) and not await _next(world, task, turn):
                return
        except StaleTask:
            pass
        task = turn = None


async def _next(world: World, task: Task, turn: Turn | None) -> bool:
    if task.plan and task.plan.undoing:  # first of all that may come next
        return await undo_all.undo_next(world, task)
    if task.state is TaskState.CLARIFYING:
        return await clarify.assess(world, task)
    if task.state is TaskState.TALKING:
        return await converse.advance_conversation(world, task)
    if task.state is TaskState.PLANNING:
        return await plan.make_plan(world, task)
    if task.state is TaskState.PLAN_REVIEW:
        return await plan.refresh_previews(world, task)
    if task.state is TaskState.RUNNING:
        return await run_steps.run_next(world, task, turn)
    if task.state is TaskState.PAUSED:
        return await run_steps.recheck_paused_step(world, task)
    if task.state is TaskState.SATISFACTION:
        return await (
            undo_all.refresh_result(world, task) if task.planned else replies.refresh_result(world, task)
        )
    return False
