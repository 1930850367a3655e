"""Bytes of connections on which nothing was authenticated are parsed in turn, for a part of the event loop's time.

Everything that is readable is read in one turn of the loop, and parsing takes the longer the smaller its pieces are:
of a hundred connections that sent chunks of one byte, it took seconds. Addresses take turns, so that a crowd of
connections from one delays its own alone.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

PARSED_AT_ONCE = 0.01  # seconds of a turn
BETWEEN_TURNS = 0.02  # seconds until more is parsed


class ParseQueue:
    """Runs what parses a piece of what came: at once while this turn has time left and its address has nothing that
    waits, else when the turn of its address comes. For one event loop; `clock` gives the seconds that its thread has
    computed."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock, self._left = clock, PARSED_AT_ONCE
        self._waiting: dict[str, deque[Callable[[], None]]] = {}  # by address, whose turn is next first
        self._next: asyncio.TimerHandle | None = None

    def run(self, address: str, parse: Callable[[], None]) -> bool:
        """Parse now; False where it waits for its turn."""
        if self._left <= 0 or address in self._waiting:
            self._waiting.setdefault(address, deque()).append(parse)
            return False
        self._timed(parse)
        return True

    def _timed(self, parse: Callable[[], None]) -> None:
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(BETWEEN_TURNS, self._take_turn)
        began = self._clock()
        parse()
        self._left -= self._clock() - began

    def _take_turn(self) -> None:
        self._next, self._left = None, PARSED_AT_ONCE
        while self._waiting and self._left > 0:
            address = next(iter(self._waiting))
            pieces = self._waiting.pop(address)
            parse = pieces.popleft()
            if pieces:
                self._waiting[address] = pieces  # behind the others
            self._timed(parse)

    def close(self) -> None:
        """Parse nothing more."""
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()
