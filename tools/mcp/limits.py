"""Bounds on what one server may send, on the loop's time that it may take, and on the calls of one person."""

from __future__ import annotations

import asyncio
import re
from collections import Counter, deque
from contextlib import suppress

from gate.rules.action import Json

MAX_TOOLS = 500  # in one listing
MAX_DEFINITION_CHARS = 100_000  # of a tool's definition, names and texts together
MAX_DEFINITION_VALUES = 10_000  # at any depth of a tool's definition
SCHEMA_STEPS = 1_500  # schema keywords evaluated for one value: 10 to 30 microseconds each
CHECK_STEPS = 10_000  # the same for a schema itself, of which each part takes some 30: 0.2 s, beside the loop
FAST_SCHEMA_STEPS = 20_000  # the same for schema_fast_path.py: one microsecond each
PATTERN_WORK = 10_000_000  # characters that one pattern may look at: 20 to 50 milliseconds, 0.2 s at the most
MIN_RELIST_GAP = 0.5  # seconds between two listings that changes ask for
MAX_RELIST_GAP = 60.0
# The gap is this many times the duration of a listing: one server takes 5 % of the time at most
LISTING_SHARE = 20
# Of the loop's time for the messages of one server, once it has used up PARSE_BURST seconds
PARSE_SHARE = 0.1
PARSE_BURST = 0.5
MAX_MESSAGE_BYTES = 4 * 1024 * 1024  # of one message of a server; pictures in an answer take the most
MAX_CONTAINERS = 25_000  # lists and objects in it
MAX_VALUES = 100_000  # commas and colons in it, as many as its values and names
TOO_LONG = (
    f"a message can have {MAX_MESSAGE_BYTES >> 20} MiB, {MAX_CONTAINERS:,} lists and objects and {MAX_VALUES:,} values "
    "and names at most"
)
PIECE = 16 * 1024  # bytes that are counted at once
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+\\?"?', re.DOTALL)  # or the beginning of one that ends later
UNCLOSED = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+"(?:[^"\\]++|\\.)*+(?P<escape>\\?)\Z', re.DOTALL)


def definition_too_large(definition: Json) -> str:
    """Why a tool's definition is not used; "" where it is. Takes bounded time, however large the definition is."""
    stack, values, length = [definition], 0, 0
    while stack:
        value = stack.pop()
        values += 1
        if isinstance(value, dict):
            values += len(value)
            length += sum(len(key) for key in value if values <= MAX_DEFINITION_VALUES)
            stack += value.values() if values <= MAX_DEFINITION_VALUES else ()
        elif isinstance(value, list):
            stack += value if values + len(value) <= MAX_DEFINITION_VALUES else ()
            values += len(value)
        elif isinstance(value, str):
            length += len(value)
        if length > MAX_DEFINITION_CHARS:
            return f"its definition is longer than {MAX_DEFINITION_CHARS:,} characters"
        if values > MAX_DEFINITION_VALUES:
            return f"its definition has more than {MAX_DEFINITION_VALUES:,} parts"
    return ""


class MessageSize:
    """How much a message of JSON has, fed in pieces: parsing takes time for each value, however short the text is.

    One microsecond for a value and three for a list or object keep the longest message below 0.1 s, also on a machine
    that takes twice as long, and a piece of 16 KiB takes a millisecond to count.
    """

    def __init__(self) -> None:
        self.containers = self.values = self.bytes = 0
        self._open = b""  # of a string, or an escape, that goes on in the next piece

    def feed(self, piece: bytes) -> None:
        """Count the next piece. Brackets, commas and colons in quoted text do not count."""
        self.bytes += len(piece)
        text = self._open + piece
        unclosed = UNCLOSED.match(text)
        self._open = b"" if unclosed is None else b'"' + unclosed["escape"]
        plain = STRING.sub(b"", text)
        self.containers += plain.count(b"[") + plain.count(b"{")
        self.values += plain.count(b",") + plain.count(b":")

    @property
    def too_large(self) -> bool:
        return self.bytes > MAX_MESSAGE_BYTES or self.containers > MAX_CONTAINERS or self.values > MAX_VALUES


