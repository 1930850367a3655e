"""The card of a pause: why a task waits, what each answer does, and how it went on."""

from __future__ import annotations

import re

from gate.arguments.tool_names import tool_in_words
from gate.rules.reviews import undoable
from gate.rules.steps import public_step
from gate.rules.task import NOBODY, PauseReason, StepState, Task
from gate.rules.task_states import TaskState
from gate.sentences.past_tense import past, past_if_known
from gate.sentences.plurals import counted
from views import task_buttons as buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    boxes,
    clip,
    context,
    escaped,
    field,
    line,
    mention,
    mrkdwn,
    pack,
    person,
    quote,
    rich,
    sentence,
    text_input,
    words,
)
from views.task_questions import ANSWER, EACH, WORDS
from views.task_wording import WHY, ended, fields_and_text, looked_at, what
from views.task_wording import number as place
from views.tool_results import gave, in_words

S = TaskState
GAVE = 1_500  # characters of a result on this card
DECIDED = re.compile(
    r"<@([UW][A-Z0-9_]{1,40})> (?=cancelled |rejected )"
)  # as gate.tasks.step_action writes it
WENT_ON = "It was paused, and went on."
TAKEN_IN = "What you write is taken in before it goes on."


def pause(task: Task) -> Message:
    """Why it waits, and what can be done about it; afterwards that it went on."""
    if task.state is not S.PAUSED:
        return Message(told, [sentence(told)]) if (told := _stopped(task)) else went_on(task, task.pauses)
    told = _reason(task)
    return Message(
        f"{WHY[task.why]}: {_named(told)}",
        [
            rich(line(words(f"{WHY[task.why]}.", "bold")), *_told(told)),
            *_gave(task),
            *_next(task),
            field(
                WORDS,
                "What should I know before it goes on?",
                text_input(WORDS, most=ANSWER),
                hint=TAKEN_IN,
                optional=True,
            ),
            *_briefly(task),
            *_refusing(task),
            actions(*_choices(task)),
            *_lapsed(task),
        ],
    )


def _named(told: str) -> str:
    """The reason in the top-level text, which names whoever decided."""
    actor = DECIDED.match(told)
    return f"{mention(actor[1])} {escaped(told[actor.end() :], 200)}" if actor else escaped(told, 200)


def _told(told: str) -> list[Block]:
    """The reason: a tool's words may be in it, so it is quoted; what somebody decided is said plainly."""
    if actor := DECIDED.match(told):
        return [line(person(actor[1]), words(f" {told[actor.end() :]}", most=1_500))]
    return [quote(told, 1_500)] if told else []


def _reason(task: Task) -> str:
    """Why it waits. Before it goes on by itself, in one sentence without the score."""
    step = looked_at(task, task.pauses)
    if task.why is not PauseReason.SUMMARY or task.plan is None or step is None or step.confidence is None:
        return task.reason
    doubts = "; ".join(step.confidence.reasons) or "it is not certain that it went well"
    return f"{past_if_known(what(step))}, but {doubts}."


def _gave(task: Task) -> list[Block]:
    """What the step gave that is to be looked at, in words, unless the reason quotes it; before it goes on by itself
    only what is news."""
    current = task.plan.current if task.plan else None
    step = looked_at(task, task.pauses) or (current if task.why is PauseReason.DOUBT else None)
    if step is None:
        return []
    fields, text = fields_and_text(public_step(step))
    if task.why is PauseReason.SUMMARY:
        told = gave(fields, text, f"{what(step)}\n{past(what(step))}", GAVE)
    else:
        told = in_words(fields, text, GAVE)
        told = "" if f"“{told.strip()}”" in _reason(task) else told
    return pack(boxes(clip(told, GAVE))) if told else []


def _choices(task: Task) -> list[Block]:
    if task.why is PauseReason.SUMMARY:
        return buttons.holding(task)
    if task.why is PauseReason.REVIEW and looked_at(task, task.pauses):
        return buttons.looking(task)
    step = task.plan.current if task.plan else None
    back = step is not None and bool(step.rejected_by) and undoable(step)
    return buttons.paused(task, task.why in (PauseReason.STEP, PauseReason.DOUBT), back)


def _refusing(task: Task) -> list[Block]:
    """What the two other answers to a result do."""
    step = looked_at(task, task.pauses)
    if task.why is not PauseReason.REVIEW or step is None:
        return []
    undo = "you are offered to undo it" if undoable(step) else "there is nothing to undo"
    told = (
        "*Change result…* changes what later steps get; the true result stays on record. *Reject result…* drops "
        f"what the step gave: nothing can use it, the step counts as failed, and {undo}."
    )
    return [context(mrkdwn(told))]


def _stopped(task: Task) -> str:
    over = task.state in (S.CANCELLED, S.STOPPED_BY_USER, S.FAILED)
    return f"It was paused. {ended(task)}" if over else ""


def passed(task: Task, number: int) -> bool:
    """Whether the task went on after this pause, and nobody rejected or changed a result in it."""
    step = looked_at(task, number)
    changed = step is not None and (step.edited or bool(step.rejected_by))
    return not changed and not (number == task.pauses and _stopped(task))


def went_on(task: Task, number: int) -> Message:
    """A pause that is over: which step was looked at in it, and who let it go on."""
    step = looked_at(task, number)
    if task.plan is not None and step is not None and step.rejected_by:
        by = mention(step.rejected_by)
        told = f"The result of step {place(task.plan, step)} was rejected by {by}: it is dropped."
        return Message(told, [sentence(told)])
    if task.plan is None or step is None or not step.passed:
        return Message(WENT_ON, [sentence(WENT_ON)])
    by = "Nobody held it, so it went on by itself" if step.passed == NOBODY else "It went on, as asked by"
    done = f"Step {place(task.plan, step)} was shown: "
    told = f"{by}." if step.passed == NOBODY else f"{by} {mention(step.passed)}."
    judged = step.confidence.judged if step.confidence else ""
    sure = f" {escaped(judged[:1].upper() + judged[1:], 300)}." if judged else ""
    edited = f" {mention(step.passed)} changed what later steps get of it." if step.edited else ""
    return Message(
        told, [rich(line(words(done), words(what(step), "bold", most=EACH))), sentence(told + sure + edited)]
    )


def _briefly(task: Task) -> list[Block]:
    """That it goes on by itself, and when."""
    step = looked_at(task, task.pauses)
    if task.why is not PauseReason.SUMMARY or step is None or step.look is None:
        return []
    seconds = counted(round(step.look.seconds), "second")
    return [
        sentence(f"*It goes on by itself* about {seconds} after this card appears, unless *Hold* is pressed.")
    ]


def _next(task: Task) -> list[Block]:
    """Which step it stands at."""
    step = task.plan.current if task.plan else None
    if task.plan is None or step is None or not task.planned:
        return []
    label = "It stands at step" if step.state is not StepState.WAITING else "Next is step"
    where = f"{label} {place(task.plan, step)} of {len(task.plan.steps)}: "
    told = public_step(step).preview
    named = told.summary if told else step.title or tool_in_words(step.name)
    return [rich(line(words(where), words(named, "bold", most=EACH)))]


def _lapsed(task: Task) -> list[Block]:
    told = "*Continue* asks again with a fresh card; so does *Ask again* on the old one."
    return [context(mrkdwn(told))] if task.why is PauseReason.LAPSED else []
