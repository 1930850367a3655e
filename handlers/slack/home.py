"""App Home: a person's pending actions, undoable actions and grants."""

from __future__ import annotations

from typing import Any

from gate.actions import grants
from gate.actions.interaction import Said
from gate.actions.pending import waiting_for
from gate.rules.ports import World
from gate.rules.states import State
from views import lists
from views.grants import entries as listed

UNDOABLE = 5  # newest entries that can be undone
POLLS, POLL_SECONDS = 30, 0.1  # of an undo, before the view is published


async def home(world: World, team: str, user: str) -> dict[str, Any]:
    """The view, from the ledger. Raises Unavailable."""
    waiting = await waiting_for(world, team, user)
    entries = await world.ledger.undoable(team, user=user, limit=UNDOABLE)
    allowed = await grants.of_person(world, team, user)
    void = [one.grant.id for one in allowed if one.void]
    return lists.home(waiting, entries, listed([one.grant for one in allowed], void))


async def home_after(world: World, team: str, user: str, said: Said) -> dict[str, Any]:
    """The view after a click in App Home. After a click on Undo it waits for the undo to end, 3 s at most.
    Raises Unavailable.
    """
    for _ in range(POLLS if said.code == "undoing" and said.action else 0):
        action = await world.ledger.action(said.action.id) if said.action else None
        if action is None or action.state not in (State.SUCCEEDED, State.UNDOING):
            break
        await world.clock.sleep(POLL_SECONDS)
    return await home(world, team, user)