class RelistBackoff:
    """When a server's tools are listed again after it says that they changed.

    The first change is listed at once. While changes continue, the gap between two listings doubles.
    """

    def __init__(self) -> None:
        self._gap, self._next = MIN_RELIST_GAP, 0.0

    def delay(self, now: float) -> float:
        """Seconds until the next listing may begin."""
        return max(0.0, self._next - now)

    def record(self, now: float, duration: float) -> None:
        """Count a listing that a change asked for: it ends at `now` and took `duration` seconds."""
        quiet = now - duration - self._next > self._gap
        self._gap = MIN_RELIST_GAP if quiet else min(2 * self._gap, MAX_RELIST_GAP)
        self._next = now + min(max(self._gap, LISTING_SHARE * duration), MAX_RELIST_GAP)


class ParseThrottle:
    """The estimated seconds of loop time that one server's messages take, as a leaky bucket.

    A server that sends more than its share is read later: the rest waits in its own pipe or socket.
    """

    def __init__(self) -> None:
        self._level, self._at = 0.0, 0.0

    def charge(self, now: float, seconds: float) -> float:
        """Add something that took `seconds`; returns the seconds to wait before more is read."""
        self._level = max(0.0, self._level - (now - self._at) * PARSE_SHARE) + seconds
        self._at = now
        return max(0.0, (self._level - PARSE_BURST) / PARSE_SHARE)


class QueueFull(Exception):
    """An owner has as many requests waiting as are allowed."""


class FairSlots:
    """`slots` at once, at most `per_owner` of them for one owner (any string). For one event loop.

    A slot that becomes free goes to the owner who has waited for a turn the longest, not to the oldest request:
    owners take turns, and the requests of each keep their order. With `max_waiting`, an owner's further requests are
    refused.
    """

    def __init__(self, slots: int, per_owner: int, max_waiting: int | None = None) -> None:
        self._slots, self._per_owner, self._max_waiting = slots, per_owner, max_waiting
        self._taken: Counter[str] = Counter()
        self._queues: dict[str, deque[asyncio.Future[None]]] = {}  # owners in the order of their turns

    @property
    def free(self) -> int:
        """The number of free slots."""
        return self._slots - self._taken.total()

    def waiting(self, owner: str) -> int:
        """The number of requests of this owner that wait."""
        return len(self._queues.get(owner, ()))

    async def acquire(self, owner: str) -> None:
        """Wait for a slot, which `release` gives back. Raises QueueFull."""
        if not self.waiting(owner) and self.free > 0 and self._taken[owner] < self._per_owner:
            self._taken[owner] += 1
            return
        if self._max_waiting is not None and self.waiting(owner) >= self._max_waiting:
            raise QueueFull
        turn = asyncio.get_running_loop().create_future()
        self._queues.setdefault(owner, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release(owner)  # the slot was assigned just before the cancellation
            else:
                self._remove(owner, turn)
            raise

    def release(self, owner: str) -> None:
        """Give a slot back; the owner whose turn it is gets it."""
        self._taken[owner] -= 1
        if not self._taken[owner]:
            del self._taken[owner]
        self._fill()

    def _fill(self) -> None:
        while self.free > 0 and (owner := self._next_owner()) is not None:
            queue = self._queues.pop(owner)
            first = queue.popleft()
            if queue:
                self._queues[owner] = queue  # at the end: the other owners come first
            if not first.done():  # else it was cancelled and has not run since
                self._taken[owner] += 1
                first.set_result(None)

    def _next_owner(self) -> str | None:
        return next((owner for owner in self._queues if self._taken[owner] < self._per_owner), None)

    def _remove(self, owner: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(owner)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[owner]


class Slot:
    """A slot of one owner, from `taken` until `close`. While it is lent, others use it."""

    def __init__(self, slots: FairSlots, owner: str) -> None:
        self._slots, self._owner = slots, owner
        self._lent, self._held, self._closed = 0, False, False

    async def taken(self) -> None:
        """Wait for it. Raises QueueFull."""
        await self._slots.acquire(self._owner)
        if self._closed or self._lent:  # meanwhile
            self._slots.release(self._owner)
        else:
            self._held = True

    def lend(self) -> None:
        """Let others use it, until as many calls of `back`."""
        self._lent += 1
        self._give_back()

    async def back(self) -> None:
        """Wait for it again, unless it is closed. Without it where too many wait already."""
        self._lent -= 1
        if not self._lent and not self._closed:
            with suppress(QueueFull):
                await self.taken()

    def close(self) -> None:
        """Give it back for good."""
        self._closed = True
        self._give_back()

    def _give_back(self) -> None:
        if self._held:
            self._held = False
            self._slots.release(self._owner)
