"""App Home: what waits for a person, what they can take back, and their grants."""

from __future__ import annotations

from typing import Any

from gate.actions import grants
from gate.actions.button_press import Said
from gate.rules.ports import World
from gate.rules.states import State
from gate.tasks.pending import waiting_for
from views import lists
from views.grants import entries as listed

UNDOABLE = 5  # newest entries that can be undone
POLLS, POLL_SECONDS = 30, 0.1  # of a call that has begun, before the view is published
# The code of a decision after which a call runs -> the states in which it is not over.
RUNNING = {
    "undoing": (State.SUCCEEDED, State.UNDOING),
    "confirmed": (State.APPROVED, State.EXECUTING),
}


async def home(world: World, team: str, user: str, page: int = 0) -> dict[str, Any]:
    """The view, from the ledger; `page`: of what waits. Raises Unavailable."""
    waiting = await waiting_for(world, team, user)
    entries = await world.ledger.undoable(team, user=user, limit=UNDOABLE)
    allowed = await grants.of_person(world, team, user)
    void = [one.grant.id for one in allowed if one.void]
    return lists.home(waiting, user, entries, listed([one.grant for one in allowed], void), page)


async def home_after(world: World, team: str, user: str, said: Said | None) -> dict[str, Any]:
    """The view after a decision in App Home, or in a window opened there. Where a call runs because of it, its end is
    waited for, 3 s at most. Raises Unavailable.
    """
    running = RUNNING.get(said.code, ()) if said else ()
    for _ in range(POLLS if running else 0):
        action = await world.ledger.action(said.action.id) if said and said.action else None
        if action is None or action.state not in running:
            break
        await world.clock.sleep(POLL_SECONDS)
    return await home(world, team, user)
