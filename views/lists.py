"""Lists: what waits, entry by entry, what can be undone, what is on the record, help, and the App Home."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from gate.rules.action import Action, CallClass, Json
from gate.rules.audit import Line
from gate.rules.events import open_request
from gate.rules.ports import UndoEntry
from gate.rules.server_questions import ServerQuestion
from gate.rules.task import PauseReason, Task
from gate.rules.undo_privacy import told_args
from gate.sentences.past_tense import past
from gate.sentences.plurals import counted
from gate.tasks.pending import PendingItem
from views import buttons, server_question, task_buttons, task_plan
from views.block_kit import (
    AHEAD,
    Block,
    Message,
    actions,
    bullets,
    coded,
    context,
    divider,
    escaped,
    header,
    inline,
    line,
    link,
    mention,
    mrkdwn,
    naming,
    one_line,
    pack,
    parts,
    person,
    plain,
    rich,
    sentence,
    shortened,
    weight,
    words,
)
from views.card import confirmable
from views.task_wording import WHY, lapsed, looked_at, what
from views.tool_results import outlined
from views.wording import CLASSES, NOBODY, decides_alone, effect, may_confirm, moment

MOST_FIRST_LINE = 200  # characters of an entry's first line
COUNTED = 20  # of them, that say how many more there are
STEPS, EACH = 4, 80  # of a plan, that are named, and the characters of each
DETAIL = 400
RELEASE = "release or change its result on its card"
MOST = 12  # entries with buttons in one message; three blocks each
HOME = "home"
AUDIT_TEXT = 9_000  # characters of the record in one message
NO_RECORD = "Nothing is on the record yet."
NOTHING_WAITS = "Nothing waits for a decision."
ASK = "To have something done, mention me in a channel with what you need, or write to me directly."
NOTHING_TO_UNDO = "There is nothing that I could take back."
HOW_TO = (
    "Mention me in a channel and say what you want done, or write to me directly.\n"
    "• What only reads runs at once.\n"
    "• What changes something waits for you: I show what would happen, you *Confirm*, *Edit* or *Cancel*.\n"
    "• What destroys something also wants a phrase typed.\n"
    "• What is done can often be taken back with *Undo*."
)
COMMANDS = (
    "`/pending` what waits for you, `/undo` what can be taken back, `/audit` the record (`/audit 20`: twenty "
    "entries), `/countersign help` this text.\n"
    "Inside threads mention me instead: `pending`, `undo`, `audit`, `cancel`, `status`, `stop`, `help`, and `grants`: "
    "what runs there unasked.\n"
    "A plain “yes” or “no” in the thread answers a single waiting action that is not destructive. `mode manual`, "
    "`mode auto` or `mode confidence 0.9` says how a task goes on after each step."
)


def entry(one: PendingItem, viewer: str, alike: bool = False) -> list[Block]:
    """`viewer`: whose list it is. `alike`: another entry of the list has the same first line."""
    record = one.record
    first = line(words(_top(record), "bold", most=MOST_FIRST_LINE), *link("Open", one.link))
    if isinstance(record, ServerQuestion):
        return [rich(first), context(*_about_question(record)), server_question.answering(record)]
    if isinstance(record, Task):
        return [rich(first), context(*_about_task(record, one.until)), actions(*_task_row(record))]
    more = [plain(" · ".join(outlined(told_args(record)).splitlines()), 300)] if alike else []
    return [rich(first), context(mrkdwn(_about(record, viewer)), *more), actions(*_row(record, viewer))]


def top(record: Action | Task | ServerQuestion) -> str:
    """The beginning of the first line, by which people tell entries apart."""
    return inline(_top(record)[: MOST_FIRST_LINE + AHEAD])[: MOST_FIRST_LINE - COUNTED]


def _top(record: Action | Task | ServerQuestion) -> str:
    if isinstance(record, ServerQuestion):
        return f"{record.server} asks: {record.message}"
    if isinstance(record, Action):
        return effect(record)
    match open_request(record):
        case ("question", _):
            return f"Question: {record.questions[0].text}"
        case ("plan", _):
            return f"Plan: {one_line(record.text)}"
        case ("requirements", _):
            return f"Is this what you want built? {one_line(record.text)}"
    return f"{WHY[record.why]}: {one_line(record.text)}"


def _about(action: Action, viewer: str) -> str:
    kind = "" if action.cls is CallClass.WRITE else f" · *{CLASSES[action.cls]}*"
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
    kind = (open_request(task) or ("", 0))[0]
    if kind == "question":
        more = len(task.questions) - 1
        others = f"And {counted(more, 'more question')}. " if more else ""
        return f"{others}Before I start: {one_line(task.text)}"
    if kind == "plan" and task.plan is not None and task.plan.lapsed:
        return lapsed(task.plan)
    if kind == "plan" and task.plan is not None:
        steps = task.plan.steps
        left = [f"and {counted(len(steps) - STEPS, 'more step')}"] if len(steps) > STEPS else []
        return "; ".join([*(shortened(what(step), EACH) for step in steps[:STEPS]), *left])
    step = looked_at(task, task.pauses) if kind == "pause" else None
    return what(step) if step else ""


def _task_row(task: Task) -> list[Block]:
    """What a list may decide of a task; the rest is on its card."""
    kind = (open_request(task) or ("", 0))[0]
    if kind == "question":
        return task_buttons.answering_in_form(task)
    if kind == "plan" and task.plan is not None:
        nothing: dict[str, int] = {}  # how much is shown says how it may be approved, and not whether
        how, _ = task_plan.choice(task, task.plan, nothing)
        return task_buttons.deciding(task, task.plan, bool(how))
    reviewed = task.why is PauseReason.REVIEW and looked_at(task, task.pauses) is not None
    return task_buttons.stopping(task, reviewed)


def pending(waiting: Sequence[PendingItem], viewer: str, page: int = 0) -> Message:
    """A page of what waits for one person, oldest first; the last one where there is no such page any more."""
    text = f"{len(waiting)} waiting" if waiting else NOTHING_WAITS
    return Message(text, [header("Waiting for a decision"), *_pending(waiting, viewer, page)])


def undo(entries: Sequence[UndoEntry]) -> Message:
    """What can be taken back, newest first, a button each."""
    text = f"{len(entries)} that can be undone" if entries else NOTHING_TO_UNDO
    return Message(text, [header("Can be undone"), *_undo(entries)])


def audit(lines: Sequence[Line]) -> Message:
    """The newest entries of the record, newest first, as many as one message holds."""
    if not lines:
        return Message(NO_RECORD, [sentence(NO_RECORD)])
    entries, room = [], AUDIT_TEXT
    for found in sorted(lines, key=lambda line: -line.seq):
        made = bullets([_audited(found)])
        room -= weight(made)
        if room < 0:
            break
        entries.append(made)
    rest = _rest(len(lines), len(entries))
    return Message(
        f"{counted(len(entries), 'entry')} of the record", [header("On the record"), *pack(entries), *rest]
    )


def help_text(guide: str = "") -> Message:
    """What I do, the commands, and what a planner says of its servers."""
    head = "How to work with me"
    return Message(head, [header(head), sentence(HOW_TO), sentence(COMMANDS), *_guide(guide)])


def guided(guide: str) -> Message:
    """Help about one server."""
    return Message(escaped(" ".join(guide.split()), 300), _guide(guide))


def _guide(text: str) -> list[Block]:
    """Names in it come from servers, and examples from a file: nothing in them is parsed."""
    return pack([line(*coded(part)) for part in parts(text)]) if text else []


def home(
    waiting: Sequence[PendingItem],
    viewer: str,
    entries: Sequence[UndoEntry],
    allowed: Sequence[Block] = (),
    page: int = 0,
) -> dict[str, Json]:
    """The App Home of one person: what waits for them, what they can take back, and how it works. `allowed`: what
    views/grants.py says of their grants. `page`: of what waits."""
    grants = [header("Allowed without asking"), *allowed, divider()] if allowed else []
    blocks = [
        header("Waiting for you"),
        *_pending(waiting, viewer, page),
        divider(),
        header("Your history"),
        *_undo(entries),
        divider(),
        *grants,
        header("How to work with me"),
        sentence(HOW_TO),
        sentence(COMMANDS),
    ]
    return {"type": "home", "callback_id": HOME, "blocks": blocks}


def _pending(waiting: Sequence[PendingItem], viewer: str, page: int) -> list[Block]:
    if not waiting:
        return [sentence(NOTHING_WAITS), context(mrkdwn(ASK))]
    last = (len(waiting) - 1) // MOST
    at = max(0, min(page, last))
    listed = waiting[at * MOST : (at + 1) * MOST]
    tops = Counter(top(one.record) for one in listed)
    shown = [block for one in listed for block in entry(one, viewer, alike=tops[top(one.record)] > 1)]
    turning = buttons.turning(at, last)
    row = [actions(*turning)] if turning else []
    return [*shown, *_rest(len(waiting), at * MOST + len(listed)), *row]


def _undo(entries: Sequence[UndoEntry]) -> list[Block]:
    if not entries:
        return [sentence(NOTHING_TO_UNDO)]
    return [*(block for one in entries[:MOST] for block in _undoable(one)), *_rest(len(entries))]


def _undoable(one: UndoEntry) -> list[Block]:
    action = one.action
    told = action.preview.summary
    shown = f"Undone: {told}" if one.undone else past(told) or f"Done: {told}"
    inverse = action.inverse
    until = f" · until {moment(inverse.until, '{date_short} {time}')}" if inverse and inverse.until else ""
    made = [
        rich(line(words(shown, "bold", most=200))),
        context(mrkdwn(f"{moment(one.at, '{date_short} {time}')} · {where(action)}{until}")),
    ]
    return made if one.undone else [*made, actions(buttons.undo(action), buttons.full(action))]


def _rest(count: int, shown: int = MOST) -> list[Block]:
    return [context(mrkdwn(f"… and {count - shown:,} more."))] if count > shown else []


def _audited(logged: Line) -> Block:
    """One line: when, what, who, which tool, how it ended. Arguments stay in the log."""
    said = logged.entry
    who = words(NOBODY[said.actor]) if NOBODY.get(said.actor) else person(said.actor)
    through = f" (API token {said.token})" if said.token else ""
    tool = f" · {said.tool}" if said.tool else ""
    ended = f" · {said.outcome or said.status}" if said.outcome or said.status else ""
    reason = f" · {said.reason}" if said.reason else ""
    refused = naming(shortened(reason, 200)) if said.event == "turned_away" else []  # why: our own words
    return line(
        words(f"#{logged.seq} {logged.at:%Y-%m-%d %H:%M:%S} "),
        words(said.event.replace("_", " "), "bold", most=40),
        words(" by "),
        who,
        words(f"{through}{tool}{ended}{'' if refused else reason}", most=200),
        *refused,
    )
