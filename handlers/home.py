"""App Home: what one person has waiting, what they can take back, and what runs without asking."""

from __future__ import annotations

from typing import Any

from gate.flows import grants
from gate.flows.press import Said
from gate.flows.waiting import waiting_for
from gate.states import State
from gate.world import World
from views import lists
from views.grants import entries as listed

HISTORY = 5  # entries that can be taken back
LOOKS, PAUSE = 30, 0.1  # how often, and after how many seconds each, an undo is looked at


async def home(world: World, team: str, user: str) -> dict[str, Any]:
    """The view as the ledger stands now. Raises Unavailable."""
    waiting = await waiting_for(world, team, user)
    entries = await world.ledger.undoable(team, user=user, limit=HISTORY)
    allowed = await grants.of_person(world, team, user)
    void = [one.grant.id for one in allowed if one.void]
    return lists.home(waiting, entries, listed([one.grant for one in allowed], void))


async def home_after(world: World, team: str, user: str, said: Said) -> dict[str, Any]:
    """The view after a press on it: once the undo asked for is through, or is not for three seconds."""
    for _ in range(LOOKS if said.code == "undoing" and said.action else 0):
        action = await world.ledger.action(said.action.id) if said.action else None
        if action is None or action.state not in (State.SUCCEEDED, State.UNDOING):
            break
        await world.clock.sleep(PAUSE)
    return await home(world, team, user)
