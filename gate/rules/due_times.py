"""When the sweep looks at a task that nobody has touched since; of an action its row says it (storage/rows.py)."""

from __future__ import annotations

from gate.rules.ports import Limits
from gate.rules.task import PauseReason, Task
from gate.rules.task_states import TaskState

IDLE_SECONDS = 600.0  # seconds after which something that should go on by itself is looked at


def card_waited_at(task: Task) -> str:
    """The card that a task waits at for a limited time, as kind and number; "" where it does not wait so."""
    if task.state is TaskState.CLARIFYING and task.questions:
        return f"question:{task.asked}"
    if task.state is TaskState.PLAN_REVIEW and task.plan and not task.plan.lapsed:
        return f"plan:{task.plan.version}"
    if task.state is TaskState.PAUSED and task.why is PauseReason.SUMMARY:
        return f"pause:{task.pauses}"
    if task.state is TaskState.SATISFACTION:
        return f"satisfaction:{task.ends}"
    return ""


def due_after(task: Task, limits: Limits) -> float | None:
    """Seconds from now until the sweep looks at a task that has just come to stand as it does; None: it is over, or
    waits for a person for as long as they like. The time of a summary begins when people can see its card."""
    if task.driven:
        return IDLE_SECONDS
    seconds = {
        "question": limits.question,
        "plan": limits.plan,
        "pause": IDLE_SECONDS,
        "satisfaction": limits.settle,
    }
    return seconds.get(card_waited_at(task).partition(":")[0])
