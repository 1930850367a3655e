"""One entry of a list of what waits for a person: what it is about, who asked and until when, a link, and buttons.

A yes counts only where all of it is shown, so *Confirm…* and *Approve…* open a window with that.
"""

from __future__ import annotations

from datetime import datetime

from gate.rules.action import Action, Class
from gate.rules.canonical_json import parse
from gate.rules.events import asks
from gate.rules.server_questions import ServerQuestion
from gate.rules.task import Task, Why
from gate.tasks.pending import Undecided
from views import buttons, server_question, task_buttons, task_plan
from views.block_kit import (
    Block,
    actions,
    clip,
    context,
    inline,
    line,
    link,
    mention,
    mrkdwn,
    one_line,
    plain,
    rich,
    words,
)
from views.card import confirmable
from views.task_step import what
from views.task_wording import WHY, counted, looked_at
from views.tool_results import outlined
from views.wording import CLASSES, decides_alone, effect, may_confirm, moment

MOST = 200  # characters of an entry's first line
COUNTED = 20  # of them, that say how many more there are
STEPS, EACH = 4, 80  # of a plan, that are named, and the characters of each
DETAIL = 400
LAPSED = "Nobody decided on it in time, so nothing ran."
RELEASE = "release or change its result on its card"


def entry(one: Undecided, viewer: str, alike: bool = False) -> list[Block]:
    """`viewer`: whose list it is. `alike`: another entry of the list has the same first line."""
    record = one.record
    first = line(words(_top(record), "bold", most=MOST), *link("Open", one.link))
    if isinstance(record, ServerQuestion):
        return [rich(first), context(*_about_question(record)), server_question.answering(record)]
    if isinstance(record, Task):
        return [rich(first), context(*_about_task(record, one.until)), actions(*_task_row(record))]
    more = [plain(" · ".join(outlined(parse(record.args)).splitlines()), 300)] if alike else []
    return [rich(first), context(mrkdwn(_about(record, viewer)), *more), actions(*_row(record, viewer))]


def top(record: Action | Task | ServerQuestion) -> str:
    """The beginning of the first line, by which people tell entries apart."""
    return inline(_top(record))[: MOST - COUNTED]


def _top(record: Action | Task | ServerQuestion) -> str:
    if isinstance(record, ServerQuestion):
        return f"{record.server} asks: {record.message}"
    if isinstance(record, Action):
        return effect(record)
    match asks(record):
        case ("question", _):
            return f"Question: {record.questions[0].text}"
        case ("plan", _):
            return f"Plan: {one_line(record.text)}"
        case ("requirements", _):
            return f"Is this what you want built? {one_line(record.text)}"
    return f"{WHY[record.why]}: {one_line(record.text)}"


def _about(action: Action, viewer: str) -> str:
    kind = "" if action.cls is Class.WRITE else f" · *{CLASSES[action.cls]}*"
    others = viewer == action.requester and not decides_alone(action) and not action.under_review
    waits = f" · waits for {may_confirm(action)}" if others else ""
    until = RELEASE if action.under_review else f"expires {moment(action.expires_at)}"
    return f"Asked by {mention(action.requester)} {where(action)}{kind}{waits} · {until}"


def where(record: Action | Task | ServerQuestion) -> str:
    channel = record.session.channel
    return f"in <#{channel}>" if channel[:1] in ("C", "G") else "in a direct message"


def _row(action: Action, viewer: str) -> list[Block]:
    """Who asked may cancel, whoever else has to decide may say no; neither where only the result waits."""
    own = viewer == action.requester
    if action.under_review:
        return [buttons.refuse(action), buttons.full(action)]
    no = buttons.cancel(action) if own else buttons.reject(action)
    yes = [buttons.confirm_whole(action)] if confirmable(action) and own == decides_alone(action) else []
    return [*yes, no, buttons.full(action)]


def _about_question(question: ServerQuestion) -> list[Block]:
    asked = mrkdwn(
        f"Asked for {mention(question.requester)} {where(question)} · until {moment(question.until)}"
    )
    return [asked, plain(f"For: {question.about}", DETAIL)]


def _about_task(task: Task, until: datetime | None) -> list[Block]:
    expires = f" · expires {moment(until, '{date_short} {time}')}" if until else ""
    asked = mrkdwn(f"Asked by {mention(task.requester)} {where(task)}{expires}")
    told = _detail(task)
    return [asked, plain(told, DETAIL)] if told else [asked]


def _detail(task: Task) -> str:
    """What the first line leaves out."""
    kind = (asks(task) or ("", 0))[0]
    if kind == "question":
        more = len(task.questions) - 1
        others = f"And {counted(more, 'more question')}. " if more else ""
        return f"{others}Before I start: {one_line(task.text)}"
    if kind == "plan" and task.plan is not None and task.plan.lapsed:
        return LAPSED
    if kind == "plan" and task.plan is not None:
        steps = task.plan.steps
        left = [f"and {counted(len(steps) - STEPS, 'more step')}"] if len(steps) > STEPS else []
        return ", ".join([*(clip(inline(what(step)), EACH) for step in steps[:STEPS]), *left])
    step = looked_at(task, task.pauses) if kind == "pause" else None
    return what(step) if step else ""


def _task_row(task: Task) -> list[Block]:
    """What a list may decide of a task; the rest is on its card."""
    kind = (asks(task) or ("", 0))[0]
    if kind == "question":
        return task_buttons.answering_in_form(task)
    if kind == "plan" and task.plan is not None:
        how, _ = task_plan.choice(task, task.plan, task_plan.fitted(task.plan))
        return task_buttons.deciding(task, task.plan, bool(how))
    reviewed = task.why is Why.REVIEW and looked_at(task, task.pauses) is not None
    return task_buttons.stopping(task, reviewed)
