"""Both ends of a transport in memory, and a throttle that only takes notes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from tools.mcp.limits import ParseThrottle


class MemoryTransport:
    """Both ends of a transport in memory."""

    def __init__(self) -> None:
        self.from_server, self.client_reads = anyio.create_memory_object_stream[Any](5)
        self.client_writes, self.to_server = anyio.create_memory_object_stream[Any](5)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        try:
            yield self.client_reads, self.client_writes
        finally:
            for stream in (self.from_server, self.client_reads, self.client_writes, self.to_server):
                stream.close()


class RecordedThrottle(ParseThrottle):
    """A throttle that remembers what was charged, and lets nothing wait."""

    def __init__(self) -> None:
        super().__init__()
        self.charged: list[float] = []

    def charge(self, now: float, seconds: float) -> float:
        self.charged.append(seconds)
        return 0.0
