"""A semaphore that owners share fairly: one who asks for many slots waits behind those who ask for few."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from contextlib import suppress


class QueueFull(Exception):
    """An owner has as many requests waiting as are allowed."""


class FairSlots:
    """`slots` at once, at most `per_owner` of them for one owner (any string). For one event loop.

    A slot that becomes free goes to the owner who has waited for a turn the longest, not to the oldest request:
    owners take turns, and the requests of each keep their order. With `max_waiting`, an owner's further requests are
    refused.
    """

    def __init__(self, slots: int, per_owner: int, max_waiting: int | None = None) -> None:
        self._slots, self._per_owner, self._max_waiting = slots, per_owner, max_waiting
        self._taken: Counter[str] = Counter()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # owners in the order of their turns

    @property
    def free(self) -> int:
        """The number of free slots."""
        return self._slots - self._taken.total()

    def waiting(self, owner: str) -> int:
        """The number of requests of this owner that wait."""
        return len(self._queues.get(owner, ()))

    async def acquire(self, owner: str) -> None:
        """Wait for a slot, which `release` gives back. Raises QueueFull."""
        if not self.waiting(owner) and self.free > 0 and self._taken[owner] < self._per_owner:
            self._taken[owner] += 1
            return
        if self._max_waiting is not None and self.waiting(owner) >= self._max_waiting:
            raise QueueFull
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release(owner)  # the slot was assigned just before the cancellation
            else:
                self._remove(owner, turn)
            raise

    def release(self, owner: str) -> None:
        """Give a slot back; the owner whose turn it is gets it."""
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
        self._fill()

    def _fill(self) -> None:
        while self.free > 0 and (owner := self._next_owner()) is not None:
            queue = self._queues.pop(owner)
            first = queue.popleft()
            if queue:
                self._queues[owner] = queue  # at the end: the other owners come first
            if not first.done():  # else it was cancelled and has not run since
                self._taken[owner] += 1
                first.set_result(None)

    def _next_owner(self) -> str | None:
        return next((owner for owner in self._queues if self._taken[owner] < self._per_owner), None)

    def _remove(self, owner: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(owner)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[owner]


class Slot:
    """A slot of one owner, from `taken` until `close`. While it is lent, others use it."""

    def __init__(self, slots: FairSlots, owner: str) -> None:
        self._slots, self._owner = slots, owner
        self._lent, self._held, self._closed = 0, False, False

    async def taken(self) -> None:
        """Wait for it. Raises QueueFull."""
        await self._slots.acquire(self._owner)
        if self._closed or self._lent:  # meanwhile
            self._slots.release(self._owner)
        else:
            self._held = True

    def lend(self) -> None:
        """Let others use it, until as many calls of `back`."""
        self._lent += 1
        self._give_back()

    async def back(self) -> None:
        """Wait for it again, unless it is closed. Without it where too many wait already."""
        self._lent -= 1
        if not self._lent and not self._closed:
            with suppress(QueueFull):
                await self.taken()

    def close(self) -> None:
        """Give it back for good."""
        self._closed = True
        self._give_back()

    def _give_back(self) -> None:
        if self._held:
            self._held = False
            self._slots.release(self._owner)
