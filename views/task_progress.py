"""The card of a plan that runs or has run: each step ticked off, what was said meanwhile, and how it ended."""

from __future__ import annotations

from collections.abc import Iterable

from gate.rules.action import CallClass
from gate.rules.plans import is_taken_back, ran_before
from gate.rules.task import NOBODY, Instruction, PauseReason, Plan, Step, StepState, StopRequest, Task
from gate.rules.task_states import TaskState
from gate.sentences.plurals import counted
from views import task_buttons as buttons
from views.block_kit import (
    Block,
    Message,
    actions,
    bullets,
    context,
    escaped,
    line,
    mention,
    mrkdwn,
    one_line,
    pack,
    person,
    plain,
    rich,
    sentence,
    shortened,
    words,
)
from views.task_questions import answers
from views.task_wording import effect, ended, mark, number, unusual_mode, waits

S = TaskState
MOST = 50  # steps that a plan block takes, and one card names
TITLE = 200  # characters of a step in a plan block, of 256
LINE = 120
RESULT = 100
SAID = 6  # instructions shown
ENDED = (S.SATISFACTION, S.DONE, S.CANCELLED, S.STOPPED_BY_USER, S.FAILED)
STATUS = {
    StepState.WAITING: "pending",
    StepState.ASKED: "in_progress",
    StepState.DONE: "complete",
    StepState.FAILED: "error",
    StepState.SKIPPED: "complete",
}
PLAIN_TITLE = str.maketrans(
    {"<": "‹", ">": "›"}
)  # a plan block's titles are strings: nothing in them may call anybody
WISHES = {
    StopRequest.PAUSE: "Pausing as soon as the current step is over…",
    StopRequest.STOP: "Stopping as soon as the current step is over…",
}


def progress(task: Task, plan: Plan, as_plan: bool) -> Message:
    """The card as the plan stands. `as_plan`: with Slack's plan block, which not every workspace knows."""
    folded = as_plan and bool(plan.steps)
    label = "Plan" if folded else headline(task, plan)
    steps = [_plan_block(task, plan)] if folded else _lines(plan)
    return Message(
        f"{headline(task, plan)}: {escaped(one_line(task.text), 150)}",
        [
            rich(line(words(f"{label}: ", "bold"), words(one_line(task.text), most=300))),
            *steps,
            *_more(plan),
            *_said(task),
            *_outcome(task),
            *(answers(task, as_plan) if task.state is S.DONE and not task.ends else []),
            context(mrkdwn(_approved(task, plan))),
            *_buttons(task, plan),
        ],
    )


def headline(task: Task, plan: Plan) -> str:
    """Where it stands, with the current step by its number."""
    done = sum(step.state is StepState.DONE for step in plan.steps)
    of = f"{done} of {counted(len(plan.steps), 'step')} done"
    current = plan.current
    if is_taken_back(task):
        return "Taken back"
    if task.state in ENDED:
        return ", ".join(filter(None, [STATE[task.state], of, ran_before(plan)]))
    if current is None:
        return f"Working, {of}"
    place = f"step {number(plan, current)} of {len(plan.steps)}"
    if task.state is S.RUNNING:
        return f"Waiting for a decision on {place}" if waits(current) else f"Working on {place}"
    if task.why is PauseReason.SUMMARY:
        return f"About to go on with {place}"
    return f"{STATE[task.state]} at {place}"


STATE = {
    S.TALKING: "Talking",
    S.CLARIFYING: "Waiting for an answer",
    S.PLANNING: "Planning anew",
    S.PLAN_REVIEW: "Waiting for a decision on the plan",
    S.PAUSED: "Paused",
    S.SATISFACTION: "Finished",
    S.DONE: "Done",
    S.CANCELLED: "Cancelled",
    S.STOPPED_BY_USER: "Stopped",
    S.FAILED: "Failed",
}


def _lines(plan: Plan) -> list[Block]:
    return pack(_line(plan, step) for step in plan.steps[:MOST])


def _line(plan: Plan, step: Step) -> Block:
    """One step with its mark; the current one in bold."""
    sign, stands = mark(step)
    bold = ["bold"] if step is plan.current else []
    standing = f" — {stands}" if stands else ""
    return line(
        {"type": "emoji", "name": sign},
        words(f" {number(plan, step)}. ", *bold),
        words(effect(step), *bold, most=LINE),
        words(standing or " ", *(bold if standing else [])),
        words(_result(step), "italic", most=RESULT),
    )


