"""Turns of those whose calls are judged on the event loop, which may take a tenth of a second for a large one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from weakref import WeakValueDictionary


class JudgingTurns:
    """One turn at a time. Each person waits for one at most, however many are asked for in their name, so that nobody
    waits for more than one turn of anybody else."""

    def __init__(self) -> None:
        self._one = asyncio.Lock()
        self._own: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def wait(self, whose: str, rest: Callable[[], Awaitable[None]]) -> None:
        """Waits for a turn of this person, and lets other work go first with `rest`."""
        async with self._own.setdefault(whose, asyncio.Lock()), self._one:
            await rest()
