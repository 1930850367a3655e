"""What bodies hold that have not come to their end: together no more than a bound, whoever sends how many of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

MOST_BYTES = 128 << 20  # of all of them; one has a megabyte at most


@dataclass(eq=False, slots=True)
class Unfinished:
    """One of them. `limit` is the time that it has, which ends at once where it has to make way."""

    address: str
    limit: asyncio.Timeout
    size: int = 0


class UnfinishedBodies:
    """For one event loop."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._total = most, 0
        self._all: dict[Unfinished, None] = {}

    @contextmanager
    def one(self, address: str, limit: asyncio.Timeout) -> Iterator[Unfinished]:
        """One more, until its end."""
        body = Unfinished(address, limit)
        self._all[body] = None
        try:
            yield body
        finally:
            self._forget(body)

    def add(self, body: Unfinished, size: int) -> None:
        """So many bytes more have come of it. Where that is too much of all, the largest of the address that has the
        most comes to its end: announced bytes, or ones that come slowly, keep nobody else from theirs."""
        if body not in self._all:  # it has to make way already
            return
        body.size += size
        self._total += size
        while self._total > self._most:
            held = Counter[str]()
            for one in self._all:
                held[one.address] += one.size
            address = max(held, key=held.__getitem__)
            largest = max((one for one in self._all if one.address == address), key=lambda one: one.size)
            self._forget(largest)
            with suppress(RuntimeError):  # its time is over at this very moment
                largest.limit.reschedule(asyncio.get_running_loop().time())

    def _forget(self, body: Unfinished) -> None:
        if body in self._all:
            del self._all[body]
            self._total -= body.size
