"""What should stand in Slack for a record: each message with what is remembered of it; and the cards of a task."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gate.rules import batch_receipt
from gate.rules.action import Action, Session, Vote
from gate.rules.action_states import State
from gate.rules.messages import ASKS, PART
from gate.rules.plans import is_taken_back
from gate.rules.ports import Note, Posted
from gate.rules.server_questions import QuestionState, ServerQuestion
from gate.rules.task import Flow, StopRequest, Task
from gate.rules.task_states import TaskState
from views import batch_card, card, notices, server_question
from views import task_pause as pauses
from views import task_questions as asks
from views.block_kit import Message
from views.task_plan import replaced, review
from views.task_progress import progress
from views.task_wording import waits

S = TaskState
CLOSED, RUNNING = "closed:", "running:"  # beginnings of digests
STATUS = {State.PREPARED: "suspended", State.APPROVED: "processing", State.EXECUTING: "processing"}
BUSY = (TaskState.PLANNING, TaskState.RUNNING)
AWAITING = (TaskState.PLAN_REVIEW, TaskState.PAUSED)


@dataclass(frozen=True, slots=True)
class TaskCard:
    """One message of a task.

    plain: the same without Slack's newest blocks, for where they are refused. closed: nothing can be pressed on it
    and nothing on it will change any more. earlier: it is only mended where it stands open, never posted. spent: the
    other cards and the record tell all of it, so it is deleted where it stands.
    """

    key: str
    message: Message
    plain: Message | None = None
    closed: bool = False
    earlier: bool = False
    spent: bool = False


def cards(task: Task) -> tuple[TaskCard, ...]:
    """The current card of each kind, and of each kind the one before, closed; in the order they came to be."""
    return (*_questions(task), *_requirements(task), *_plans(task), *_pauses(task), *_satisfactions(task))


def _questions(task: Task) -> Iterator[TaskCard]:
    if task.asked > 1:
        yield _closing(task, "question", task.asked - 1, asks.question_over(task))
    if task.asked:
        waits = task.state is S.CLARIFYING and bool(task.questions)
        yield TaskCard(_key(task, "question", task.asked), asks.question(task), closed=not waits)


def _requirements(task: Task) -> Iterator[TaskCard]:
    """`attempts` numbers them while it is talked about; afterwards it counts the runs."""
    if task.flow is not Flow.TALK and not task.requirements:
        return
    if task.state is not S.TALKING:
        yield _closing(task, "requirements", task.attempts, asks.requirements(task))
        return
    if task.attempts > 1:
        yield _closing(task, "requirements", task.attempts - 1, asks.talked_on(task))
    if task.requirements:
        yield TaskCard(_key(task, "requirements", task.attempts), asks.requirements(task))
    else:
        yield _closing(task, "requirements", task.attempts, asks.talked_on(task))


def _plans(task: Task) -> Iterator[TaskCard]:
    plan = task.plan
    if plan is None or not task.planned or task.flow is Flow.SIMPLE:
        return
    if plan.version > 1:
        yield _closing(task, "plan", plan.version - 1, replaced(task, plan.version - 1))
    key = _key(task, "plan", plan.version)
    if task.state is S.PLAN_REVIEW:
        yield TaskCard(key, review(task, plan))
    else:
        yield TaskCard(key, progress(task, plan, as_plan=True), progress(task, plan, as_plan=False))


def _pauses(task: Task) -> Iterator[TaskCard]:
    """A pause after which it went on leaves no message behind; one in which a result was rejected does."""
    if task.pauses > 1:
        yield _paused(task, task.pauses - 1, pauses.went_on(task, task.pauses - 1))
    if task.pauses and task.state is S.PAUSED:
        yield TaskCard(_key(task, "pause", task.pauses), pauses.pause(task))
    elif task.pauses:
        yield _paused(task, task.pauses, pauses.pause(task))


def _paused(task: Task, number: int, message: Message) -> TaskCard:
    spent = pauses.passed(task, number)
    return TaskCard(_key(task, "pause", number), message, closed=True, earlier=True, spent=spent)


def _satisfactions(task: Task) -> Iterator[TaskCard]:
    if task.ends > 1:
        yield _closing(task, "satisfaction", task.ends - 1, asks.satisfied_before(task))
    if task.ends and not task.asked_on:
        asking, plain = task.state is S.SATISFACTION, asks.satisfaction(task, plainly=True)
        newest = (asks.satisfaction(task), plain) if asking or task.is_finished else (plain, None)
        card = TaskCard(_key(task, "satisfaction", task.ends), *newest)
        over = not asking or is_taken_back(task)
        yield replace(card, closed=over, earlier=over, spent=asks.tells_nothing_more(task))


def _closing(task: Task, kind: str, number: int, message: Message) -> TaskCard:
    return TaskCard(_key(task, kind, number), message, closed=True, earlier=True)


def _key(task: Task, kind: str, number: int) -> str:
    return f"{task.id}:{kind}:{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One message as it should stand in Slack.

    plain: the same without Slack's newest blocks, for where they are refused. closed: nothing can be pressed on it
    and nothing on it will change any more. earlier: it is only mended where it stands open, never posted. spent: it
    is deleted where it stands. quiet: it is posted for none of the states that it has been in. ticks: from one such
    message to the next, it only says how far something has come. shows: the actions on it, with what is remembered of
    each. direct: to whom it is sent in direct messages, instead of to the thread. alone: to whom Slack shows it in
    passing, and nobody else. asker: who is told where it cannot be posted. streams: it is an answer in direct messages,
    which grows while it is read where it is long.
    """

    key: str
    message: Message
    session: Session
    revision: int
    digest: str
    plain: Message | None = None
    closed: bool = False
    earlier: bool = False
    spent: bool = False
    quiet: bool = False
    ticks: bool = False
    shows: tuple[tuple[Action, str], ...] = ()
    direct: str = ""
    alone: str = ""
    asker: str = ""
    streams: bool = False


