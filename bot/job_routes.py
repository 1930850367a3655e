"""Which flow carries out which run, and on which queue it waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import fields
from weakref import WeakValueDictionary

from bot.engine import Job
from gate.actions import batch, edit, execute, expiry, follow, reissue, resolve_unknown, undo
from gate.actions.batch import GroupConfirmation
from gate.rules.action import Action
from gate.rules.messages import CardKey, CardKind, cards_of
from gate.rules.ports import World
from gate.rules.task import Task
from gate.tasks import (
    inbox,
    planner_turn,
    review_queue,
    step_check,
    task_runner,
)

log = logging.getLogger(__name__)
UNPROVED = len(fields(GroupConfirmation))  # arguments of a press that version 1 has queued, without their MAC
Work = Callable[..., Awaitable[None]]
# Runs of an earlier version that may still wait in a database.
FORMER_TIMERS = ("expire", "close_undo", "settle_task", "proceed", "lapse_plan", "lapse_question")


def jobs(world: World) -> dict[str, Job]:
    """Run name -> job, for every name in gate/rules/jobs.py."""

    async def card(kind: str, about: str, within: str) -> None:
        summary = False

        async def seen(record: Action | Task) -> None:
            nonlocal summary
            summary = isinstance(record, Task) and step_check.has_review_timeout(record)
            await review_queue.update_cache(world, record)

        await world.chat.draw(CardKey(CardKind(kind), about), float(within), seen)
        if summary:
            await step_check.start_review_timer(world, about)

    async def refresh(action_id: str, version: str) -> None:
        await edit.refresh_preview(world, action_id, int(version))

    async def confirm_all(*press: str) -> None:
        proved = world.ledger.verified_args("confirm_all", press)
        if proved is None:
            log.error("A stored press on Confirm all is not as it was written, and confirms nothing.")
            return (
                await batch.reject_unproved(world, GroupConfirmation(*press))
                if len(press) == UNPROVED
                else None
            )
        await batch.confirm_each(world, GroupConfirmation(*proved))

    return {
        "confirm_all": Job("events", confirm_all),
        "take_in": Job("events", _work_of_flow(world, inbox.read_inbox)),
        "refresh": Job("events", refresh),
        "renew": Job("events", _work_of_flow(world, reissue.reissue)),
        "follow": Job("calls", _work_of_flow(world, follow.follow)),
        "undo": Job("calls", _work_of_flow(world, undo.run_undo)),
        "check": Job("calls", _work_of_flow(world, resolve_unknown.check_target)),
        "carry_out": Job("calls", _work_of_flow(world, execute.execute), follows=True),
        "resume": Job("events", _work_of_flow(world, expiry.resume_thread)),
        "card": Job("cards", card),
        **_former_jobs(world),
        **_of_tasks(world),
    }


async def _nothing(*_: str) -> None:
    """The sweep does what these timers did."""


def _former_jobs(world: World) -> dict[str, Job]:
    """Runs that an earlier version has left in the queue: each asks for what is asked for today."""

    async def draw(action_id: str) -> None:
        action = await world.ledger.action(action_id)
        async with world.ledger.begin() as tx:
            for key in cards_of(action) if action else ():
                tx.request_card(key)

    def asking(kind: CardKind) -> Work:
        async def ask(about: str) -> None:
            async with world.ledger.begin() as tx:
                tx.request_card(CardKey(kind, about))

        return ask

    return {
        "draw": Job("cards", draw),
        "draw_task": Job("cards", asking(CardKind.TASK)),
        "post": Job("cards", asking(CardKind.NOTE)),
    }


def _work_of_flow(world: World, flow: Work) -> Work:
    async def work(*args: object) -> None:
        await flow(world, *args)

    return work


def serialized(work: Work) -> Work:
    """Lets the runs about one thing, their first argument, follow each other in this process. Two that ask a planner
    at once would pay a model twice, and the second answer is thrown away. The flows bear it where it happens all
    the same, as with several processes."""
    held: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(about: str, *known: object) -> None:
        one = held.setdefault(about, asyncio.Lock())
        known = () if one.locked() else known
        async with one:
            await work(about, *known)

    return run


def _of_tasks(world: World) -> dict[str, Job]:
    """What may wait for a model, minutes long, has a kind of its own: no message waits behind it."""

    return {
        "turn": Job("plans", serialized(_work_of_flow(world, planner_turn.run_turn)), follows=True),
        "task": Job("plans", _work_of_flow(world, task_runner.run_task), follows=True),
        **{name: Job("timers", _nothing) for name in FORMER_TIMERS},
    }
