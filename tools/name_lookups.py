"""Looking up hosts on threads of its own: a name server of others that never answers holds up nobody else.

The event loop itself looks names up on the few threads that `asyncio.to_thread` needs as well.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from tools.mcp.limits import FairSlots

MAX_LOOKUPS = 16  # threads at once
MAX_PER_OWNER = 2  # of them: the names of one owner wait for each other
NO_THREAD = "Its name was not looked up: other look-ups for the same owner have not ended yet."

# As socket.getaddrinfo gives them: family, type, protocol, canonical name, address
Addresses = Sequence[tuple[Any, ...]]
Resolve = Callable[[str, int], Addresses]


class TooManyLookups(Exception):
    """No thread became free in time. Its text is a sentence."""


def system_resolve(host: str, port: int) -> Addresses:
    """The addresses as the system knows them. Takes as long as the name server likes."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class NameLookups:
    """For one event loop. Each look-up has a daemon thread, which nobody waits for at the end; what a caller no longer
    waits for keeps its place until the name server answers. `wait`: seconds for a thread; None: as long as the caller
    waits."""

    def __init__(self, resolve: Resolve = system_resolve, wait: float | None = None) -> None:
        self._resolve, self._wait = resolve, wait
        self._slots = FairSlots(MAX_LOOKUPS, MAX_PER_OWNER)

    async def addresses(self, owner: str, host: str, port: int) -> Addresses:
        """The addresses of this host. Raises TooManyLookups, and OSError and UnicodeError as they come."""
        try:
            async with asyncio.timeout(self._wait):
                await self._slots.acquire(owner)
        except TimeoutError:
            raise TooManyLookups(NO_THREAD) from None
        loop = asyncio.get_running_loop()
        found: asyncio.Future[Addresses] = loop.create_future()

        def end(addresses: Addresses, error: Exception | None) -> None:
            self._slots.release(owner)
            if found.done():
                return
            if error is None:
                found.set_result(addresses)
            else:
                found.set_exception(error)

        def look() -> None:
            addresses: Addresses = ()
            error: Exception | None = None
            try:
                addresses = self._resolve(host, port)
            except Exception as problem:
                error = problem
            with suppress(RuntimeError):  # the loop is closed: this process ends
                loop.call_soon_threadsafe(end, addresses, error)

        try:
            threading.Thread(target=look, name="name look-up", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            self._slots.release(owner)
            raise TooManyLookups(NO_THREAD) from None
        return await found
