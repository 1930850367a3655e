"""Slow answers: people are told when a model or a server has not answered yet; the message goes once it has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable
from typing import TypeVar

from gate.rules.action import Session
from gate.rules.ids import derive_id
from gate.rules.messages import LATE, OVER
from gate.rules.planner_port import Call
from gate.rules.ports import Note, Unavailable, World

TOLD_AFTER = 12.0  # seconds for which nothing is said; people are to know within 15
TEXT = "{who} has not answered yet. I keep waiting; this message goes once it has."
MODEL = "The model"

Given = TypeVar("Given")


def server_name(call: Call) -> str:
    """The server of a call, at the beginning of a sentence."""
    return f"The server “{call.server}”"


async def telling_if_late(
    world: World, session: Session, key: str, who: str, work: Awaitable[Given]
) -> Given:
    """What comes of `work`. Where that takes long, the thread is told, once for each `key`, and the message is taken
    back at its end, however it ends."""
    late = Note(derive_id("late", key), session, LATE, {"text": TEXT.format(who=who)})
    begun: list[Note] = []
    telling = asyncio.create_task(_tell(world, late, begun))
    try:
        return await work
    finally:
        if not begun:
            telling.cancel()
        with contextlib.suppress(asyncio.CancelledError, Unavailable):
            await telling
        if begun:
            with contextlib.suppress(Unavailable):
                await _take_back(world, late)


async def _tell(world: World, late: Note, begun: list[Note]) -> None:
    await world.clock.sleep(TOLD_AFTER)
    begun.append(late)
    async with world.ledger.begin() as tx:
        await tx.note(late)


async def _take_back(world: World, late: Note) -> None:
    over = Note(derive_id("over", late.id), late.session, OVER, {"of": late.id})
    async with world.ledger.begin() as tx:
        await tx.note(over)
