"""Turns of those whose calls are judged on the event loop, which may take a tenth of a second for a large one."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

SHARE = 0.2  # of the loop's time for such work of one person, once they have used up BURST seconds
BURST = 0.5
FREE = 0.01  # seconds of one turn of the loop that count for nothing: usual calls take 2 or 3 ms
MOST_PEOPLE = 1000  # whose time is kept


class JudgingTurns:
    """`one` is had by whoever has a turn. Each person waits for it once at most, however many are asked for in their
    name, by having their own lock first: so nobody waits for more than one turn of anybody else. `slice` is had for a
    part of longer work, all of which together has one turn of the loop at a time."""

    def __init__(self) -> None:
        self.one = asyncio.Lock()
        self.slice = asyncio.Lock()
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._paid: dict[str, float] = {}  # until when the time that each has used is paid by waiting

    def own(self, whose: str) -> asyncio.Lock:
        """The lock of this person, for as long as somebody has it or waits for it."""
        return self._own.setdefault(whose, asyncio.Lock())

    def charge(self, whose: str, now: float, seconds: float) -> None:
        """Count a turn of the loop that work for this person took, which ends `now`, in seconds."""
        if seconds <= FREE:
            return
        self._paid[whose] = max(self._paid.pop(whose, now), now) + seconds / SHARE
        while len(self._paid) > MOST_PEOPLE:
            del self._paid[next(iter(self._paid))]  # who has not used any for the longest time

    def rest(self, whose: str, now: float) -> float:
        """How many seconds this person's next work waits."""
        return max(0.0, self._paid.get(whose, now) - now - BURST / SHARE)
