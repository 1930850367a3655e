"""Bounds on what one server may send, on the loop's time that it may take, and on the calls of one person."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

from gate.rules.action import Json
from gate.rules.jobs import person_of
from gate.rules.message_size import (
    MAX_CONTAINERS,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_MESSAGE_BYTES,
    MAX_VALUES,
    extent,
    utf8_bytes,
)

MAX_TOOLS = 500  # in one listing
MAX_DEFINITION_BYTES = 100_000  # in UTF-8, of a tool's definition, names and texts together
MAX_DEFINITION_VALUES = 10_000  # at any depth of a tool's definition
# Of the definitions in one listing together: some 80 MB once they are read
MAX_LISTING_BYTES, MAX_LISTING_VALUES = 16_000_000, 300_000
SCHEMA_STEPS = 1_500  # schema keywords evaluated for one value: 10 to 30 microseconds each
CHECK_STEPS = 16_000  # the same for a schema itself, of which each part takes some 50: 0.2 s, beside the loop
LISTING_STEPS = 1_600_000  # the same for all schemas of one listing: 6 s
FAST_SCHEMA_STEPS = 20_000  # the same for schema_fast_path.py: one microsecond each
PATTERN_WORK = 10_000_000  # characters that one pattern may look at: 20 to 50 milliseconds, 0.2 s at the most
MIN_RELIST_GAP = 0.5  # seconds between two listings that changes ask for
MAX_RELIST_GAP = 60.0
# The gap is this many times the duration of a listing: one server takes 5 % of the time at most
LISTING_SHARE = 20
# Of the loop's time for the messages of one server, once it has used up PARSE_BURST seconds
PARSE_SHARE = 0.1
PARSE_BURST = 0.5
# Seconds of loop time for ParseThrottle: for a message or a chunk of a body, and for its contents.
PER_MESSAGE, PER_CHUNK, PER_PART, PER_VALUE, PER_LINE, PER_BYTE = 3e-4, 5e-5, 2e-6, 5e-7, 1e-6, 5e-9
PER_REQUEST = 2e-3  # the same for a request over HTTP up to the body of its answer
GET_GAP = 1.0  # seconds between two GETs: a server says itself how soon its stream is resumed, and may say 0
TOO_LONG = (
    f"a message can have {MAX_MESSAGE_BYTES >> 20} MiB, {MAX_CONTAINERS:,} lists and objects, {MAX_DEPTH} levels "
    f"of them, {MAX_VALUES:,} values and names, and {MAX_DIGITS} digits in a number at most"
)
MAX_PARTS = 500  # in the content of one answer: each is compared with five types
MAX_PART_VALUES = 10_000  # in all of them; they are looked at one by one, up to the first that is wrong
TOO_MANY_PARTS = f"an answer can have {MAX_PARTS} parts, with {MAX_PART_VALUES:,} values and names, at most"
MAX_ERRORS_READ = 60  # of one validation: pydantic lists all or none, two microseconds for each
MAX_LINE = 300  # characters of an error in a sentence


class ListingSize:
    """How much the definitions of one listing have together, counted tool by tool."""

    def __init__(self) -> None:
        self._values = self._bytes = 0

    def too_large_with(self, definition: Json) -> str:
        """Count one more. Why it is not used; "" where it is."""
        values, size = extent(definition, MAX_DEFINITION_VALUES, MAX_DEFINITION_BYTES, utf8_bytes)
        if size > MAX_DEFINITION_BYTES:
            return f"its definition is longer than {MAX_DEFINITION_BYTES:,} bytes"
        if values > MAX_DEFINITION_VALUES:
            return f"its definition has more than {MAX_DEFINITION_VALUES:,} parts"
        if self._bytes + size > MAX_LISTING_BYTES or self._values + values > MAX_LISTING_VALUES:
            return (
                f"the definitions of its server have more than {MAX_LISTING_BYTES:,} bytes or "
                f"{MAX_LISTING_VALUES:,} parts together"
            )
        self._values, self._bytes = self._values + values, self._bytes + size
        return ""


def first_error(error: ValidationError) -> str:
    """What is wrong, without what was sent. The text of the whole error has a line or more for each thing that is
    wrong, tens of megabytes for an answer within all bounds."""
    if error.error_count() > MAX_ERRORS_READ:
        return f"{error.error_count():,} things in it are wrong"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(str(step) for step in first["loc"] if not isinstance(step, int))
    return f"{where}: {first['msg']}"


def error_line(error: BaseException | str) -> str:
    """An error in one line of at most MAX_LINE characters."""
    text = first_error(error) if isinstance(error, ValidationError) else str(error)
    return (" ".join(text[: 10 * MAX_LINE].split()) or type(error).__name__)[:MAX_LINE]


class NoMessage(ValueError):
    """Text that is no message. The reason has nothing of the text."""


def message_of(text: str | bytes) -> JSONRPCMessage:
    """The message in a JSON text, in two steps: `validate_json` of this union parses anew for each kind of message,
    four times as long in all. Raises NoMessage, whose context has nothing of the text either."""
    try:
        return jsonrpc_message_adapter.validate_python(from_json(text), by_name=False)
    except ValidationError as error:
        why = first_error(error)
    except ValueError as error:
        why = str(error)
    raise NoMessage(error_line(why))


class LoopTime:
    """The seconds that this thread takes for one thing, in parts that wait for nothing."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def part(self) -> Iterator[None]:
        begun = time.thread_time()
        try:
            yield
        finally:
            self.seconds += time.thread_time() - begun


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
    """The seconds of loop time that one server's messages take, as a leaky bucket.

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
    """`slots` at once, at most `per_owner` of them for one owner (any string). For one event loop. `by_person`: for one
    person with their agents together, and half as many for one of these (`gate.rules.jobs.OWNER`).

    A slot that becomes free goes to the owner who has waited for a turn the longest, not to the oldest request: owners
    (with `by_person` people) take turns, and the requests of each keep their order. With `max_waiting`, an owner's
    further requests are refused.
    """

    def __init__(
        self, slots: int, per_owner: int, max_waiting: int | None = None, by_person: bool = False
    ) -> None:
        self._slots, self._per_owner, self._max_waiting = slots, per_owner, max_waiting
        self._by_person = by_person
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
        if not self.waiting(owner) and self.free > 0 and self._has_share(owner):
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
            queue = self._queues[owner]
            first = queue.popleft()
            self._to_the_end(owner)
            if not queue:
                del self._queues[owner]
            if not first.done():  # else it was cancelled and has not run since
                self._taken[owner] += 1
                first.set_result(None)

    def _next_owner(self) -> str | None:
        return next(filter(self._has_share, self._queues), None)

    def _to_the_end(self, owner: str) -> None:
        """The others come first; with `by_person`, before all of this person, of whose own the next comes first."""
        same = [one for one in self._queues if self._by_person and person_of(one) == person_of(owner)]
        for one in (*(one for one in same if one != owner), owner):
            self._queues[one] = self._queues.pop(one)

    def _has_share(self, owner: str) -> bool:
        """Whether this owner may have one more."""
        if not self._by_person:
            return self._taken[owner] < self._per_owner
        person = person_of(owner)
        together = sum(number for one, number in self._taken.items() if person_of(one) == person)
        most = self._per_owner if owner == person else max(1, self._per_owner // 2)
        return together < self._per_owner and self._taken[owner] < most

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
        self._until: asyncio.Future[Any] | None = None

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

    def keep_until(self, end: asyncio.Future[Any]) -> None:
        """Hold it beyond `close`, until the end of what nobody waits for any more."""
        self._until = end

    def close(self) -> None:
        """Give it back for good."""
        self._closed = True
        if self._until is None:
            self._give_back()
        else:
            self._until.add_done_callback(self._give_back)

    def _give_back(self, _: object = None) -> None:
        if self._held:
            self._held = False
            self._slots.release(self._owner)


def container_count(text: bytes) -> int:
    """How many lists and objects may begin in a piece of JSON; brackets in quoted text count as well."""
    return text.count(b"[") + text.count(b"{")


def parse_seconds(text: bytes) -> float:
    """Estimated seconds to parse a piece of JSON or of an event stream and to handle its contents."""
    values = text.count(b",") + text.count(b":")
    return (
        container_count(text) * PER_PART
        + values * PER_VALUE
        + text.count(b"\n") * PER_LINE
        + len(text) * PER_BYTE
    )