def _result(step: Step) -> str:
    """What went wrong; of what went well its own card tells."""
    if step.text and step.state in (StepState.FAILED, StepState.SKIPPED):
        return f" {step.text}"
    alone = "it went on by itself, as nobody held it" if step.passed == NOBODY else ""
    judged = step.confidence.judged if step.confidence else ""
    return f" {'; '.join(filter(None, [alone, judged]))}"


def _plan_block(task: Task, plan: Plan) -> Block:
    return {
        "type": "plan",
        "title": _title(headline(task, plan), TITLE),
        "tasks": [_card(plan, step) for step in plan.steps[:MOST]],
    }


def _card(plan: Plan, step: Step) -> Block:
    """One step inside a plan block, which has no sign for *skipped* and *waits for you*: the title says it."""
    _, stands = mark(step)
    standing = f" ({stands})" if stands and step.state is not StepState.FAILED else ""
    short = shortened(effect(step), TITLE - len(standing) - 10)
    made = {
        "task_id": f"step-{number(plan, step)}",
        "title": _title(f"{number(plan, step)}. {short}{standing}", TITLE + 50),
        "status": STATUS[step.state],
    }
    text = _result(step).strip()
    return {**made, "details": rich(line(words(text, most=RESULT)))} if text else made


def _title(text: str, most: int) -> str:
    return shortened(text, most).translate(PLAIN_TITLE) or " "


def _more(plan: Plan) -> list[Block]:
    left = len(plan.steps) - MOST
    return [context(mrkdwn(f"… and {counted(left, 'more step')}."))] if left > 0 else []


def _said(task: Task) -> list[Block]:
    """What was said while it ran, and where it was taken in."""
    if not task.instructions:
        return []
    shown = task.instructions[-SAID:]
    left = len(task.instructions) - len(shown)
    before = [line(words(f"… and {left} before", "italic"))] if left else []
    return pack(
        [line(words("Said meanwhile:", "bold")), *before, bullets(_instruction(one) for one in shown)]
    )


def _instruction(one: Instruction) -> Block:
    where = f"taken in {one.used}" if one.used else "waits for the next step"
    return line(
        words("Words that are not shown here" if one.alone else f"“{one.text}”", most=200),
        words(" "),
        person(one.user),
        words(f" — {where}", "italic", most=80),
    )


def _outcome(task: Task) -> list[Block]:
    """How it ended, why it stopped, or what somebody wants next."""
    if task.plan and task.plan.undoing:
        return [
            *_words(task.result),
            sentence(f"Taking all of it back, as {mention(task.plan.undoing)} asked…"),
        ]
    if task.state in ENDED:
        told_elsewhere = task.ends or is_taken_back(task)
        result = [] if told_elsewhere else _words(task.result)
        told = [] if task.state in (S.SATISFACTION, S.DONE) else [context(mrkdwn(ended(task)))]
        failed = _words(task.reason) if task.state is S.FAILED else []
        return [*result, *told, *(_words(task.plan.undone) if task.plan else []), *failed]
    if task.state is S.PLANNING:
        return [context(plain(f"Planning anew: {task.reason}" if task.reason else "Planning anew…", 500))]
    return [sentence(WISHES[task.wish])] if task.wish in WISHES else []


def _words(text: str) -> list[Block]:
    return [rich(line(words(text, most=600)))] if text else []


def _approved(task: Task, plan: Plan) -> str:
    how = "step by step" if plan.stepwise else "all of it"
    by = f" · approved by {mention(plan.approved_by)}, {how}" if plan.approved_by else ""
    return f"Asked by {mention(task.requester)}{by}{unusual_mode(task.switches)}"


def _buttons(task: Task, plan: Plan) -> list[Block]:
    row = list[Block]()
    if task.state is S.RUNNING and task.wish is not StopRequest.STOP:
        row += buttons.running(task, plan)
    if task.state in ENDED and not plan.undoing and not is_taken_back(task) and any(_undoable(plan)):
        row.append(buttons.undo_all(task, plan))
    if any(step.confidence for step in plan.steps):  # which only the window tells
        row.append(buttons.everything(task, plan))
    return [actions(*row)] if row else []


def _undoable(plan: Plan) -> Iterable[bool]:
    """Whether something was changed that was said to be undoable, and has not been tried yet."""
    for step in plan.steps:
        tried = bool(plan.undone) and bool(step.run.undo or any(one.undo for one in step.run.tries))
        told = step.preview.undo if step.preview else ""
        yield (
            (step.state is StepState.DONE or bool(step.rejected_by or step.run.tries))
            and step.cls is not CallClass.READ
            and not told.startswith("no")
            and not tried
        )
