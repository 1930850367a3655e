"""Lets few runs of one kind work at once, so that whoever waits for an answer meanwhile finds the loop nearly free."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

from tools.mcp.fair_slots import FairSlots

AT_ONCE = 2  # of one kind; more gain nothing, they share one core
PER_OWNER = 1  # of them; so whoever asks beside a busy person begins at once
LONG = 0.25  # seconds after which a run is taken to wait for something outside: another one may pass
# Gives back the place of the run at hand.
LEAVE: ContextVar[Callable[[], None]] = ContextVar("leave", default=lambda: None)


def step_aside() -> None:
    """To be called by a run that is about to wait: another one of its kind may pass."""
    LEAVE.get()()


class Turnstile:
    """For one event loop. Each kind passes for itself; within a kind people take turns, and the runs of one person
    pass one after the other in the order in which they came: an answer is posted above the card that asks about it. A
    run that takes long keeps no other one from passing."""

    def __init__(self, at_once: int = AT_ONCE, long: float = LONG) -> None:
        self._long, self._at_once = long, at_once
        self._places: dict[str, FairSlots] = {}

    def free(self, kind: str) -> int:
        """How many of this kind may pass now."""
        return self._of(kind).free

    def _of(self, kind: str) -> FairSlots:
        if kind not in self._places:
            self._places[kind] = FairSlots(self._at_once, PER_OWNER)
        return self._places[kind]

    @asynccontextmanager
    async def passed(self, kind: str, owner: str = "") -> AsyncIterator[None]:
        """Wait for a place; it is given back at the end, or after a while if that is sooner."""
        places, left = self._of(kind), False

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                places.release(owner)

        await places.acquire(owner)
        later = asyncio.get_running_loop().call_later(self._long, leave)
        LEAVE.set(leave)
        try:
            yield
        finally:
            later.cancel()
            leave()
