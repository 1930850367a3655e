"""Sweep: what time does to actions. Every timer re-reads the ledger and does nothing when it has moved on."""

from __future__ import annotations

from gate import runs
from gate.action import Action, Outcome
from gate.flows.carry_out import ended
from gate.flows.decide import lapse, settled
from gate.states import Event, NoSuchArrow, State
from gate.world import Stale, World

LOST = (
    "I lost track of this while it ran: the process that ran it stopped, or could not report back. "
    "It may or may not have happened, and I will not run it again by myself."
)


async def expire(world: World, action_id: str, version: int) -> None:
    """The timer of one version. The database's clock decides whether it is really over."""
    action = await world.ledger.action(action_id)
    if action and action.state is State.PREPARED and action.version == version:
        await lapse(world, action)


async def overdue(world: World) -> int:
    """Settle what should have been settled by now: timers that were lost, claims that ended. How many.

    Raises what went wrong with one of them once the others are settled.
    """
    found, wrong = await world.ledger.overdue(), None
    for action in found:
        try:
            await _settle(world, action)
        except Exception as error:
            wrong = error
    if wrong:
        raise wrong
    return len(found)


async def standing_still(world: World) -> int:
    """Let tasks go on whose run was lost, or given up after too many crashes. How many."""
    found = await world.ledger.overdue_tasks()
    for task_id in found:
        async with world.ledger.begin() as tx:
            tx.enqueue(runs.task(task_id, f"sweep:{(await tx.now()).timestamp():.0f}"))
            await tx.look_later(task_id)
    return len(found)


async def _settle(world: World, action: Action) -> None:
    if action.state is State.PREPARED:
        await lapse(world, action)
    elif action.state is State.EXECUTING:
        await lose(world, action)
    elif action.state is State.APPROVED:
        await again(world, action)


async def lose(world: World, action: Action) -> None:
    """A claim that nobody renews: the outcome is unknown. Never while its holder still beats."""
    try:
        async with world.ledger.begin() as tx:
            now = await tx.action(action.id)
            if (
                now is None
                or now.state is not State.EXECUTING
                or (now.claim and now.claim.until > await tx.now())
            ):
                return
            outcome = Outcome("unknown", LOST, at=world.clock.now())
            moved = await tx.move(now, Event.LOSE, outcome=outcome)
            tx.audit(ended(moved, outcome))
            settled(tx, moved)
    except (Stale, NoSuchArrow):
        return


async def again(world: World, action: Action) -> None:
    """Approved and not started for long: its run may be lost. A second run is harmless, the claim sees to it;
    but many would be in the way of others, so each comes after twice the time of the one before."""
    votes = await world.ledger.votes(action.id, action.version)
    approved = max((vote.at for vote in votes), default=action.created_at)
    waited = (await world.ledger.now() - approved).total_seconds()
    async with world.ledger.begin() as tx:
        tx.enqueue(runs.carry_out(action.id, int(waited).bit_length()))
