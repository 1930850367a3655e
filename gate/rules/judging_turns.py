"""Turns of those whose calls are judged on the event loop, which may take a tenth of a second for a large one."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary


class JudgingTurns:
    """`one` is had by whoever has a turn. Each person waits for it once at most, however many are asked for in their
    name, by having their own lock first: so nobody waits for more than one turn of anybody else. `slice` is had for a
    part of longer work, all of which together has one turn of the loop at a time."""

    def __init__(self) -> None:
        self.one = asyncio.Lock()
        self.slice = asyncio.Lock()
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def own(self, whose: str) -> asyncio.Lock:
        """The lock of this person, for as long as somebody has it or waits for it."""
        return self._own.setdefault(whose, asyncio.Lock())
