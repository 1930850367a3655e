"""Bounds on what one server may send, on the loop's time that it may take, and on the calls of one person."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate

from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic import ValidationError
from pydantic_core import from_json

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
# Seconds of loop time for ParseThrottle: for a message or a chunk of a body, and for its contents.
PER_MESSAGE, PER_CHUNK, PER_PART, PER_VALUE, PER_LINE, PER_BYTE = 3e-4, 5e-5, 2e-6, 5e-7, 1e-6, 5e-9
MAX_MESSAGE_BYTES = 4 * 1024 * 1024  # of one message of a server; pictures in an answer take the most
MAX_CONTAINERS = 25_000  # lists and objects in it
MAX_DEPTH = 190  # of lists and objects in it; the SDK's parser reads 200
MAX_VALUES = 100_000  # commas and colons in it, as many as its values and names
MAX_DIGITS = 400  # of one number: to write out a longer one takes time by the square of its length
TOO_LONG = (
    f"a message can have {MAX_MESSAGE_BYTES >> 20} MiB, {MAX_CONTAINERS:,} lists and objects, {MAX_DEPTH} levels "
    f"of them, {MAX_VALUES:,} values and names, and {MAX_DIGITS} digits in a number at most"
)
# Values and names in what the SDK compares with its types, at 10 to 25 microseconds for each that is wrong: all but
# structured content, metadata and the definitions of tools.
MAX_TYPED_VALUES = 3_000
MAX_PARTS = 500  # in the content of one answer: each is compared with five types
MAX_PART_VALUES = 10_000  # in all of them; they are looked at one by one, up to the first that is wrong
TOO_MANY_PARTS = f"an answer can have {MAX_PARTS} parts, with {MAX_PART_VALUES:,} values and names, at most"
MAX_ERRORS_READ = 60  # of one validation: pydantic lists all or none, two microseconds for each
MAX_LINE = 300  # characters of an error in a sentence
OPENED_OR_CLOSED = bytes(1 if byte in b"[{" else 255 for byte in range(256))  # 255 is -1 as a signed byte
NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
PIECE = 16 * 1024  # bytes that are counted at once
LONG_NUMBER = b"0" * (MAX_DIGITS + 1)
DIGITS_AS_ZERO = bytes(ord("0") if chr(byte) in "0123456789" else ord(" ") for byte in range(256))
# A string, or the beginning of one that ends later. A line's end is never in one, and in an event stream the next line
# may be another field.
STRING = re.compile(rb'"(?:[^"\\\r\n]++|\\[^\r\n])*+\\?"?')
UNCLOSED = re.compile(
    rb'(?:[^"]++|"(?:[^"\\\r\n]++|\\[^\r\n])*+\\?["\r\n])*+"(?:[^"\\\r\n]++|\\[^\r\n])*+(?P<escape>\\?)\Z'
)


def extent(whole: Json, max_values: int, max_chars: int) -> tuple[int, int]:
    """Two for each entry of its lists and objects, and the characters of its texts, names and whole numbers: what was
    counted until one of them was too large. Takes bounded time, however large and deep it is."""
    stack, values, chars = [whole], 1, 0
    while stack and values <= max_values and chars <= max_chars:
        value = stack.pop()
        if isinstance(value, dict | list):
            values += 2 * len(value)
            if values > max_values:
                break
        if isinstance(value, dict):
            chars += sum(map(len, value))
            stack += value.values()
        elif isinstance(value, list):
            stack += value
        elif isinstance(value, str):
            chars += len(value)
        elif isinstance(value, int):
            chars += value.bit_length() // 3
    return values, chars


def has_more_values(whole: Json, most: int) -> bool:
    return extent(whole, most, MAX_MESSAGE_BYTES)[0] > most


def definition_too_large(definition: Json) -> str:
    """Why a tool's definition is not used; "" where it is."""
    values, chars = extent(definition, MAX_DEFINITION_VALUES, MAX_DEFINITION_CHARS)
    if chars > MAX_DEFINITION_CHARS:
        return f"its definition is longer than {MAX_DEFINITION_CHARS:,} characters"
    if values > MAX_DEFINITION_VALUES:
        return f"its definition has more than {MAX_DEFINITION_VALUES:,} parts"
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


class MessageSize:
    """How much a message of JSON has, fed in pieces: parsing takes time for each value, however short the text is.

    One microsecond for a value and three for a list or object keep the longest message below 0.1 s, also on a machine
    that takes twice as long, and a piece of 16 KiB takes a millisecond to count.
    """

    def __init__(self) -> None:
        self.containers = self.values = self.bytes = self.depth = self._level = 0
        self.has_long_number = False
        self._open = b""  # of a string, or an escape, that goes on in the next piece
        self._digits = b""  # at the end of the last piece

    def feed(self, piece: bytes) -> None:
        """Count the next piece. Brackets, commas, colons and digits in quoted text do not count."""
        self.bytes += len(piece)
        text = self._open + piece
        unclosed = UNCLOSED.match(text)
        self._open = b"" if unclosed is None else b'"' + unclosed["escape"]
        plain = STRING.sub(b"", text)
        self.containers += plain.count(b"[") + plain.count(b"{")
        self.values += plain.count(b",") + plain.count(b":")
        digits = self._digits + plain.translate(DIGITS_AS_ZERO)
        self.has_long_number = self.has_long_number or LONG_NUMBER in digits
        self._digits = digits[-MAX_DIGITS:]
        steps = memoryview(plain.translate(OPENED_OR_CLOSED, NOT_BRACKETS)).cast("b")
        levels = list(accumulate(steps, initial=self._level))
        self.depth, self._level = max(self.depth, *levels), levels[-1]

    @property
    def too_large(self) -> bool:
        return (
            self.bytes > MAX_MESSAGE_BYTES
            or self.containers > MAX_CONTAINERS
            or self.values > MAX_VALUES
            or self.depth > MAX_DEPTH
            or self.has_long_number
        )


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
