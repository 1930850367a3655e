"""Plain words: why a “yes” or a “continue” in a thread decides nothing about an action or a task that waits there."""

from __future__ import annotations

from collections.abc import Sequence

from gate.rules.action import Action, Verdict
from gate.rules.messages import UNDECIDED
from gate.rules.planner_port import Incoming
from gate.rules.ports import World
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from gate.rules.timestamps import is_later
from gate.sentences import thread_commands
from gate.tasks.early_messages import (
    UNSEEN,
    card_of,
    is_early,
    is_early_vote,
    satisfaction_asked_at,
    shown_since,
    timestamp,
)
from gate.tasks.pending import Record, may_confirm_in, waiting_for

TYPED = "A “yes” is not enough for this one: press *Review…* on its card and type the phrase."
ALONE = "I asked you about this in direct messages: please press a button on the card there."
BY_AGENT = "Words are not enough for what an agent asked for: please press a button on its card."
ELSEWHERE = (
    "Is this about the card that waits, or about what else I asked you here? Nothing ran: please press a button on the "
    "one you mean."
)
AMBIGUOUS = (
    "Is this about what I wrote last, or a yes to the card above? Nothing ran: please press a button on it."
)
TO_WHOM = (
    "Is this for me, or for somebody else who wrote here since? Nothing ran: please press a button on the card, or "
    "mention me in your answer."
)
DOUBTFUL = "Was that a yes? Nothing ran: please press a button on the card, or write “yes”."
# A task in one of these waits for a person's word, which a “yes” may be.
ASKING = (TaskState.CLARIFYING, TaskState.PLAN_REVIEW, TaskState.PAUSED, TaskState.TALKING)


async def why_undecided(world: World, incoming: Incoming, about: Action | Task) -> str:
    """Why plain words of somebody who may decide this action, or let this task go on, do not; "" where they do."""
    if unseen := await _why_unseen(world, incoming, about):
        return unseen
    if await world.ledger.grants.of_agents({about.id, *filter(None, [await _task_behind(world, about)])}):
        return BY_AGENT
    tasks = await _own_tasks(world, incoming)
    if any(task.id != about.id and task.state in ASKING for task in tasks):
        return ELSEWHERE
    if await _waits_besides(world, incoming, about):
        return ELSEWHERE
    if not incoming.mentioned and await _is_for_others(world, incoming, about):
        return TO_WHOM
    yes = thread_commands.is_yes(incoming.text)  # in whatever words: a model may have asked for any of them
    if yes and (await _is_not_newest(world, incoming, about) or await _has_result_since(world, tasks, about)):
        return AMBIGUOUS
    if isinstance(about, Action) and about.verdict is not Verdict.CONFIRM:
        return TYPED
    return DOUBTFUL if thread_commands.is_doubtful_yes(incoming.text, incoming.mentioned) else ""


async def _task_behind(world: World, about: Action | Task) -> str:
    """The task in which it was proposed first: what is asked again once that is over is no step of it. "" without."""
    if not isinstance(about, Action):
        return about.id
    turn = await world.ledger.turn(about.turn) if about.turn and not about.task else None
    return turn.task if turn else about.task


async def is_asked(world: World, incoming: Incoming) -> bool:
    """Whether a task of theirs asks them something in this thread, so that a yes is an answer to that."""
    return any(task.state in ASKING for task in await _own_tasks(world, incoming))


async def _why_unseen(world: World, incoming: Incoming, about: Action | Task) -> str:
    """Why they cannot have meant the card as it stands in this thread; "" where they can."""
    if not isinstance(about, Action):
        return UNSEEN if await is_early(world, incoming, about) else ""
    card = await card_of(world, about)
    if card is None or is_early_vote(incoming, about, card):
        return UNSEEN
    # What is private now may have stood in the thread before.
    return ALONE if about.private and card.channel != incoming.session.channel else ""


async def _own_tasks(world: World, incoming: Incoming) -> list[Task]:
    return [
        t
        for t in await world.ledger.tasks_of(incoming.session, 20, incoming.user)
        if t.requester == incoming.user
    ]


async def _waits_besides(world: World, incoming: Incoming, about: Action | Task) -> bool:
    """Whether anything else waits for a word of theirs in this thread, but for what a task asks as one of its own
    steps."""
    listed = await waiting_for(world, incoming.session.team, incoming.user)
    here = [item.record for item in listed if item.record.session == incoming.session]
    here += await may_confirm_in(world, incoming.session, incoming.user)
    own = {about.id} if isinstance(about, Action) else {about.id, *(a.id for a in here if _is_of(a, about))}
    if any(record.id not in own for record in here):
        return True
    return await world.ledger.questions.waits_in(incoming.session)  # an approver may be who it is for


async def _is_for_others(world: World, incoming: Incoming, about: Action | Task) -> bool:
    """Whether somebody else wrote below the card: the words may answer them. A card that is drawn anew stays above what
    was written since."""
    card = await card_of(world, about)
    since = card.ts if card else await shown_since(world, about)
    return bool(since) and await world.ledger.others_wrote(incoming, since)


def _is_of(record: Record, task: Task) -> bool:
    return isinstance(record, Action) and record.task == task.id and not record.under_review


async def _is_not_newest(world: World, incoming: Incoming, about: Action | Task) -> bool:
    """Whether another message of ours stands below the card in this thread, be it for this person alone: a yes may be
    about that. A card that changes keeps its place above what came below it. Why words decided nothing counts for an
    “ok”, which may mean just that it was read."""
    card = await card_of(world, about)
    if card is None or not card.ts:
        return False
    but = "" if thread_commands.is_acknowledgement(incoming.text) else UNDECIDED
    return await world.ledger.shown_after(about.session, card.ts, incoming.user, but)


async def _has_result_since(world: World, tasks: Sequence[Task], about: Action | Task) -> bool:
    """Whether one of these tasks asked after the card whether its result was what they needed, so that “ok” may be
    about either. One that is to ask on the card of its change may do so before we know of it."""
    ended = [task for task in tasks if task.state is TaskState.SATISFACTION]
    card = await card_of(world, about) if ended else None
    for task in ended if card and card.ts else ():
        asked_at = await satisfaction_asked_at(world, task)
        if asked_at is None and task.asked_on:
            return True
        if asked_at and card and is_later(timestamp(asked_at), card.ts):
            return True
    return False
