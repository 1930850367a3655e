"""Who writes to a SQLite file next, of all threads of this process: first whoever somebody waits for.

SQLite alone would let them draw lots, by sleeping and trying again. Here people take turns, so that a flood of one
holds nobody else up, and what each wants written is written in the order in which it came.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from bisect import insort
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakValueDictionary

from gate.rules.jobs import OWNER

LOCKED = "database is locked"  # SQLite's own words
WRITE_STATEMENTS = (
    "INSERT",
    "UPDATE",
    "DELETE",
    "REPLACE",
)  # before these, Python's sqlite3 begins a transaction
FOR_THE_OTHERS = (
    4  # each such turn is for what nobody waits for, which a flood of the rest may not put off for ever
)
LOCK_SECONDS = 30.0  # seconds that the engine's own connections wait, here and for SQLite's lock


@dataclass(eq=False, slots=True)
class Waiter:
    """Of one that waits. `go` tells them that it is their turn, on whatever thread."""

    go: Callable[[], object]
    owner: str = ""  # for whom
    called: bool = False


class Line:
    """Those who wait, in rounds: in each of them every owner has one turn.

    Each step leaves a list that is in order, as others may leave between any two (see WriteQueue).
    """

    def __init__(self) -> None:
        self._places: list[tuple[int, int, Waiter]] = []  # the round and a number, by which they are sorted
        self._numbers = count()
        self._round = 0  # of whoever was called last
        self._last: dict[str, int] = {}  # the round of each owner's last place

    def join(self, place: Waiter) -> None:
        turn = max(self._round, self._last.get(place.owner, 0)) + 1
        self._last[place.owner] = turn
        insort(self._places, (turn, next(self._numbers), place))

    def call(self) -> Waiter | None:
        """Take out whose turn it is, None where nobody waits."""
        if not self._places:
            self._last.clear()
            return None
        self._round, _, place = self._places.pop(0)
        return place

    def leave(self, place: Waiter) -> bool:
        """Take one out. Whether it was there."""
        with suppress(ValueError):
            for entry in tuple(self._places):
                if entry[2] is place:
                    self._places.remove(entry)  # unless it was called just now
                    if self._last.get(place.owner, 0) > self._round:
                        self._last[place.owner] -= 1
                    return True
        return False


class WriteQueue:
    """Whose turn it is ends with `leave`. For any thread; nothing here waits while it holds `_guard`.

    The garbage collector may close a forgotten connection, and so call `leave`, between any two steps of a thread that
    has the guard: hence one that lets the same thread in again, and steps of which each may come after that.
    """

    def __init__(self) -> None:
        self._guard = threading.RLock()
        self._taken = False
        self._turns = 0
        self._first = Line()
        self._then = Line()

    async def acquire(self, seconds: float, first: bool = False) -> None:
        """Wait for one's turn without holding up the loop. `first`: somebody waits for what will be written.
        Raises sqlite3.OperationalError after so many seconds."""
        loop = asyncio.get_running_loop()
        called = asyncio.Event()
        place = self._join(lambda: loop.call_soon_threadsafe(called.set), first)
        if place.called:
            return
        try:
            async with asyncio.timeout(seconds):
                await called.wait()
        except BaseException as error:
            self._give_up(place)
            if isinstance(error, TimeoutError):
                raise sqlite3.OperationalError(LOCKED) from None
            raise

    def acquire_blocking(self, seconds: float) -> None:
        """The same for a thread of the durable engine, which may be held up. Everybody's work comes through it, so it
        has a turn in each round of those that are waited for."""
        called = SimpleQueue[None]()  # may be put into while one gets from it, as an Event may not be set
        place = self._join(lambda: called.put(None), first=True)
        if place.called:
            return
        try:
            called.get(timeout=seconds)
        except BaseException as error:
            self._give_up(place)
            if isinstance(error, Empty):
                raise sqlite3.OperationalError(LOCKED) from None
            raise

    def release(self) -> None:
        """It is the next one's turn."""
        while True:
            with self._guard:
                self._turns += 1
                lines = [self._first, self._then]
                if self._turns % FOR_THE_OTHERS == 0:
                    lines.reverse()
                place = lines[0].call() or lines[1].call()
                if place is None:
                    self._taken = False
                    return
                place.called = True
            with suppress(RuntimeError):  # the loop that it waited on is gone
                place.go()
                return

    def _join(self, go: Callable[[], object], first: bool) -> Waiter:
        place = Waiter(go, OWNER.get())
        line = self._first if first else self._then
        with self._guard:
            line.join(place)
            if not self._taken:  # then nobody else waits either
                line.leave(place)
                self._taken = place.called = True
        return place

    def _give_up(self, place: Waiter) -> None:
        with self._guard:
            if self._first.leave(place) or self._then.leave(place):
                return
        self.release()  # it was called at this very moment


_queues: WeakValueDictionary[str, WriteQueue] = WeakValueDictionary()
_naming = threading.Lock()


def write_queue_of(database: str) -> WriteQueue:
    """The one line before this file."""
    with _naming:
        return _queues.setdefault(os.path.realpath(database), WriteQueue())


class QueuedCursor(sqlite3.Cursor):
    """Stands in line where its statement begins a transaction."""

    def execute(self, statement: str, *parameters: Any) -> Any:
        return self._in_turn(super().execute, statement, parameters)

    def executemany(self, statement: str, *parameters: Any) -> Any:
        return self._in_turn(super().executemany, statement, parameters)

    def _in_turn(self, how: Callable[..., Any], statement: str, parameters: Any) -> Any:
        connection = self.connection
        assert isinstance(connection, QueuedConnection)
        connection.before(statement)
        try:
            return how(statement, *parameters)
        finally:
            connection.after()


class QueuedConnection(sqlite3.Connection):
    """A synchronous connection, as the durable engine wants them, whose transactions stand in line with all others.
    From Python's sqlite3 it has their beginning: the first statement that changes something."""

    _inside = False

    def __init__(self, database: str, *args: Any, **options: Any) -> None:
        super().__init__(database, *args, **options)
        self._line = write_queue_of(database)

    def cursor(self, *_: Any) -> Any:
        return super().cursor(QueuedCursor)

    def execute(self, statement: str, *parameters: Any) -> Any:
        return self.cursor().execute(statement, *parameters)  # else it would make a cursor of its own kind

    def before(self, statement: str) -> None:
        if (
            not self._inside
            and not self.in_transaction
            and statement.lstrip().upper().startswith(WRITE_STATEMENTS)
        ):
            self._line.acquire_blocking(LOCK_SECONDS)
            self._inside = True

    def after(self) -> None:
        if not self.in_transaction:
            self._leave()

    def commit(self) -> None:
        super().commit()
        self.after()

    def rollback(self) -> None:
        super().rollback()
        self.after()

    def close(self) -> None:
        super().close()
        self._leave()

    def __del__(self) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._inside:
            self._inside = False
            self._line.release()
