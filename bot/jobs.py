"""Which flow carries out which run, and on which queue it waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bot.engine import Job
from gate.flows import ask, carry_out, edit, renew, settle, sweep, turn, undo
from gate.world import World

Work = Callable[..., Awaitable[None]]


def jobs(world: World) -> dict[str, Job]:
    """Run name -> job, for every name in gate/runs.py."""

    async def draw(action_id: str) -> None:
        action = await world.ledger.action(action_id)
        if action is not None:
            await world.chat.draw(action, await world.ledger.votes(action.id, action.version))

    async def post(note_id: str) -> None:
        note = await world.ledger.note(note_id)
        if note is not None:
            await world.chat.post(note)

    async def refresh(action_id: str, version: str) -> None:
        await edit.refresh(world, action_id, int(version))

    async def expire(action_id: str, version: str) -> None:
        await sweep.expire(world, action_id, int(version))

    def bound(flow: Work) -> Work:
        async def work(*args: str) -> None:
            await flow(world, *args)

        return work

    return {
        "take_in": Job("events", bound(ask.take_in)),
        "turn": Job("events", bound(turn.go_on)),
        "refresh": Job("events", refresh),
        "renew": Job("events", bound(renew.renew)),
        "undo": Job("calls", bound(undo.go_on)),
        "check": Job("calls", bound(settle.check)),
        "carry_out": Job("calls", bound(carry_out.carry_out)),
        "draw": Job("cards", draw),
        "post": Job("cards", post),
        "expire": Job("timers", expire),
        "close_undo": Job("timers", bound(undo.close_bar)),
    }
