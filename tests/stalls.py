"""The watchdog over every event loop that a test runs: a test in which the product holds its loop up fails."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bot.watchdog import Stall, Watchdog
from tests.cpu_time import slowness

ROOT = Path(__file__).parents[1]
# Seconds that fail a test of the suite. What these tests are for takes seconds to minutes; on a machine that other jobs
# share, ordinary work of 0.05 s takes 0.13 s once in some thousand tests. `make soak` fails at the watchdog's own limit.
SUITE_LIMIT = 0.5
ROOMS = {
    "gate",
    "views",
    "storage",
    "tools",
    "handlers",
    "bot",
    "servers",
}  # `workspace` and `tests` stand in for others
WATCH = Path(__file__).relative_to(ROOT)  # hears of each garbage collection, in whatever code that happens
LOADING = "<frozen importlib._bootstrap"  # what is imported is so once, when the service starts
# What happens once, before anybody is served: bundled servers and Bolt's listeners are made, the engine is started.
STARTING = {"bundled", "register", "_strict"}
STARTING_IN = {("servers/tool_metadata.py", "tool"), ("bot/engine.py", "start")}
THREAD = ("threading.py", "start")  # a thread that begins is waited for, and the kernel may take its time


def in_product(stall: Stall) -> bool:
    """Whether the innermost code of this repository that was found on the stack is the product's."""
    frames = [(Path(frame.filename), frame.name) for frame in stall.stack]
    if any(str(path).startswith(LOADING) or name in STARTING for path, name in frames):
        return False
    if THREAD in [(path.name, name) for path, name in frames]:
        return False
    ours = [(path.relative_to(ROOT), name) for path, name in frames if path.is_relative_to(ROOT)]
    ours = [(path, name) for path, name in ours if path.parts[0] != ".venv" and path != WATCH]
    if {(path.as_posix(), name) for path, name in ours} & STARTING_IN:
        return False
    if any(path.parts[0] == "servers" and path.name == "__init__.py" for path, _ in ours):
        return False  # where a bundled server is put together
    return bool(ours) and ours[-1][0].parts[0] in ROOMS


class Collections:
    """When the garbage collector looked through all that the tests of this process have made, for 0.1 to 0.4 s: the
    service's own heap is frozen when it starts (bot/wiring.py)."""

    def __init__(self) -> None:
        self.known: deque[tuple[float, float]] = deque(maxlen=100)
        self._begun = 0.0

    def __call__(self, phase: str, about: dict[str, int]) -> None:
        if phase == "start":
            self._begun = time.monotonic()
        elif about["generation"] == 2:
            self.known.append((self._begun, time.monotonic()))

    def within(self, stall: Stall) -> float:
        return sum(max(0.0, min(end, stall.ended) - max(start, stall.begun)) for start, end in self.known)


@contextmanager
def watched_loops(found: list[Stall], limit: float, slower: Callable[[], float] = slowness) -> Iterator[None]:
    """Collect the stalls of the product that took longer than `limit` seconds of a machine that is so many times quicker
    than this one, in every loop of this process for as long as it runs."""
    collections = Collections()

    def tell(stall: Stall) -> None:
        taken = stall.seconds - collections.within(stall)
        if in_product(stall) and taken > limit and taken > limit * slower():
            found.append(stall)

    dog, run = Watchdog(tell), asyncio.BaseEventLoop.run_forever

    def watched(loop: Any) -> None:
        with dog.over(loop):
            return run(loop)

    gc.callbacks.append(collections)
    try:
        with dog.watching(), patch.object(asyncio.BaseEventLoop, "run_forever", watched):
            yield
    finally:
        gc.callbacks.remove(collections)
