"""Drive: let a task go on by itself until somebody has to say something."""

from __future__ import annotations

from gate.flows import clarify, converse, plan, simple, steps, undo_plan
from gate.flows.life import failed
from gate.flows.turn import BROKEN
from gate.task import Flow, Task
from gate.task_states import TaskState
from gate.world import StaleTask, Unavailable, World


async def go_on(world: World, task_id: str) -> None:
    """Do what comes next, until nothing does. Safe to repeat, and at the same time as another run: every write
    is guarded, and who was second looks again.

    Raises Unavailable: then the run is tried again; and what else went wrong, once people have been told."""
    try:
        await _go_on(world, task_id)
    except Unavailable:
        raise
    except Exception:
        async with world.ledger.begin() as tx:
            task = await tx.task(task_id)
            if task is not None and not task.over:
                await failed(tx, task, BROKEN)
        raise


async def _go_on(world: World, task_id: str) -> None:
    while (task := await world.ledger.task(task_id)) is not None:
        try:
            if not await _next(world, task):
                return
        except StaleTask:
            continue


async def _next(world: World, task: Task) -> bool:
    if task.plan and task.plan.undoing:  # first of all that may come next
        return await undo_plan.go_on(world, task)
    if task.state is TaskState.CLARIFYING:
        return await clarify.assess(world, task)
    if task.state is TaskState.TALKING:
        return await converse.go_on(world, task)
    if task.state is TaskState.PLANNING:
        return await plan.make(world, task)
    if task.state is TaskState.PLAN_REVIEW:
        return await plan.look_again(world, task)
    if task.state is TaskState.RUNNING:
        simply = task.flow is Flow.SIMPLE
        return await (simple.go_on(world, task) if simply else steps.go_on(world, task))
    if task.state is TaskState.PAUSED:
        return await steps.follow(world, task)
    if task.state is TaskState.SATISFACTION:
        return await (undo_plan.look_back(world, task) if task.plan else simple.look_back(world, task))
    return False
