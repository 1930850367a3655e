"""Lets few runs of one kind work at once, so that whoever waits for an answer meanwhile finds the loop nearly free."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE = 2  # of one kind; more gain nothing, they share one core
LONG = 0.25  # seconds after which a run is taken to wait for something outside: another one may pass


class Turnstile:
    """For one event loop. Runs pass in the order in which they came, each kind for itself."""

    def __init__(self, at_once: int = AT_ONCE, long: float = LONG) -> None:
        self._at_once = at_once
        self._long = long
        self._inside: defaultdict[str, set[object]] = defaultdict(set)
        self._places: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(at_once))

    def free(self, kind: str) -> int:
        """How many of this kind may pass now."""
        return self._at_once - len(self._inside[kind])

    @asynccontextmanager
    async def passed(self, kind: str) -> AsyncIterator[None]:
        """Wait for a place; it is given back at the end, or after a while if that is sooner."""
        places, inside, me = self._places[kind], self._inside[kind], object()

        def leave() -> None:
            if me in inside:
                inside.remove(me)
                places.release()

        await places.acquire()
        inside.add(me)
        later = asyncio.get_running_loop().call_later(self._long, leave)
        try:
            yield
        finally:
            later.cancel()
            leave()
