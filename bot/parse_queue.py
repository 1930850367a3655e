"""What comes over connections on which nothing was authenticated is parsed and handled for a part of the loop's time.

Everything that is readable is read in one turn of the loop, and parsing takes the longer the smaller its pieces are:
of a hundred connections that sent chunks of one byte, it took seconds. Addresses take turns, so that a crowd of
connections from one delays its own alone. What a request then costs until its sender is known (the router, a handler
that looks at its headers, its answer) is taken off the same time: nothing more is parsed until it is made up for.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")

PARSED_AT_ONCE = 0.01  # seconds of a turn
BETWEEN_TURNS = 0.02  # seconds from the first piece of a turn until more is parsed
HANDLED = 0.0005  # seconds that a request is taken to cost until its handler has begun, and is metered
MOST_DEBT = 10 * PARSED_AT_ONCE  # that is made up for: Slack's new connections wait for it too


class ParseQueue:
    """Runs what parses a piece of what came: at once while this turn has time left and its address has nothing that
    waits, else when the turn of its address comes. For one event loop; `clock` gives the seconds that its thread has
    computed."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock, self._left = clock, PARSED_AT_ONCE
        self._waiting: dict[str, deque[Callable[[], None]]] = {}  # by address, whose turn is next first
        self._next: asyncio.TimerHandle | None = None

    @property
    def is_overdrawn(self) -> bool:
        """Whether strangers have had more than a turn ahead of their time."""
        return self._left < -PARSED_AT_ONCE

    def run(self, address: str, parse: Callable[[], None]) -> bool:
        """Parse now; False where it waits for its turn."""
        if self._left <= 0 or address in self._waiting:
            self._waiting.setdefault(address, deque()).append(parse)
            return False
        self.timed(parse)
        return True

    def charge(self, seconds: float) -> None:
        """Take what was computed for strangers elsewhere off their time; less than 0 gives back what was taken."""
        self._left = min(PARSED_AT_ONCE, max(self._left - seconds, -MOST_DEBT))
        if self._next is None and self._left < PARSED_AT_ONCE:
            self._next = asyncio.get_running_loop().call_later(BETWEEN_TURNS, self._take_turn)

    def meter(self) -> Meter:
        return Meter(self.charge, self._clock)

    def timed(self, parse: Callable[[], None]) -> None:
        """Parse now, on the strangers' time."""
        began = self._clock()
        try:
            parse()
        finally:
            self.charge(self._clock() - began)

    def _take_turn(self) -> None:
        self._next = None
        self.charge(-PARSED_AT_ONCE)
        while self._waiting and self._left > 0:
            address = next(iter(self._waiting))
            pieces = self._waiting.pop(address)
            parse = pieces.popleft()
            if pieces:
                self._waiting[address] = pieces  # behind the others
            self.timed(parse)

    def close(self) -> None:
        """Parse nothing more."""
        self._waiting.clear()
        if self._next is not None:
            self._next.cancel()


class Meter:
    """Charges each step of what handles a request, until it is stopped: what runs between two waits of its task, but
    for what that has other tasks and threads do."""

    def __init__(self, charge: Callable[[float], None], clock: Callable[[], float]) -> None:
        self._charge, self._clock = charge, clock
        self._began = 0.0
        self._stopped = False

    def stop(self) -> None:
        """Charge nothing from here on: the sender is known."""
        self._add()
        self._stopped = True

    @coroutine
    def run(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """What the work returns, or raises."""
        step = partial(work.send, None)
        while True:
            self._began = self._clock()
            try:
                waits_for = step()
            except StopIteration as end:
                return cast(T, end.value)
            finally:
                self._add()
            try:
                step = partial(work.send, (yield waits_for))
            except BaseException as error:
                step = partial(work.throw, error)

    def _add(self) -> None:
        if not self._stopped:
            self._charge(self._clock() - self._began)
