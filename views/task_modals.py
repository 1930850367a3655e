"""The windows of a task: answers, feedback, the reason of a new plan, the steps to modify, and all of a plan."""

from __future__ import annotations

import json
from collections.abc import Iterable

from gate.rules.reviews import COMMENT, undoable
from gate.rules.task import PauseReason, Plan, Step, Task
from gate.rules.task_states import TaskState
from views import edit_form
from views import task_buttons as buttons
from views.block_kit import (
    Block,
    context,
    field,
    line,
    mrkdwn,
    pack,
    plain,
    rich,
    sentence,
    text_input,
    words,
)
from views.buttons import tagged
from views.form_fields import Form
from views.modals import View, message
from views.preview import is_larger
from views.result_review_card import result_form
from views.task_form import Specs, step_fields
from views.task_plan import choice, fitted, head
from views.task_questions import ANSWER, answer_fields
from views.task_wording import in_short, looked_at, whole

FEEDBACK = "feedback"  # block and action id of the one input of the modals that have one
TOO_LONG = "This result is too long for Slack's input: it can be changed through the API, or rejected here."
ON_CARD = "Please decide on the card of this plan: it says how it stands."
APPROVALS = {"all": (buttons.APPROVE, "Approve all"), "steps": (buttons.STEPWISE, "Step by step")}
BLOCKS = 90
BYTES = 220 * 1024


def answers(task: Task) -> View:
    """A field for each question."""
    return _form(buttons.ANSWER, "Answers", answer_fields(task.questions), _at(task, task.asked), "Submit")


def changes(task: Task) -> View:
    """What should be different."""
    asked = "What should be different?"
    told = "I go on with this and with all that was said before. The assistant will read it."
    return _form(buttons.CHANGES, "Needs changes", [_input(asked, told)], _at(task, task.ends), "Go on")


def replan(task: Task, plan: Plan) -> View:
    """Why it should be planned anew."""
    asked = "What should the new plan do differently?"
    told = "Nothing of the old plan runs any more. The assistant will read what you write."
    return _form(buttons.REPLAN, "Plan anew", [_input(asked, told)], buttons.of_plan(task, plan), "Plan anew")


def modify(task: Task, plan: Plan, specs: Specs) -> View:
    """Every step that has not begun: its place, whether it stays, an instruction, its arguments."""
    told = sentence("Nothing runs yet: the changed plan is shown to you first, and has to be approved.")
    blocks = [told, *step_fields(plan, specs)]
    return _form(buttons.MODIFY, "Modify the plan", blocks, buttons.of_plan(task, plan), "Show the new plan")


def revise(task: Task) -> View | None:
    """What the step gave, to be changed for later steps; a message where it is too long for one input."""
    step = looked_at(task, task.pauses)
    if task.why is not PauseReason.REVIEW or step is None:
        return None
    inputs = edit_form.blocks(result_form(step.result or {}))
    if not any(one["type"] == "input" for one in inputs):
        return message(TOO_LONG)
    told = context(mrkdwn("Later steps get this; what the step truly gave stays on record beside it."))
    blocks = [told, *inputs, _comment()]
    return _form(buttons.REVISE, "Change the result", blocks, _at(task, task.pauses), "Go on with this")


def revised(task: Task) -> Form | None:
    """The fields of what the step gave that is looked at."""
    step = looked_at(task, task.pauses)
    return result_form(step.result or {}) if step else None


def refuse(task: Task) -> View | None:
    """Why what the step gave is not to be used."""
    step = looked_at(task, task.pauses)
    if task.why is not PauseReason.REVIEW or step is None:
        return None
    undo = "You can undo it afterwards." if undoable(step) else "There is nothing to undo."
    told = sentence(f"What the step gave is dropped and the step counts as failed. {undo}")
    return _form(buttons.REFUSE, "Reject the result", [told, _comment()], _at(task, task.pauses), "Reject")


def _comment() -> Block:
    element = text_input(FEEDBACK, most=COMMENT)
    return field(FEEDBACK, "Comment", element, hint="It is kept with your decision.", optional=True)


def everything(task: Task, plan: Plan) -> View:
    """All of a plan, each step whole as long as there is room."""
    return _view(buttons.WHOLE, "The whole plan", _steps(task, plan)[0])


def approval(task: Task, plan: Plan) -> View:
    """The same with what a yes to it means, and the yes; a message where it cannot be given here."""
    how, told = choice(task, plan, fitted(plan))
    blocks, is_whole = _steps(task, plan)
    if task.state is not TaskState.PLAN_REVIEW or not how or not is_whole:
        return message(ON_CARD if how else told)
    kind, submit = APPROVALS[how]
    return _form(kind, "The whole plan", [*blocks, sentence(told)], buttons.of_plan(task, plan), submit)


def _steps(task: Task, plan: Plan) -> tuple[list[Block], bool]:
    """Every step as far as there is room, and whether that was enough for all of them whole."""
    is_whole = True
    blocks: list[Block] = [head(task)]
    left = BYTES - len(json.dumps(blocks))  # counted step by step: all blocks are long to write out for each
    for step in plan.steps:
        made = _whole(plan, step, BLOCKS - len(blocks), left)
        is_whole = is_whole and made is not None
        added = made or pack([*in_short(plan, step), *_sureness(step)])
        blocks, left = [*blocks, *added], left - len(json.dumps(added))
        if len(blocks) > BLOCKS or left < 0:
            blocks = [*blocks[:BLOCKS], context(mrkdwn("… and more than a window holds."))]
            break
    return blocks, is_whole


def _whole(plan: Plan, step: Step, most: int, left: int) -> list[Block] | None:
    """The whole of a step; None where there is no room for it in so many blocks and bytes."""
    if step.preview and is_larger(step.preview, left):
        return None
    made = pack([*whole(plan, step), *_sureness(step)])
    return made if len(made) <= most and len(json.dumps(made)) <= left else None


def _sureness(step: Step) -> list[Block]:
    """How sure it is that a step went well: the number alone, as its reasons may quote what the step gave."""
    found = step.confidence
    return [line(words(f"Confidence: {found.score:.2f} of 1", "italic"))] if found else []


def _input(label: str, hint: str) -> Block:
    return field(FEEDBACK, label, text_input(FEEDBACK, most=ANSWER), hint=hint)


def _at(task: Task, number: int) -> str:
    return buttons.value(task.id, number)


def _form(kind: str, title: str, blocks: Iterable[Block], at: str, submit: str) -> View:
    view = _view(kind, title, list(blocks))
    return {
        **view,
        "close": plain("Cancel", 24),
        "submit": plain(submit, 24),
        "private_metadata": tagged(kind, at),
    }


def _view(kind: str, title: str, blocks: list[Block]) -> View:
    return {
        "type": "modal",
        "callback_id": kind,
        "title": plain(title, 24),
        "blocks": blocks or [rich(line(words("There is nothing to show.")))],
        "close": plain("Close", 24),
    }
