"""Lets few runs of one kind work at once, so that whoever waits for an answer meanwhile finds the loop nearly free."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar

from tools.mcp.limits import FairSlots

MAX_RUNNING = 2  # of one kind; more gain nothing, they share one core
MAX_PER_OWNER = 1  # of them; so whoever asks beside a busy person begins at once
BUSY_OWNER_RUNS = 4  # runs of one person that work or wait here; with more the person is a crowd
# Seconds after which a run is taken to wait for something outside: another one may pass
LONG_RUN_SECONDS = 0.25
# The same for the next run of a crowd, which all of that person's runs wait for, "stop" included
BUSY_OWNER_SECONDS = 0.05
YIELD_SECONDS = 0.1  # seconds for which a run of a crowd lets the runs of others go first
# Seconds after a run of somebody else in which a crowd rests between its runs: a request is several runs
RECENT_SECONDS = 1.0
REST = 1.0  # times what the run took
# Gives back the place of the run at hand.
RELEASE: ContextVar[Callable[[], None]] = ContextVar("leave", default=lambda: None)


def release_slot() -> None:
    """To be called by a run that is about to wait: another one of its kind may pass."""
    RELEASE.get()()


class ConcurrencySlots:
    """For one event loop. Each kind passes for itself; within a kind people take turns, and the runs of one person
    pass one after the other in the order in which they came: an answer is posted above the card that asks about it. A
    run that takes long keeps no other one from passing.

    All kinds share one core. So of a crowd one run works at once, of whatever kind, and it begins while nobody else's
    works, or after a moment. After it, while others ask for something, the crowd rests.
    """

    def __init__(self, at_once: int = MAX_RUNNING, long: float = LONG_RUN_SECONDS) -> None:
        self._long, self._at_once = long, at_once
        self._slots_of_kind: dict[str, FairSlots] = {}
        self._busy_owners = FairSlots(sys.maxsize, per_owner=1)
        self._runs_of_owner: Counter[str] = Counter()  # runs of each person that work or wait
        self._others = 0  # runs that work and are of no crowd
        self._idle = asyncio.Event()  # set whenever one of these is over
        # When the last run of each person that is no crowd was over, by the loop's time; the latest is the last.
        self._ended_at: dict[str, float] = {}

    def free(self, kind: str) -> int:
        """How many of this kind may pass now."""
        return self._of(kind).free

    def _of(self, kind: str) -> FairSlots:
        if kind not in self._slots_of_kind:
            self._slots_of_kind[kind] = FairSlots(self._at_once, MAX_PER_OWNER)
        return self._slots_of_kind[kind]

    @asynccontextmanager
    async def slot(self, kind: str, owner: str = "") -> AsyncIterator[None]:
        """Wait for a place; it is given back at the end, or after a while if that is sooner."""
        with self._count_run(owner) as crowd, ExitStack() as turn, ExitStack() as place:
            if crowd:
                await self._busy_owners.acquire(owner)
                turn.callback(self._busy_owners.release, owner)
                await self._yield_to_others()
                turn.pop_all()  # which calls nothing
                turn.callback(self._end_turn, owner, asyncio.get_running_loop().time())
            await self._of(kind).acquire(owner)
            place.callback(self._of(kind).release, owner)
            if not crowd:
                place.enter_context(self._count_other(owner))
            with self._release_when_long(turn, place):
                yield

    @contextmanager
    def _release_when_long(self, turn: ExitStack, place: ExitStack) -> Iterator[None]:
        """Give both back when the run steps aside, or when it takes long."""
        loop = asyncio.get_running_loop()
        timers = loop.call_later(BUSY_OWNER_SECONDS, turn.close), loop.call_later(self._long, place.close)

        def leave() -> None:
            turn.close()
            place.close()

        RELEASE.set(leave)
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()

    @contextmanager
    def _count_run(self, owner: str) -> Iterator[bool]:
        """Whether the owner is a crowd with this run. The service itself, "", is none."""
        self._runs_of_owner[owner] += 1
        try:
            yield bool(owner) and self._runs_of_owner[owner] > BUSY_OWNER_RUNS
        finally:
            self._runs_of_owner -= Counter([owner])  # which forgets who has none

    @contextmanager
    def _count_other(self, owner: str) -> Iterator[None]:
        self._others += 1
        try:
            yield
        finally:
            self._others -= 1
            self._idle.set()
            self._note_end(owner, asyncio.get_running_loop().time())

    def _note_end(self, owner: str, now: float) -> None:
        self._ended_at.pop(owner, None)
        self._ended_at[owner] = now
        while now - self._ended_at[oldest := next(iter(self._ended_at))] > RECENT_SECONDS:
            del self._ended_at[oldest]

    def _end_turn(self, owner: str, began: float) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        others = (at for other, at in self._ended_at.items() if other not in ("", owner))
        if any(now - at < RECENT_SECONDS for at in others):
            loop.call_later(REST * (now - began), self._busy_owners.release, owner)
        else:
            self._busy_owners.release(owner)

    async def _yield_to_others(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(YIELD_SECONDS):
                while self._others:  # what follows a run begins before this wakes up
                    self._idle.clear()
                    await self._idle.wait()
