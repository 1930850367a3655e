"""Open: a request becomes a task, in the same transaction as the run that lets it go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

from gate.actions.words_of_tokens import count_words_of_token
from gate.rules import jobs
from gate.rules.action import Session
from gate.rules.ids import derive_id
from gate.rules.ledger_ports import ThreadContext
from gate.rules.planner_port import Incoming
from gate.rules.ports import Tx, World
from gate.rules.settings import Switches
from gate.rules.task import Request, Task
from gate.rules.task_states import TaskState
from gate.sentences.feedback import FeedbackKind, classify_feedback
from gate.tasks.task_transitions import record

TOO_MANY_TASKS = "You have {count} requests waiting: wait until some are done, or stop them with `stop`."
TOO_MANY_OF_AGENTS = (
    "{count} tasks of this person that agents opened are under way; the rest is left for the person. Wait until some "
    "are done, or stop them."
)
TOO_MANY_STANDING = (
    "{count} of your requests wait for your answer: answer or stop some first. `/pending` lists them."
)
TOO_MANY_OF_AGENTS_STANDING = (
    "{count} tasks of this person that agents opened wait for an answer; the rest is left for the person. Answer some "
    "of them first, or stop them."
)

# Is done with the message that has this key, as the last of a transaction.
Proceed = Callable[[Tx, str], Awaitable[None]]


def new_task(
    key: str, session: Session, requester: str, text: str, switches: Switches, now: datetime
) -> Task:
    """A new task, to be assessed first. `key`: what was said; asked twice, it is one task."""
    return Task(
        id=derive_id("task", key),
        revision=1,
        state=TaskState.CLARIFYING,
        session=session,
        requester=requester,
        created_at=now,
        request=Request(text=text, switches=switches, since=now),
    )


async def _finish(tx: Tx, key: str) -> None:
    await tx.finish_message(key)


async def too_many_tasks(world: World, session: Session, user: str, agent: bool = False) -> str:
    """Why no task of this person is opened now; "" where one may be. `agent`: an agent's token asks."""
    return _refusal(world, await world.ledger.opening(session, user), agent)


def _refusal(world: World, before: ThreadContext, agent: bool) -> str:
    if before.under_way >= world.limits.requests_per_user:
        return TOO_MANY_TASKS.format(count=before.under_way)
    if agent and before.of_agents >= world.limits.requests_of_agents:
        return TOO_MANY_OF_AGENTS.format(count=before.of_agents)
    if before.standing >= world.limits.standing_per_user:
        return TOO_MANY_STANDING.format(count=before.standing)
    if agent and before.standing_of_agents >= world.limits.standing_per_user // 2:
        return TOO_MANY_OF_AGENTS_STANDING.format(count=before.standing_of_agents)
    return ""


async def open_task(
    world: World,
    incoming: Incoming,
    switches: Switches,
    proceed: Proceed = _finish,
    agent: bool = False,
) -> str:
    """Open a task for a message. Everything said in the thread since the last *Start over* is its context. A reply
    that does not address the bot, or one about a result, is no new request: no grant covers what comes of it.

    Gives "", or the sentence why there is none: as many of this person's as may be are under way, or, of an `agent`'s
    token, as many as agents may open."""
    before = await world.ledger.opening(incoming.session, incoming.user)
    if refusal := _refusal(world, before, agent):
        return refusal
    async with world.ledger.begin() as tx:
        task = new_task(incoming.key, incoming.session, incoming.user, incoming.text, switches, before.now)
        asks = not incoming.mentioned or classify_feedback(incoming.text) is not FeedbackKind.OTHER
        task = replace(task, request=replace(task.request, since=before.since or before.now, asks=asks))
        stored = await tx.open_task(task)
        if stored is task:
            if tx.token:
                await tx.record_token(tx.token, task.id)
                await count_words_of_token(tx, task.session, task.text)
            record(tx, task, "opened", incoming.user)
            tx.enqueue(jobs.task(task.id, "open", task))
        # Read once more, it would be taken for an instruction to this very task.
        await proceed(tx, incoming.key)
    return ""
