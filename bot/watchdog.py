"""The stall watchdog: what held up the event loop for longer than 100 ms, how long, and where.

The time between two waits of the loop is the time in which nobody else is served. A wrapper around the loop's
`select` stamps it exactly; a daemon thread looks at the loop's thread every IDLE_PERIOD seconds, every PERIOD seconds
while it is busy, and keeps its stack. On Linux the time in which the kernel let other programs run in its stead is not
counted: a machine that is short of CPU is no fault of this program.

Idle cost, measured on a virtual machine: 0.2 % of a CPU for waking up 12 times a second, and one microsecond for each
turn of the loop.
"""

from __future__ import annotations

import asyncio
import faulthandler
import logging
import os
import re
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import FrameSummary, StackSummary
from typing import IO, Any

log = logging.getLogger(__name__)

LIMIT = 0.1  # seconds that one turn of the loop may take
PERIOD = 0.04  # seconds between two looks while a turn goes on
# The same while the loop waits: a stall is still looked at between LIMIT / 2 and LIMIT after its start
IDLE_PERIOD = 0.08
ENDLESS = 5.0  # seconds after which a stall is told while it goes on
FRAMES = 30  # of a stack, the innermost
# What faulthandler writes of a thread, and of each of its frames
THREAD_LINE = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+)")
FRAME_LINE = re.compile(r'  File "([^"]*)", line (\d+) in (.*)')


@dataclass(frozen=True, slots=True)
class Stall:
    """One turn of the loop that took too long. `seconds`: without the time for which other programs ran;
    `cpu`: of them, those that the loop's own thread computed; `stack`: where it was, the innermost frame last;
    `begun` and `ended`: on the monotonic clock."""

    seconds: float
    cpu: float
    stack: StackSummary
    begun: float
    ended: float
    over: bool = True

    def __str__(self) -> str:
        what = "was held up" if self.over else "has been held up so far"
        where = "".join(self.stack.format()) if self.stack else "(it ended before anybody could look)\n"
        return f"the event loop {what} for {self.seconds:.3f} s ({self.cpu:.3f} s of CPU) at\n{where}"


class _Turns:
    """The turns of one loop: stamped by its own thread, read by the watchdog's."""

    def __init__(self, loop: asyncio.AbstractEventLoop, limit: float) -> None:
        self.thread, self.limit = threading.get_ident(), limit
        self.queued = _Queued(threading.get_native_id())
        self.over: deque[tuple[int, float, float, float]] = deque()  # turn, begun, ended, CPU
        self.turn, self.begun, self.cpu = 1, time.monotonic(), time.thread_time()
        self.stack: tuple[int, StackSummary] = (-1, StackSummary())
        self.told = self.seen = 0
        self._watchers = _watchers(loop)
        self._watchers.append(self)

    def waits_now(self) -> None:
        """The turn is over: the loop waits for what comes."""
        now = time.monotonic()
        if now - self.begun > self.limit:
            self.over.append((self.turn, self.begun, now, time.thread_time() - self.cpu))
        self.turn = -self.turn  # negative: it waits, and nobody is held up

    def begins(self) -> None:
        """The next turn: something came."""
        self.cpu, self.begun = time.thread_time(), time.monotonic()
        self.turn = 1 - self.turn

    def end(self) -> None:
        self.waits_now()
        self._watchers.remove(self)

    def look(self, now: float) -> Iterator[Stall]:
        """What is new: stalls that are over, and one that may never be."""
        turn, begun = self.turn, self.begun
        if turn < 0 and turn == self.seen:
            return  # it still waits
        self.seen = turn
        self.queued.look(now)
        if turn > 0 and now - begun > self.limit / 2 and self.stack[0] != turn:
            self.stack = (turn, _stack(self.thread))
        while self.over:
            at, start, end, cpu = self.over.popleft()
            stack = self.stack[1] if self.stack[0] == at else StackSummary()
            seconds = max(cpu, end - start - self.queued.since(start))
            if seconds > self.limit:
                yield Stall(seconds, cpu, stack, start, end)
        if turn > 0 and now - begun > ENDLESS and self.told != turn and self.stack[0] == turn:
            self.told = turn
            yield Stall(now - begun, 0.0, self.stack[1], begun, now, over=False)


def _watchers(loop: asyncio.AbstractEventLoop) -> list[_Turns]:
    """Who is told of each turn of a loop. Its `select` is wrapped once, however many watch it."""
    selector: Any = loop._selector  # type: ignore[attr-defined]  # asyncio has no public name for it
    if not hasattr(selector, "watchers"):
        select, watchers = selector.select, list[_Turns]()

        def watched(timeout: float | None = None) -> Any:
            for turns in watchers:
                turns.waits_now()
            try:
                return select(timeout)
            finally:
                for turns in watchers:
                    turns.begins()

        selector.watchers, selector.select = watchers, watched
    found: list[_Turns] = selector.watchers
    return found


