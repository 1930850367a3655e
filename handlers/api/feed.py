"""The feed: one look at the table of events for all who listen in this process; the newest kept for them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from gate.access import Logged
from gate.happenings import payload
from gate.world import Unavailable
from handlers.api.ports import Events

log = logging.getLogger(__name__)

KEPT = 2000  # events in memory; who is further behind reads the table
PAGE = 500


@dataclass(frozen=True, slots=True)
class Line:
    """An event, and as it goes over the line: written once, however many hear it."""

    event: Logged
    data: bytes

    @property
    def seq(self) -> int:
        return self.event.seq


def written(one: Logged) -> Line:
    """An event with its id, its kind and its fields."""
    data = json.dumps(payload(one.kind, one.task, one.body, one.at), ensure_ascii=True, separators=(",", ":"))
    return Line(one, f"id: {one.seq}\nevent: {one.kind}\ndata: {data}\n\n".encode("ascii"))


class Feed:
    """Looks every `poll` seconds while somebody listens, and at once when `ring` is called after a commit here.

    No listener has a buffer of its own: each remembers how far it is, and asks for what is behind that.
    """

    def __init__(self, events: Events, poll: float) -> None:
        self._events, self._poll = events, poll
        self._newest: deque[Line] = deque(maxlen=KEPT)
        self._last = 0  # every event up to this number has been looked at
        self._from = 0  # and every one behind this is kept
        self._more = asyncio.Event()  # set once there are more than those who wait for it have seen
        self._bell = asyncio.Event()
        self._listening = 0
        self.closed = False  # for good: whoever listens is to go
        self._task: asyncio.Task[None] | None = None

    @property
    def last(self) -> int:
        return self._last

    def ring(self) -> None:
        """Look at once."""
        self._bell.set()

    async def join(self) -> None:
        """Begin to listen. Raises Unavailable."""
        newest = (await self._events.ends())[1] if self._task is None else 0
        self._listening += 1
        if self._task is None:  # still, and nobody else was faster
            self._newest.clear()
            self._last = self._from = newest
            self._task = asyncio.create_task(self._run(), name="events")

    async def leave(self) -> None:
        """Listen no more."""
        self._listening -= 1
        if not self._listening:
            await self._stop()

    async def close(self) -> None:
        """For good, so that no stream holds up the end of the process."""
        self.closed = True
        self._more.set()
        await self._stop()

    async def _stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def after(self, seq: int) -> Sequence[Line]:
        """Some of the events behind `seq`, oldest first; none when there are none yet. Raises Unavailable."""
        if seq >= self._last:
            return ()
        if seq >= self._from:
            return self._behind(seq)
        return [written(one) for one in await self._events.after(seq, PAGE)]

    def _behind(self, seq: int) -> Sequence[Line]:
        """From the end: most who ask are only a few events behind."""
        found = list(takewhile(lambda one: one.seq > seq, reversed(self._newest)))
        return found[::-1][:PAGE]

    async def wait(self, seq: int, seconds: float) -> None:
        """Until there is something behind `seq`, for so long at most."""
        if seq >= self._last:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._more.wait()

    async def _run(self) -> None:
        while True:
            try:
                await self._look()
            except Unavailable as error:
                log.warning("events will be looked for again: %s", error)
            except Exception:
                log.exception("events will be looked for again")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll):
                    await self._bell.wait()
            self._bell.clear()

    async def _look(self) -> None:
        while found := [written(one) for one in await self._events.after(self._last, PAGE)]:
            lost = len(self._newest) + len(found) - KEPT
            if lost > 0:
                self._from = [*self._newest, *found][lost - 1].seq
            self._newest.extend(found)
            self._last = found[-1].seq
            woken, self._more = self._more, asyncio.Event()
            woken.set()
