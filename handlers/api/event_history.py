"""Old events for streams: one page is read at a time, after which its token rests and leaves that time to others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from weakref import WeakValueDictionary

from gate.rules.access import EventFilter, StreamEvent
from handlers.api.ports import Events

HISTORY_PAGE = 200  # numbers of events, whether or not they are wanted
REST = 3.0  # times what a page took


class History:
    """The table of events, for those who are further behind than the buffer."""

    def __init__(self, events: Events, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._events, self._sleep = events, sleep
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._reading = asyncio.Lock()  # each token waits for it once at most, so that they take turns

    async def page(self, token: str, seq: int, until: int, wanted: EventFilter) -> Sequence[StreamEvent]:
        """What is wanted of the events after `seq` up to `until`, oldest first. Raises Unavailable."""
        async with self._locks.setdefault(token, asyncio.Lock()):
            loop, took = asyncio.get_running_loop(), 0.0
            try:
                async with self._reading:
                    began = loop.time()
                    try:
                        return await self._events.between(seq, until, wanted)
                    finally:
                        took = loop.time() - began
            finally:
                await self._sleep(REST * took)
