"""What somebody waits for goes first: a click or a message that has to be acknowledged."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

FLOOD = 20  # such things a second: more than some people at work make


class ForegroundPriority:
    """Lets what nobody waits for begin when nothing is under way that somebody waits for, or after a moment: all of it
    shares one event loop, where each statement on PostgreSQL waits for what the others have to do."""

    def __init__(self) -> None:
        self._under_way = 0
        self._calm = asyncio.Event()
        self._began = deque[float](maxlen=FLOOD)

    @property
    def is_flooded(self) -> bool:
        """Whether so many such things have begun within the last second that work on them has to wait."""
        return len(self._began) == FLOOD and asyncio.get_running_loop().time() - self._began[0] < 1.0

    @property
    def is_busy(self) -> bool:
        """Whether such a thing is under way."""
        return self._under_way > 0

    @property
    def is_crowded(self) -> bool:
        """Whether several such things are under way."""
        return self._under_way > 1

    @asynccontextmanager
    async def foreground(self) -> AsyncIterator[None]:
        """Something that somebody waits for is under way."""
        self._under_way += 1
        self._began.append(asyncio.get_running_loop().time())
        try:
            yield
        finally:
            self._under_way -= 1
            self._calm.set()

    async def wait_for_foreground(self, until: float) -> None:
        """Wait until nothing is under way that somebody waits for, at most until that time of the loop's clock."""
        if not self._under_way:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while self._under_way:
                    self._calm.clear()
                    await self._calm.wait()
