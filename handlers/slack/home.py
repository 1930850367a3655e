"""App Home, and the pages of the list of what waits: what a person can decide, take back, and has granted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakValueDictionary

from gate.actions import grants
from gate.actions.button_press import PressResult
from gate.rules.action_states import State
from gate.rules.ports import World
from gate.tasks.pending import waiting_for
from handlers.slack.listener import Reply
from handlers.slack.payloads import Click
from views import buttons, lists
from views.grants import entries as listed

UNDOABLE = 5  # newest entries that can be undone
POLLS, POLL_SECONDS = 30, 0.1  # of a call that has begun, before the view is published
PAGE = re.compile(r"[0-9]{1,4}")
NO_LIST = "This is no list of mine. `/pending` shows what waits for you."
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


class HomeAfter:
    """The view after a decision in App Home, or in a window opened there. For each person one is made at a time, and
    one for all decisions that wait for that: each view reads much."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._making: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()
        self._waiting: set[tuple[str, str]] = set()  # of them, by team and user

    async def __call__(self, team: str, user: str, said: PressResult | None) -> dict[str, Any] | None:
        """None where another that is still to be made shows the same. Raises Unavailable."""
        await self._ended(said)
        person = (team, user)
        if person in self._waiting:
            return None
        self._waiting.add(person)
        making = self._making.setdefault(person, asyncio.Lock())
        try:
            await making.acquire()
        finally:
            self._waiting.discard(person)
        try:
            return await home(self._world, team, user)
        finally:
            making.release()

    async def _ended(self, said: PressResult | None) -> None:
        """Where a call runs because of the decision, wait for its end, 3 s at most."""
        running = RUNNING.get(said.code, ()) if said else ()
        for _ in range(POLLS if running else 0):
            action = await self._world.ledger.action(said.action.id) if said and said.action else None
            if action is None or action.state not in running:
                break
            await self._world.clock.sleep(POLL_SECONDS)


class Pages:
    """The handlers of the buttons that turn a page. Whoever presses one sees their own list, whatever the button says
    besides the page."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Click], Awaitable[Reply]]]:
        """action_id -> handler."""
        return {buttons.EARLIER: self.turn, buttons.LATER: self.turn}

    async def turn(self, click: Click) -> Reply:
        if not PAGE.fullmatch(click.value) or not click.in_private_list:
            return Reply(text=NO_LIST)  # what others see, too, is not replaced by somebody's list
        page = int(click.value)
        if click.in_app_home:
            return Reply(home=await home(self._world, click.team, click.user, page))
        waiting = await waiting_for(self._world, click.team, click.user)
        return Reply(instead=lists.pending(waiting, click.user, page))