class _Queued:
    """For how long the kernel kept a thread waiting for a CPU; nothing where it does not say."""

    def __init__(self, native: int) -> None:
        path = f"/proc/self/task/{native}/schedstat"
        self._file = os.open(path, os.O_RDONLY) if Path(path).exists() else -1
        self._known: deque[tuple[float, float]] = deque([(time.monotonic(), self._now())], maxlen=512)

    def _now(self) -> float:
        try:
            return int(os.pread(self._file, 100, 0).split()[1]) / 1e9 if self._file >= 0 else 0.0
        except OSError:  # the thread has ended
            return 0.0

    def look(self, now: float) -> None:
        self._known.append((now, self._now()))

    def since(self, start: float) -> float:
        """Seconds of waiting since then, up to IDLE_PERIOD more: a look was taken a little before."""
        before = [waited for at, waited in self._known if at <= start] or [self._known[0][1]]
        return max(0.0, self._known[-1][1] - before[-1])

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)


def _stack(thread: int) -> StackSummary:
    """Where a thread is, innermost last; empty where it has ended, or a hundred others are newer. Lines are read from
    the files only when somebody reads the stack.

    faulthandler reads all frames at once. A walk over `sys._current_frames()` lets the other thread go on in between,
    and following `f_back` then has crashed Python 3.11 (https://github.com/python/cpython/issues/99110).
    """
    with _scratch_file() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        lines = file.read().decode("ascii", "replace").splitlines()
    found, ours = list[FrameSummary](), False
    for line in lines:
        if of := THREAD_LINE.match(line):
            ours = int(of[1], 16) == thread
        elif ours and len(found) < FRAMES and (at := FRAME_LINE.fullmatch(line)):
            found.append(FrameSummary(at[1], int(at[2]), at[3], lookup_line=False))
    return StackSummary.from_list(found[::-1])


def _scratch_file() -> IO[bytes]:
    """A file for a moment, in memory where the system has that."""
    if sys.platform == "linux":
        return os.fdopen(os.memfd_create("stacks"), "w+b")
    return tempfile.TemporaryFile()


class Watchdog:
    """Watches event loops from a thread of its own. `tell` is called there, once for each stall."""

    def __init__(self, tell: Callable[[Stall], None] | None = None, limit: float = LIMIT) -> None:
        self.stalls, self.seconds, self.longest = 0, 0.0, 0.0
        self._tell, self._limit = tell or (lambda stall: log.warning("%s", stall)), limit
        self._watched: list[_Turns] = []
        self._looking, self._stop = threading.Lock(), threading.Event()

    @contextmanager
    def watching(self) -> Iterator[Watchdog]:
        """Look for as long as this is open."""
        thread = threading.Thread(target=self._look, name="stall watchdog", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._stop.set()
            thread.join()

    @contextmanager
    def over(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Watch a loop. Enter and leave it in the loop's own thread. Only loops that wait in a selector can be watched:
        all of asyncio's, but for Windows' default."""
        if not hasattr(loop, "_selector"):
            log.warning("stalls of this event loop cannot be watched")
            yield
            return
        turns = _Turns(loop, self._limit)
        self._watched.append(turns)
        try:
            yield
        finally:
            turns.end()
            self.look()
            with self._looking:
                self._watched.remove(turns)
                turns.queued.close()

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """Watch the running loop for as long as this is open."""
        with self.watching(), self.over(asyncio.get_running_loop()):
            yield

    def look(self) -> None:
        """Look once, and tell what is new."""
        with self._looking:
            now = time.monotonic()
            for stall in [stall for turns in self._watched for stall in turns.look(now)]:
                self._count(stall)
                self._tell(stall)

    def _busy(self) -> bool:
        return any(turns.turn > 0 for turns in self._watched)

    def _count(self, stall: Stall) -> None:
        if stall.over:
            self.stalls += 1
            self.seconds += stall.seconds
            self.longest = max(self.longest, stall.seconds)

    def _look(self) -> None:
        while not self._stop.wait(PERIOD if self._busy() else IDLE_PERIOD):
            self.look()

    def metrics(self) -> str:
        """The counters in Prometheus' text format."""
        return (
            "# HELP countersign_loop_stalls_total Turns of the event loop that took longer than 0.1 s.\n"
            "# TYPE countersign_loop_stalls_total counter\n"
            f"countersign_loop_stalls_total {self.stalls}\n"
            "# HELP countersign_loop_stalled_seconds_total Seconds that those turns took.\n"
            "# TYPE countersign_loop_stalled_seconds_total counter\n"
            f"countersign_loop_stalled_seconds_total {self.seconds:.3f}\n"
        )
