"""Whose task runs next, where more are wanted than may run at once."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """`at_once` in all, at most `per_owner` of them for one owner (any string). For several threads.

    A place that becomes free goes to the owner who has waited for a turn the longest, not to the oldest call: owners
    take turns, and the calls of each keep their order.
    """

    def __init__(self, at_once: int, per_owner: int) -> None:
        self._free, self._per_owner = at_once, per_owner
        self._lock = threading.Lock()
        self._taken: Counter[str] = Counter()
        self._queues: dict[str, deque[threading.Event]] = {}  # owners in the order of their turns

    @contextmanager
    def queued(self, owner: str) -> Iterator[threading.Event]:
        """A place in the queue. The event says that its turn has come, which lasts to the end of the block."""
        turn = threading.Event()
        with self._lock:
            self._queues.setdefault(owner, deque()).append(turn)
            self._fill()
        try:
            yield turn
        finally:
            with self._lock:
                self._leave(owner, turn)
                self._fill()

    def _leave(self, owner: str, turn: threading.Event) -> None:
        if turn.is_set():
            self._free += 1
            self._taken -= Counter([owner])
            return
        self._queues[owner].remove(turn)
        if not self._queues[owner]:
            del self._queues[owner]

    def _fill(self) -> None:
        while self._free and (owner := self._next()) is not None:
            queue = self._queues.pop(owner)
            self._free -= 1
            self._taken[owner] += 1
            queue.popleft().set()
            if queue:
                self._queues[owner] = queue  # at the end: the other owners come first

    def _next(self) -> str | None:
        return next((owner for owner in self._queues if self._taken[owner] < self._per_owner), None)
