"""Lets few runs of one kind work at once, so that whoever waits for an answer meanwhile finds the loop nearly free."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar

from tools.mcp.limits import FairSlots

AT_ONCE = 2  # of one kind; more gain nothing, they share one core
PER_OWNER = 1  # of them; so whoever asks beside a busy person begins at once
FEW = 4  # runs of one person that work or wait here; with more the person is a crowd
LONG = 0.25  # seconds after which a run is taken to wait for something outside: another one may pass
BRIEF = (
    0.05  # the same for the next run of a crowd, which all of that person's runs wait for, "stop" included
)
YIELDING = 0.1  # seconds for which a run of a crowd lets the runs of others go first
# Gives back the place of the run at hand.
LEAVE: ContextVar[Callable[[], None]] = ContextVar("leave", default=lambda: None)


def step_aside() -> None:
    """To be called by a run that is about to wait: another one of its kind may pass."""
    LEAVE.get()()


class Turnstile:
    """For one event loop. Each kind passes for itself; within a kind people take turns, and the runs of one person
    pass one after the other in the order in which they came: an answer is posted above the card that asks about it. A
    run that takes long keeps no other one from passing.

    All kinds share one core. So of a crowd one run works at once, of whatever kind, and it begins while nobody else's
    works, or after a moment.
    """

    def __init__(self, at_once: int = AT_ONCE, long: float = LONG) -> None:
        self._long, self._at_once = long, at_once
        self._places: dict[str, FairSlots] = {}
        self._crowds = FairSlots(sys.maxsize, per_owner=1)
        self._here: Counter[str] = Counter()  # runs of each person that work or wait
        self._others = 0  # runs that work and are of no crowd
        self._calm = asyncio.Event()  # set whenever one of these is over

    def free(self, kind: str) -> int:
        """How many of this kind may pass now."""
        return self._of(kind).free

    def _of(self, kind: str) -> FairSlots:
        if kind not in self._places:
            self._places[kind] = FairSlots(self._at_once, PER_OWNER)
        return self._places[kind]

    @asynccontextmanager
    async def passed(self, kind: str, owner: str = "") -> AsyncIterator[None]:
        """Wait for a place; it is given back at the end, or after a while if that is sooner."""
        with self._counted(owner) as crowd, ExitStack() as turn, ExitStack() as place:
            if crowd:
                await self._crowds.acquire(owner)
                turn.callback(self._crowds.release, owner)
                await self._let_others_go()
            await self._of(kind).acquire(owner)
            place.callback(self._of(kind).release, owner)
            if not crowd:
                place.enter_context(self._among_others())
            with self._for_a_while(turn, place):
                yield

    @contextmanager
    def _for_a_while(self, turn: ExitStack, place: ExitStack) -> Iterator[None]:
        """Give both back when the run steps aside, or when it takes long."""
        loop = asyncio.get_running_loop()
        timers = loop.call_later(BRIEF, turn.close), loop.call_later(self._long, place.close)

        def leave() -> None:
            turn.close()
            place.close()

        LEAVE.set(leave)
        try:
            yield
        finally:
            for timer in timers:
                timer.cancel()

    @contextmanager
    def _counted(self, owner: str) -> Iterator[bool]:
        """Whether the owner is a crowd with this run. The service itself, "", is none."""
        self._here[owner] += 1
        try:
            yield bool(owner) and self._here[owner] > FEW
        finally:
            self._here -= Counter([owner])  # which forgets who has none

    @contextmanager
    def _among_others(self) -> Iterator[None]:
        self._others += 1
        try:
            yield
        finally:
            self._others -= 1
            self._calm.set()

    async def _let_others_go(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(YIELDING):
                while self._others:  # what follows a run begins before this wakes up
                    self._calm.clear()
                    await self._calm.wait()
