"""Servers over a folder in this process, and the time and memory that one call takes with all its child processes."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp import Client
from mcp.server import MCPServer

from benchmarks.measure import Row
from tests.servers.files import Ask

_LOOK = 0.02  # seconds between two looks at the memory
_LONGEST = 600  # seconds of one call


@asynccontextmanager
async def asking(app: MCPServer) -> AsyncIterator[Ask]:
    """A client of a server."""
    async with Client(app, read_timeout_seconds=_LONGEST) as client:
        yield Ask(client)


def share(what: str, right: int, wanted: int, goal: float, missed: Sequence[str] = ()) -> Row:
    """Percent of what was wanted, with the goal and up to three things that were missed."""
    note = f"e.g. {'; '.join(missed[:3])}" if missed else ""
    return Row(what, 100 * right / wanted, "%", wanted, goal=goal, least=True, note=note)


def too_much(what: str, wrong: int, of: int, goal: float, found: Sequence[str] = ()) -> Row:
    """Percent of what is nothing and was taken for something."""
    note = f"e.g. {'; '.join(found[:3])}" if found else ""
    return Row(what, 100 * wrong / of, "%", of, goal=goal, note=note)


@dataclass
class Taken:
    """Seconds on the clock, and the most bytes that this process and its children held more than before."""

    seconds: float = 0.0
    memory: int = 0

    @property
    def note(self) -> str:
        return f"{self.memory / 2**20:,.0f} MB at most"


@contextmanager
def taking() -> Iterator[Taken]:
    """Measures the block. Memory is looked at every 20 ms, so a shorter peak may be missed."""
    taken, over = Taken(), threading.Event()
    before = _held()

    def look() -> None:
        while not over.wait(_LOOK):
            taken.memory = max(taken.memory, _held() - before)

    thread = threading.Thread(target=look)
    thread.start()
    begun = time.perf_counter()
    try:
        yield taken
    finally:
        taken.seconds = time.perf_counter() - begun
        over.set()
        thread.join()


def _held() -> int:
    """Anonymous bytes of this process and all below it."""
    return sum(_anonymous(pid) for pid in ("self", *_below("self")))


def _below(pid: str) -> Iterator[str]:
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = children.read_text().split()
        except OSError:  # the thread or process is gone
            continue
        for child in found:
            yield child
            yield from _below(child)


def _anonymous(pid: str) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))
