"""Open: a request becomes a task, in the same transaction as the run that lets it go on."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from gate import runs
from gate.action import Session
from gate.derive import derived
from gate.flows.life import record
from gate.switches import Switches
from gate.talk import Incoming
from gate.task import Task
from gate.task_states import TaskState
from gate.world import World


def opened_task(
    key: str, session: Session, requester: str, text: str, switches: Switches, now: datetime
) -> Task:
    """A new task, to be assessed first. `key`: what was said; asked twice, it is one task."""
    return Task(
        id=derived("task", key),
        revision=1,
        state=TaskState.CLARIFYING,
        session=session,
        requester=requester,
        text=text,
        switches=switches,
        created_at=now,
        since=now,
    )


async def open_task(world: World, incoming: Incoming, switches: Switches) -> None:
    """Open a task for a message. Everything said in the thread since the last *Start over* is its context."""
    before = await world.ledger.tasks_of(incoming.session, 1)
    async with world.ledger.begin() as tx:
        now = await tx.now()
        task = opened_task(incoming.key, incoming.session, incoming.user, incoming.text, switches, now)
        task = replace(task, since=before[0].since) if before else task
        stored = await tx.open_task(task)
        if stored is task:
            record(tx, task, "opened", incoming.user)
            tx.enqueue(runs.task(task.id, "open"))
        await tx.done_with(
            incoming.key
        )  # read once more, it would be taken for an instruction to this very task
