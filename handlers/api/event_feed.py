"""The feed of events: one poll of the table for all subscribers of this process, with a buffer of the newest."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from gate.rules.access import Logged
from gate.rules.events import payload
from gate.rules.ports import Unavailable
from handlers.api.ports import Events

log = logging.getLogger(__name__)

BUFFER_SIZE = 2000  # events; subscribers that are further behind read the table
PAGE_SIZE = 500


@dataclass(frozen=True, slots=True)
class SerializedEvent:
    """An event and its server-sent form, serialized once for all subscribers."""

    event: Logged
    data: bytes

    @property
    def seq(self) -> int:
        return self.event.seq


def serialize(event: Logged) -> SerializedEvent:
    """The event with its server-sent form: id, kind and fields."""
    data = json.dumps(
        payload(event.kind, event.task, event.body, event.at), ensure_ascii=True, separators=(",", ":")
    )
    return SerializedEvent(event, f"id: {event.seq}\nevent: {event.kind}\ndata: {data}\n\n".encode("ascii"))


class Feed:
    """Polls every `poll_seconds` while it has subscribers, and at once after `notify`.

    Subscribers share the buffer: each remembers the seq that it has read and asks for the events after it.
    """

    def __init__(self, events: Events, poll_seconds: float) -> None:
        self._events, self._poll_seconds = events, poll_seconds
        self._buffer: deque[SerializedEvent] = deque(maxlen=BUFFER_SIZE)
        self._last_seq = 0  # the events up to this seq have been read
        self._buffer_start = 0  # the events after this seq are in the buffer
        self._new_events = asyncio.Event()  # set when events are added; waiters share one
        self._notified = asyncio.Event()
        self._subscribers = 0
        self.closed = False  # for good: subscribers end
        self._task: asyncio.Task[None] | None = None

    @property
    def last(self) -> int:
        return self._last_seq

    def notify(self) -> None:
        """Polls at once."""
        self._notified.set()

    async def subscribe(self) -> None:
        """Adds a subscriber; the first one starts polling. Raises Unavailable."""
        newest = (await self._events.ends())[1] if self._task is None else 0
        self._subscribers += 1
        if self._task is None:  # no other subscriber was faster during the await
            self._buffer.clear()
            self._last_seq = self._buffer_start = newest
            self._task = asyncio.create_task(self._run(), name="events")

    async def unsubscribe(self) -> None:
        """Removes a subscriber; the last one stops polling."""
        self._subscribers -= 1
        if not self._subscribers:
            await self._stop()

    async def close(self) -> None:
        """Ends all subscriptions, so that no stream delays the shutdown."""
        self.closed = True
        self._new_events.set()
        await self._stop()

    async def _stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def after(self, seq: int) -> Sequence[SerializedEvent]:
        """The next events after `seq`, oldest first, at most PAGE_SIZE. Raises Unavailable."""
        if seq >= self._last_seq:
            return ()
        if seq >= self._buffer_start:
            return self._from_buffer(seq)
        return [serialize(event) for event in await self._events.after(seq, PAGE_SIZE)]

    def _from_buffer(self, seq: int) -> Sequence[SerializedEvent]:
        """Searches from the end: most subscribers are only a few events behind."""
        found = list(takewhile(lambda event: event.seq > seq, reversed(self._buffer)))
        return found[::-1][:PAGE_SIZE]

    async def wait(self, seq: int, seconds: float) -> None:
        """Waits for an event after `seq`, at most so many seconds."""
        if seq >= self._last_seq:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._new_events.wait()

    async def _run(self) -> None:
        while True:
            try:
                await self._poll_once()
            except Unavailable as error:
                log.warning("events will be looked for again: %s", error)
            except Exception:
                log.exception("events will be looked for again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._notified.wait()
            self._notified.clear()

    async def _poll_once(self) -> None:
        while found := [serialize(event) for event in await self._events.after(self._last_seq, PAGE_SIZE)]:
            dropped = len(self._buffer) + len(found) - BUFFER_SIZE
            if dropped > 0:
                self._buffer_start = [*self._buffer, *found][dropped - 1].seq
            self._buffer.extend(found)
            self._last_seq = found[-1].seq
            waiters, self._new_events = self._new_events, asyncio.Event()
            waiters.set()
