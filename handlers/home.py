"""App Home: what one person has waiting, and what they can take back."""

from __future__ import annotations

from typing import Any

from gate.world import World
from views import lists

HISTORY = 5  # entries that can be taken back


async def home(world: World, team: str, user: str) -> dict[str, Any]:
    """The view as the ledger stands now. Raises Unavailable."""
    waiting = await world.ledger.pending(team, user=user)
    entries = await world.ledger.undoable(team, user=user, limit=HISTORY)
    return lists.home(waiting, entries)
