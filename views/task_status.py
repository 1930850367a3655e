"""How things stand, for who asks: the task of a thread, its current step, what waits for whom, what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from gate.rules.action import Action
from gate.rules.task import Task, Wish
from gate.rules.task_states import TaskState
from views import task_buttons as buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    one_line,
    rich,
    sentence,
    words,
)
from views.task_progress import WISHES
from views.task_step import what
from views.task_wording import counted, mode, number, spent, state
from views.wording import effect, may_confirm

NOTHING = "Nothing is under way in this thread."
MOST = 10  # waiting actions that are named
AWAITED = {
    TaskState.TALKING: "say more, or confirm what I understood",
    TaskState.CLARIFYING: "answer the questions",
    TaskState.PLAN_REVIEW: "decide on the plan",
    TaskState.PAUSED: "say how it goes on",
    TaskState.SATISFACTION: "say whether this meets their needs",
}


def status(task: Task | None, waiting: Sequence[Action] = ()) -> Message:
    """`waiting`: the actions that wait for a decision in the thread."""
    if task is None:
        return Message(NOTHING, [sentence(NOTHING), *_waiting(waiting)])
    own = [each for each in waiting if not each.task or each.task == task.id]
    return Message(
        f"{state(task)}: {escaped(one_line(task.text), 200)}",
        [
            rich(line(words(f"{state(task)}: ", "bold"), words(one_line(task.text), most=300))),
            *_step(task),
            *_awaited(task),
            *_waiting(own),
            *([sentence(WISHES[task.wish])] if task.wish is not Wish.NONE else []),
            *_notes(task),
        ],
    )


def _step(task: Task) -> list[Block]:
    if task.plan is None or not task.planned:
        return []
    current, steps = task.plan.current, len(task.plan.steps)
    over = sum(step.is_finished for step in task.plan.steps)
    if current is None or task.is_finished:
        return [sentence(f"{over} of {counted(steps, 'step')} over.")]
    place = f"Step {number(task.plan, current)} of {steps}: "
    return [rich(line(words(place), words(what(current), "bold", most=200)))]


def _awaited(task: Task) -> list[Block]:
    """What the requester is asked to do now."""
    told = AWAITED.get(task.state, "")
    if not told or (task.state is TaskState.CLARIFYING and not task.questions):
        return []
    return [sentence(f"Waits for {mention(task.requester)} to {told}.")]


def _waiting(waiting: Sequence[Action]) -> list[Block]:
    shown = [
        block
        for action in waiting[:MOST]
        for block in (
            rich(line(words(effect(action), "bold", most=200))),
            context(mrkdwn(f"Waits for {may_confirm(action)}.")),
        )
    ]
    left = len(waiting) - MOST
    return [*shown, *([context(mrkdwn(f"… and {left:,} more."))] if left > 0 else [])]


def _notes(task: Task) -> list[Block]:
    unused = len(task.unused)
    told = [
        f"M{mode(task.switches)[1:]}." if task.plan else "",
        f"{counted(unused, 'instruction')} {'waits' if unused == 1 else 'wait'} for the next step."
        if unused
        else "",
        spent(task.planning.usage),
        f"Attempt {task.attempts}." if task.ends and task.attempts > 1 else "",
    ]
    own = " ".join(filter(None, told))
    return [context(mrkdwn(own))] if own else []


def talk(text: list[Block], top: str, task: Task | None) -> Message:
    """Words in a conversation, with *Implement now* under them while it is still talked about."""
    open_talk = task is not None and task.state is TaskState.TALKING and not task.requirements
    offered = task is not None and open_talk and task.switches.allow_execution_transition
    press = [actions(buttons.implement(task.id, task.attempts))] if task is not None and offered else []
    return Message(top, [*text, *press])
