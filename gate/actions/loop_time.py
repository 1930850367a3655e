"""The event loop's time that the calls of one person take: who has used much of it waits before the next one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from gate.rules.jobs import OWNER, person_of
from gate.rules.ports import World

_P = ParamSpec("_P")
_T = TypeVar("_T")

# The task whose turns are counted already, so that work within counted work counts once. Another task that it begins
# has turns of its own.
COUNTED: ContextVar[object] = ContextVar("counted", default=None)


class Counted(Awaitable[_T]):
    """Work that counts each of its turns of the loop for the person for whom it is done."""

    def __init__(self, world: World, work: Awaitable[_T]) -> None:
        self._world, self._work = world, work

    def __await__(self) -> Generator[Any, Any, _T]:
        turns = self._work.__await__()
        task = asyncio.current_task()
        if COUNTED.get() is task:
            return (yield from turns)
        before = COUNTED.set(task)
        try:
            return (yield from self._turns(turns))
        finally:
            COUNTED.reset(before)

    def _turns(self, turns: Any) -> Generator[Any, Any, _T]:
        go_on, given = turns.send, None
        while True:
            begun = self._world.clock.uptime()
            try:
                wanted = go_on(given)
            except StopIteration as ended:
                found: _T = ended.value
                return found
            finally:
                self._count(begun)
            try:
                go_on, given = turns.send, (yield wanted)
            except BaseException as error:
                go_on, given = turns.throw, error

    def _count(self, begun: float) -> None:
        now = self._world.clock.uptime()
        if whose := person_of(OWNER.get()):
            self._world.judging.charge(whose, now, now - begun)


async def yield_loop(world: World) -> None:
    """End this turn of the loop: others have theirs before the next step of long work."""
    await world.clock.sleep(0)


async def in_own_turn(world: World, work: Callable[[], Awaitable[_T]]) -> _T:
    """What this work gives, whose turns of the loop are counted, once its person has a turn."""
    async with own_turn(world):
        pass
    return await Counted(world, work())


def counted(
    work: Callable[Concatenate[World, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[World, _P], Coroutine[Any, Any, _T]]:
    """The same function, whose turns of the loop are counted for the person for whom it is called."""

    @wraps(work)
    async def run(world: World, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        return await Counted(world, work(world, *args, **kwargs))

    return run


@asynccontextmanager
async def own_turn(world: World) -> AsyncIterator[None]:
    """A turn for work on the loop for this person, one after the other: it begins once what they have used of the
    loop's time leaves enough of it to others."""
    whose = person_of(OWNER.get())
    async with world.judging.own(f"work of {whose}"):
        while (rest := world.judging.rest(whose, world.clock.uptime())) > 0:
            await world.clock.sleep(rest)
        yield
