"""Open: a request becomes a task, in the same transaction as the run that lets it go on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime

from gate.rules import jobs
from gate.rules.action import Session
from gate.rules.feedback import FeedbackKind, classify_feedback
from gate.rules.ids import derive_id
from gate.rules.planner_port import Incoming
from gate.rules.ports import Tx, World
from gate.rules.settings import Switches
from gate.rules.task import Request, Task
from gate.rules.task_states import TaskState
from gate.tasks.task_log import record

TOO_MANY_TASKS = "You have {count} requests waiting: wait until some are done, or stop them with `stop`."

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


async def open_task(world: World, incoming: Incoming, switches: Switches, proceed: Proceed = _finish) -> str:
    """Open a task for a message. Everything said in the thread since the last *Start over* is its context. A reply
    that does not address the bot, or one about a result, is no new request: no grant covers what comes of it.

    Gives "", or the sentence why there is none: as many of this person's as may be are under way."""
    before = await world.ledger.opening(incoming.session, incoming.user)
    if before.under_way >= world.limits.requests_per_user:
        return TOO_MANY_TASKS.format(count=before.under_way)
    async with world.ledger.begin() as tx:
        task = new_task(incoming.key, incoming.session, incoming.user, incoming.text, switches, before.now)
        asks = not incoming.mentioned or classify_feedback(incoming.text) is not FeedbackKind.OTHER
        task = replace(task, request=replace(task.request, since=before.since or before.now, asks=asks))
        stored = await tx.open_task(task)
        if stored is task:
            record(tx, task, "opened", incoming.user)
            tx.enqueue(jobs.task(task.id, "open", task))
        # Read once more, it would be taken for an instruction to this very task.
        await proceed(tx, incoming.key)
    return ""
