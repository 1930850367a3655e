"""Which flow carries out which run, and on which queue it waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary

from bot.engine import Job
from gate.flows import (
    after_step,
    ask,
    carry_out,
    clarify,
    drive,
    edit,
    pending,
    plan_review,
    renew,
    satisfy,
    settle,
    sweep,
    together,
    turn,
    undo,
)
from gate.flows.together import Yes
from gate.world import World

Work = Callable[..., Awaitable[None]]


def jobs(world: World) -> dict[str, Job]:
    """Run name -> job, for every name in gate/runs.py."""

    async def draw(action_id: str) -> None:
        action = await world.ledger.action(action_id)
        if action is not None:
            try:
                await pending.copy_action(world, action)
            finally:  # also without Redis: then both are done once more
                await world.chat.draw(action, await world.ledger.votes(action.id, action.version))

    async def post(note_id: str) -> None:
        note = await world.ledger.note(note_id)
        if note is not None:
            await world.chat.post(note)

    async def refresh(action_id: str, version: str) -> None:
        await edit.refresh(world, action_id, int(version))

    async def confirm_all(*press: str) -> None:
        await together.confirm_each(world, Yes(*press))

    async def expire(action_id: str, version: str) -> None:
        await sweep.expire(world, action_id, int(version))

    return {
        "confirm_all": Job("events", confirm_all),
        "take_in": Job("events", _bound(world, ask.take_in)),
        "refresh": Job("events", refresh),
        "renew": Job("events", _bound(world, renew.renew)),
        "undo": Job("calls", _bound(world, undo.go_on)),
        "check": Job("calls", _bound(world, settle.check)),
        "carry_out": Job("calls", _bound(world, carry_out.carry_out)),
        "draw": Job("cards", draw),
        "post": Job("cards", post),
        "expire": Job("timers", expire),
        "close_undo": Job("timers", _bound(world, undo.close_bar)),
        **_of_tasks(world),
    }


def _bound(world: World, flow: Work) -> Work:
    async def work(*args: str) -> None:
        await flow(world, *args)

    return work


def one_by_one(work: Work) -> Work:
    """Lets the runs about one thing, their first argument, follow each other in this process. Two that ask a planner
    at once would pay a model twice, and the second answer is thrown away. The flows bear it where it happens all
    the same, as with several processes."""
    held: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(about: str, *more: str) -> None:
        async with held.setdefault(about, asyncio.Lock()):
            await work(about, *more)

    return run


def _of_tasks(world: World) -> dict[str, Job]:
    """What may wait for a model, minutes long, has a kind of its own: no message waits behind it."""

    async def draw_task(task_id: str) -> None:
        task = await world.ledger.task(task_id)
        if task is not None:
            try:
                await pending.copy_task(world, task)
            finally:
                await world.chat.draw_task(task)
                await after_step.posted(world, task_id)

    async def proceed(task_id: str, number: str, round_: str) -> None:
        await after_step.proceed(world, task_id, int(number), int(round_))

    async def settle_task(task_id: str, ends: str) -> None:
        await satisfy.settle(world, task_id, int(ends))

    async def lapse_question(task_id: str, asked: str) -> None:
        await clarify.lapse(world, task_id, int(asked))

    async def lapse_plan(task_id: str, version: str) -> None:
        await plan_review.lapse(world, task_id, int(version))

    return {
        "lapse_plan": Job("timers", lapse_plan),
        "lapse_question": Job("timers", lapse_question),
        "turn": Job("plans", one_by_one(_bound(world, turn.go_on))),
        "task": Job("plans", _bound(world, drive.go_on)),
        "draw_task": Job("cards", draw_task),
        "settle_task": Job("timers", settle_task),
        "proceed": Job("timers", proceed),
    }
