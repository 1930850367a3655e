"""What somebody wishes of a task that runs: that it pauses, or stops, once nothing of it runs any more."""

from __future__ import annotations

from gate.rules import plans
from gate.rules.action_states import State
from gate.rules.ports import World
from gate.rules.task import Flow, PauseReason, Plan, StepState, StopRequest, Task
from gate.rules.task_states import TaskEvent
from gate.tasks.task_transitions import end_by_user, lock_unchanged, move_task, next_pause


async def only_waits(world: World, task: Task, plan: Plan) -> bool:
    """Whether a pause that somebody wants of a plan need not wait for what has begun: that waits for a person, too."""
    if task.wish is not StopRequest.PAUSE or not task.planned:
        return False
    found = [await world.ledger.action(step.action) for step in plan.begun]
    return all(action is not None and action.state is State.PREPARED for action in found)


async def stop_or_pause(world: World, task: Task) -> Task | None:
    """Stop or pause where somebody wants that. None where nobody does, or nothing is left to pause before."""
    step = task.plan.current if task.plan else None
    before = step is not None or (task.flow is Flow.SIMPLE and world.planner.follows)
    if task.wish is StopRequest.NONE or (task.wish is StopRequest.PAUSE and not before):
        return None
    async with world.ledger.begin() as tx:
        now = await lock_unchanged(tx, task)
        if now.wish is StopRequest.STOP:
            return await end_by_user(tx, now, now.ended_by)
        return await move_task(
            tx, now, TaskEvent.PAUSE, reason=_paused_before(now), pause=next_pause(now, PauseReason.WISH)
        )


def _paused_before(task: Task) -> str:
    step = task.plan.current if task.plan and task.planned else None
    if task.plan is None or step is None:
        return "Paused before what comes next."
    place = plans.place(task.plan, step)
    if step.state is StepState.ASKED:
        return (
            f"Step {place} still waits for a decision on its card. A yes there carries out that step alone."
        )
    return f"Paused before step {place}."