def of_action(action: Action, votes: Sequence[Vote], task: Task | None = None) -> Card:
    """The card of an action of its own. `votes`: all votes on it. `task`: the one that it is a step of, once the action
    is over (`shows_task`). Both only grow, so what is drawn is newer wherever one of them is."""
    version = f"v{action.version}"
    spent = _is_told_by_plan(action, task)
    return Card(
        key=action.id,
        message=card.in_a_line(action) if spent else card.card(action, votes, task),
        plain=card.card(action, votes, task, plainly=True) if card.asks_here(action, task) else None,
        session=action.session,
        revision=action.revision + (task.revision if task else 0),
        digest=version + (ASKS if card.is_asked_on(action, task) else ""),
        spent=spent,
        quiet=_quiet(action),
        shows=((action, version),),
        direct=action.requester if action.private else "",
        asker=action.requester,
    )


def shows_task(action: Action) -> bool:
    """Whether the card of an action may show how its task stands: only a simple one asks there."""
    return bool(action.task and action.turn) and action.state in (
        State.SUCCEEDED,
        State.UNDOING,
        State.UNDONE,
    )


def may_be_told_by_plan(action: Action) -> bool:
    """Whether the card of a step of a plan may go, as the plan's own card tells of it: it went well, and its result
    waits for nobody."""
    well = action.state in (State.SUCCEEDED, State.UNDOING, State.UNDONE)
    reviewed = action.under_review or action.judged or action.private
    return bool(action.task) and not action.turn and not action.undoes and well and not reviewed


def _is_told_by_plan(action: Action, task: Task | None) -> bool:
    """Whether it may go now: its step is done, and nobody was or is to look at what it gave, but for a moment."""
    if task is None or task.plan is None or not task.planned or not may_be_told_by_plan(action):
        return False
    step = next((one for one in task.plan.steps if one.action == action.id), None)
    return step is not None and step.is_told


def of_group(group: str, members: Sequence[Action], votes: Sequence[Vote]) -> Card:
    """The card that the members of a group share. `votes`: all votes on all of them."""
    message = batch_card.card(members, votes)
    parts = batch_card.in_part(members)
    return Card(
        key=group,
        message=message,
        session=members[0].session,
        revision=batch_receipt.batch_revision(members),
        digest=digest(message),
        asker=members[0].requester,
        shows=tuple((a, PART if a.id in parts else f"v{a.version}") for a in members if a.shares),
    )


