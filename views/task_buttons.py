"""The buttons of a task's cards: each id beside what it looks like. They carry `task.NUMBER.RECEIPT`, no fact."""

from __future__ import annotations

from gate.rules.task import Plan, StopRequest, Task
from views.block_kit import Block, button, plain

DECIDE = "plan_decide"  # opens a window with all of the plan, which takes the yes
SUBMIT = "task_submit"  # the answers stand in the card's own fields
ANSWER = "task_answer"  # opens the form
ASSUME = "task_assume"
APPROVE = "plan_approve"
STEPWISE = "plan_stepwise"
MODIFY = "plan_modify"
REPLAN = "plan_replan"
CANCEL = "plan_cancel"
ASK_AGAIN = "plan_again"
WHOLE = "plan_whole"
PAUSE = "task_pause"
STOP = "task_stop"
RESUME = "task_resume"
HOLD = "task_hold"
RETRY = "step_retry"
SKIP = "step_skip"
ABORT = "task_abort"
REVISE = "review_revise"  # opens a window with what the step gave
REFUSE = "review_refuse"  # opens a window for the reason
UNDO_STEP = "review_undo"
SATISFIED = "task_satisfied"  # also of both sides of Slack's feedback buttons, which have one id
DONE, NEEDS_CHANGES = "Yes, done", "Needs changes…"
POOR = "poor"  # what the side that wants changes carries in the place of a receipt
CHANGES = "task_changes"
START_OVER = "task_start_over"
IMPLEMENT = "task_implement"
CONFIRM = "task_confirm"
KEEP_TALKING = "task_keep_talking"
UNDO_ALL = "task_undo_all"


def value(task_id: str, number: int, receipt: str = "") -> str:
    """What a button carries, for gate.rules.action.Ref to read."""
    return f"{task_id}.{number}.{receipt[:16] or '0'}"


def of_plan(task: Task, plan: Plan) -> str:
    return value(task.id, plan.version, plan.seal)


def answering(task: Task, in_card: bool, skippable: bool) -> list[Block]:
    at = value(task.id, task.asked)
    first = button("Submit", SUBMIT, at, "primary") if in_card else button("Answer…", ANSWER, at, "primary")
    return [first, *([button("Skip", ASSUME, at)] if skippable else []), button("Cancel", CANCEL, at)]


def answering_in_form(task: Task) -> list[Block]:
    """In a list, which has no fields."""
    at = value(task.id, task.asked)
    return [button("Answer…", ANSWER, at, "primary"), button("Cancel", CANCEL, at)]


def deciding(task: Task, plan: Plan, approvable: bool) -> list[Block]:
    """In a list, which does not show all of the plan."""
    at = of_plan(task, plan)
    if plan.lapsed:
        return [button("Ask again", ASK_AGAIN, at, "primary"), button("Cancel", CANCEL, at)]
    first = button("Approve…", DECIDE, at, "primary") if approvable else everything(task, plan)
    return [first, button("Cancel", CANCEL, at)]


def stopping(task: Task, reviewed: bool) -> list[Block]:
    """In a list, of a task that waits. `reviewed`: for a look at a result."""
    at = value(task.id, task.pauses)
    no = [button("Reject result…", REFUSE, at, "danger")] if reviewed else []
    return [*no, button("Stop", STOP, at, "danger")]


def reviewing(task: Task, plan: Plan, how: str, hidden: bool) -> list[Block]:
    """`how` it may be approved: "all", only in "steps", or "" for not at all. `hidden`: not all of it is shown."""
    at = of_plan(task, plan)
    stepwise = [button("Step by step", STEPWISE, at, "" if how == "all" else "primary")] if how else []
    return [
        *([button("Approve all", APPROVE, at, "primary")] if how == "all" else []),
        *stepwise,
        button("Modify…", MODIFY, at),
        button("Plan anew…", REPLAN, at),
        *([everything(task, plan)] if hidden else []),
        button("Cancel", CANCEL, at),
    ]


def lapsed(task: Task, plan: Plan) -> list[Block]:
    """On a plan that nobody decided on in time."""
    at = of_plan(task, plan)
    return [
        button("Ask again", ASK_AGAIN, at, "primary"),
        button("Plan anew…", REPLAN, at),
        button("Cancel", CANCEL, at),
    ]


def running(task: Task, plan: Plan) -> list[Block]:
    """What somebody wishes already cannot be pressed again; *Stop* stays until it is wished."""
    at = of_plan(task, plan)
    pause = (
        [button("Pause", PAUSE, at)] if task.switches.pause_enabled and task.wish is StopRequest.NONE else []
    )
    return [*pause, button("Stop", STOP, at, "danger")]


def everything(task: Task, plan: Plan) -> Block:
    return button("Show everything", WHOLE, of_plan(task, plan))


def undo_all(task: Task, plan: Plan) -> Block:
    return button("Undo all", UNDO_ALL, of_plan(task, plan))


def holding(task: Task) -> list[Block]:
    """On what goes on by itself in a moment."""
    at = value(task.id, task.pauses)
    return [
        button("Hold", HOLD, at, "primary"),
        button("Go on now", RESUME, at),
        button("Stop", STOP, at, "danger"),
    ]


def looking(task: Task) -> list[Block]:
    """On the result of a step that waits for a person's look."""
    at = value(task.id, task.pauses)
    return [
        button("Continue", RESUME, at, "primary"),
        button("Change result…", REVISE, at),
        button("Reject result…", REFUSE, at, "danger"),
        button("Stop", STOP, at, "danger"),
    ]


def paused(task: Task, broken: bool, undoable: bool = False) -> list[Block]:
    """`broken`: the step before did not go through, or not well. `undoable`: it can be taken back from here."""
    at = value(task.id, task.pauses)
    if broken:
        return [
            button("Retry", RETRY, at, "primary"),
            button("Skip", SKIP, at),
            *([button("Undo this step", UNDO_STEP, at)] if undoable else []),
            button("Abort", ABORT, at, "danger"),
        ]
    return [button("Continue", RESUME, at, "primary"), button("Stop", STOP, at, "danger")]


def satisfying(task: Task, plainly: bool) -> list[Block]:
    """What stands in a row. `plainly`: with buttons in place of `feedback`."""
    at = value(task.id, task.ends)
    plain_sides = [button(DONE, SATISFIED, at, "primary"), button(NEEDS_CHANGES, CHANGES, at)]
    return [*(plain_sides if plainly else []), button("Start over", START_OVER, at)]


def feedback(task: Task, plainly: bool) -> list[Block]:
    """Slack's feedback buttons with the two answers, a block of their own; none `plainly`, for where Slack does not
    take them."""
    if plainly:
        return []
    good, poor = value(task.id, task.ends), value(task.id, task.ends, POOR)
    element = {
        "type": "feedback_buttons",
        "action_id": SATISFIED,
        "positive_button": {"text": plain(DONE, 75), "value": good},
        "negative_button": {"text": plain(NEEDS_CHANGES, 75), "value": poor},
    }
    return [{"type": "context_actions", "elements": [element]}]


def confirming(task: Task) -> list[Block]:
    at = value(task.id, task.attempts)
    return [
        button("Confirm and plan", CONFIRM, at, "primary"),
        button("Keep talking", KEEP_TALKING, at),
    ]


def implement(task_id: str, number: int) -> Block:
    return button("Implement now", IMPLEMENT, value(task_id, number), "primary")
