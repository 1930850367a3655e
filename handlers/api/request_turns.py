"""Lets the requests of one owner, a person or a credential, take turns: a flood delays those of others little."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from contextvars import ContextVar

FLOOD = 4  # more waiting requests of one owner than this are a flood
REST = 2.0  # times what a request of a flood took, until the next one begins: that time is left to others
# Gives back the turn of the request at hand.
RELEASE: ContextVar[Callable[[], None]] = ContextVar("leave the turn", default=lambda: None)


def release_slot() -> None:
    """To be called by a request that is about to wait: the next one of its owner may begin."""
    RELEASE.get()()


class Turns:
    """One request of each owner works at a time, in the order in which they came. For one event loop.

    A request that takes longer than `long`, in seconds, is taken to wait for something outside: the next one begins.
    How many may wait is bounded where requests are counted.
    """

    def __init__(self, long: float) -> None:
        self._long = long
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # of the owners that have a request at work

    @asynccontextmanager
    async def taken(self, owner: str) -> AsyncIterator[Callable[[], None]]:
        """Wait for a turn. It ends with the block, after a while, or by the function that is given."""
        await self._acquire(owner)
        loop = asyncio.get_running_loop()
        left, began = False, loop.time()

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                self._release(owner, loop.time() - began)

        later = loop.call_later(self._long, leave)
        RELEASE.set(leave)
        try:
            yield leave
        finally:
            later.cancel()
            leave()

    async def _acquire(self, owner: str) -> None:
        queue = self._queues.get(owner)
        if queue is None:
            self._queues[owner] = deque()
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in queue:
                queue.remove(turn)
            elif not turn.cancelled():
                self._release(owner)  # the turn came just before the cancellation
            raise

    def _release(self, owner: str, took: float = 0) -> None:
        """`took`: the seconds of the turn that ends."""
        if len(self._queues[owner]) > FLOOD:
            asyncio.get_running_loop().call_later(REST * took, self._begin_next, owner)
        else:
            self._begin_next(owner)

    def _begin_next(self, owner: str) -> None:
        queue = self._queues[owner]
        while queue:
            turn = queue.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        del self._queues[owner]