def of_task(task: Task) -> tuple[Card, ...]:
    """The cards of a task, in the order in which they came to be."""
    return tuple(_of_task(task, one) for one in cards(task))


def _of_task(task: Task, one: TaskCard) -> Card:
    ticks = task.state is TaskState.RUNNING and task.wish is StopRequest.NONE and one.plain is not None
    return Card(
        key=one.key,
        message=one.message,
        session=task.session,
        revision=task.revision,
        digest=f"{CLOSED if one.closed else RUNNING if ticks else ''}{digest(one.message)}",
        plain=one.plain,
        closed=one.closed,
        earlier=one.earlier,
        spent=one.spent,
        ticks=ticks,
        asker=task.requester,
    )


def of_question(question: ServerQuestion) -> Card:
    """The message of a server's question; of a private call in direct messages. One that is over before it was posted
    is not posted."""
    waits = question.state is QuestionState.WAITING
    message = server_question.card(question)
    return Card(
        key=question.id,
        message=message,
        session=question.session,
        revision=question.version,
        digest=f"{'' if waits else CLOSED}{digest(message)}",
        closed=not waits,
        quiet=not waits,
        direct=question.requester if question.private else "",
        asker=question.requester,
    )


def of_note(note: Note, message: Message) -> Card:
    """A note, which is posted once: in the thread, or beside it in the channel."""
    session = replace(note.session, thread="") if note.body.get("beside") else note.session
    plain = notices.plainly(note)
    return Card(
        key=note.id,
        message=message,
        session=session,
        revision=1,
        digest="",
        plain=plain,
        alone=note.to,
        streams=_streams(note),
    )


def _streams(note: Note) -> bool:
    """Only what a planner says ("text", "talk") and only where its reader is the only one: in a channel, Slack shows a
    stream to one person, and to the others its beginning."""
    direct = note.session.channel.startswith("D") and bool(note.session.thread)
    return direct and note.kind in ("text", "talk") and not note.to


def outdated(one: Card, posted: Posted | None) -> bool:
    """Whether a card has to be posted or changed, where this is what is remembered of it."""
    if posted is None or not posted.ts:
        return not one.earlier and not (one.quiet and (posted is None or posted.untried))
    if posted.revision >= one.revision:
        return False
    version = one.digest.startswith("v")  # which says nothing of the rest of the card
    if posted.digest == one.digest and not version:
        return False
    return not (one.closed and posted.digest.startswith(CLOSED))


def digest(message: Message) -> str:
    """Of all that people see of a message: equal ones need not be sent again."""
    seen = json.dumps([message.text, message.blocks], sort_keys=True)
    return hashlib.sha256(seen.encode("ascii")).hexdigest()[:32]


def status_of_actions(members: Sequence[Action]) -> str:
    """Slack's word for what a thread is doing: one that waits says it, else one that runs; "" where a task does."""
    if any(action.undoes or (action.task and not action.turn) for action in members):
        return ""
    order = (State.PREPARED, State.APPROVED, State.EXECUTING)
    first = min(members, key=lambda a: order.index(a.state) if a.state in order else len(order))
    return STATUS.get(first.state, "active")


def status_of_task(task: Task) -> str:
    """Slack's word for what the session is doing; "" where the cards of its actions say it. Slack's own Stop is
    there only while it is processing."""
    if task.state is TaskState.CLARIFYING:
        return "suspended" if task.questions else "processing"
    if task.state is TaskState.RUNNING and task.flow is Flow.SIMPLE:
        return ""
    if task.state in BUSY:
        step = task.plan.current if task.plan else None
        return "suspended" if step and waits(step) else "processing"
    return "suspended" if task.state in AWAITING else "active"


def _quiet(action: Action) -> bool:
    """An undo that goes through needs no card of its own, nor does a step that the approval of its plan covers: the
    card of what is taken back, or that of the plan, tells."""
    looked_at = action.state is State.PREPARED and action.version == 1  # its target is being looked at
    goes_through = action.state in (State.APPROVED, State.EXECUTING, State.SUCCEEDED)
    if action.undoes:
        return looked_at or goes_through
    well = goes_through or action.state in (State.UNDOING, State.UNDONE)
    return bool(action.task) and not action.turn and well and not action.under_review
