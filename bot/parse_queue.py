"""What comes over connections is parsed and handled in turn, for a part of the event loop's time.

Everything that is readable is read in one turn of the loop, and parsing takes the longer the smaller its pieces are:
of a hundred connections that sent chunks of one byte, it took seconds. And what no handler of ours bounds, as a request
for a path that does not exist, is handled as soon as it is parsed. So senders take turns, each with one piece: the
headers of one request, or a part of its body. A crowd of connections of one sender delays its own alone, and a sender
that sent little of late does not wait for those that sent much.
"""

from __future__ import annotations

import asyncio
import heapq
import time
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

PARSED_AT_ONCE = 0.01  # seconds of a turn
BETWEEN_TURNS = 0.02  # seconds until more is parsed
REQUEST = 0.0004  # seconds that a request is taken to need until it is handled
DEBT = 0.1  # seconds, the most that later turns make up for
LITTLE = 0.002  # seconds: of two senders that needed less of late, the one that needed less goes first
LATE_TURNS = 500  # in which half of what a sender needed is forgotten
T = TypeVar("T")


class ParseQueue:
    """Runs what parses a piece of what came: at once while this turn has time left and its sender has nothing that
    waits, else when the turn of its sender comes. For one event loop; `clock` gives the seconds that its thread has
    computed."""

    def __init__(self, clock: Callable[[], float] = time.thread_time) -> None:
        self.clock = clock
        self._left, self._turns = PARSED_AT_ONCE, 0
        self._needed: dict[str, float] = {}  # seconds of late, by sender
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._order: list[tuple[float, int, str]] = []  # a heap of the senders of what waits
        self._count = 0  # of them: among equals the one that came first is the next
        self._next: asyncio.TimerHandle | None = None

    def run(self, sender: str, parse: Callable[[], None]) -> bool:
        """Parse now; False where it waits for its turn."""
        if self._left > 0 and sender not in self._waiting:
            self._timed(sender, parse)
            return True
        if sender not in self._waiting:
            self._enqueue(sender, deque())
        self._waiting[sender].append(parse)
        return False

    def charge(self, sender: str, seconds: float) -> None:
        """Take off this turn, and off those that follow, what something took for this sender."""
        self._needed[sender] = self._needed.get(sender, 0) + seconds
        self._left = max(-DEBT, self._left - seconds)
        self._expect_turn()

    def forgive(self, sender: str) -> None:
        """Forget what a sender needed: it is one that goes before the others again."""
        self._needed.pop(sender, None)

    def _enqueue(self, sender: str, pieces: deque[Callable[[], None]]) -> None:
        self._waiting[sender] = pieces
        self._count += 1
        needed = min(LITTLE, self._needed.get(sender, 0))
        heapq.heappush(self._order, (needed, self._count, sender))

    def _timed(self, sender: str, parse: Callable[[], None]) -> None:
        began = self.clock()
        try:
            parse()
        finally:
            self.charge(sender, self.clock() - began)

    def _expect_turn(self) -> None:
        if self._next is None:
            self._next = asyncio.get_running_loop().call_later(BETWEEN_TURNS, self._take_turn)

    def _take_turn(self) -> None:
        self._next, self._left = None, min(self._left, 0) + PARSED_AT_ONCE
        self._turns += 1
        if self._turns % LATE_TURNS == 0:
            self._needed = {
                sender: needed / 2 for sender, needed in self._needed.items() if needed > LITTLE / 2
            }
        while self._left > 0 and self._order:
            sender = heapq.heappop(self._order)[-1]
            pieces = self._waiting.pop(sender)
            parse = pieces.popleft()
            if pieces:
                self._enqueue(sender, pieces)  # behind its equals
            self._timed(sender, parse)
        if self._left < PARSED_AT_ONCE:
            self._expect_turn()

    def close(self) -> None:
        """Parse nothing more."""
        self._waiting.clear()
        self._order.clear()
        if self._next is not None:
            self._next.cancel()


@types.coroutine
def in_steps(
    work: Coroutine[Any, Any, T], clock: Callable[[], float], count: Callable[[float], None]
) -> Generator[Any, Any, T]:
    """Await `work`, and count what each of its steps takes: from one moment at which it waits to the next."""
    step, given = work.send, None
    while True:
        began = clock()
        try:
            awaited = step(given)
        except StopIteration as end:
            found: T = end.value
            return found
        finally:
            count(clock() - began)
        try:
            step, given = work.send, (yield awaited)
        except BaseException as error:  # a cancellation, too, is for the work
            step, given = work.throw, error
