"""Bounds how many requests wait until their token is verified, and remembers for a while what came of it.

Until then a request holds a connection that strangers share with what Slack sends over new connections.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TypeVar

from handlers.api.request_turns import Turns
from handlers.api.route import Problem

T = TypeVar("T")

WAITING_OF_ONE = 64  # requests that wait with one token, which has as many connections
ALL_STRANGE = 80  # with all tokens that were not verified lately: fewer than one address has connections
GOOD_SECONDS = 60.0  # for which a verified token is not one of those
WRONG_SECONDS = 5.0  # for which a wrong token is refused without another look: it never becomes right
REMEMBERED = 1000  # tokens, of either kind
WAITING = "This token has {most} requests that wait to be authenticated. Wait until one is answered."
CROWDED = "Many unknown tokens are being looked up just now. Please try again in a moment."
RETRY_SOON = {"Retry-After": "1"}


class Admission:
    """One request of each token is verified at a time. For one event loop."""

    def __init__(self, turn: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`turn`: seconds of one request (`Turns`)."""
        self._clock = clock
        self._turns = Turns(turn)
        self._waiting: Counter[str] = Counter()  # by digest
        self._strange = 0  # of them
        self._good: dict[str, float] = {}  # until when, by digest
        self._wrong: dict[str, tuple[float, Problem]] = {}

    @asynccontextmanager
    async def taken(self, digest: str) -> AsyncIterator[None]:
        """Wait for the turn of a token. A Problem 401 of the block says that it is wrong. Raises Problem."""
        self._refuse_wrong(digest)
        strange = self._good.get(digest, 0.0) < self._clock()
        self._refuse_crowd(digest, strange)
        self._waiting[digest] += 1
        self._strange += strange
        try:
            async with self._turns.taken(digest):
                self._refuse_wrong(digest)
                try:
                    yield
                except Problem as error:
                    self._remember(digest, error)
                    raise
                self._remember(digest, None)
        finally:
            self._strange -= strange
            self._waiting[digest] -= 1
            if not self._waiting[digest]:
                del self._waiting[digest]

    def _refuse_wrong(self, digest: str) -> None:
        until, error = self._wrong.get(digest, (0.0, None))
        if error is not None and until > self._clock():
            raise Problem(error.status, error.code, error.detail, headers=error.headers)

    def _refuse_crowd(self, digest: str, strange: bool) -> None:
        if self._waiting[digest] >= WAITING_OF_ONE:
            raise Problem(429, "too_many_at_once", WAITING.format(most=WAITING_OF_ONE), headers=RETRY_SOON)
        if strange and self._strange >= ALL_STRANGE:
            raise Problem(503, "unavailable", CROWDED, headers=RETRY_SOON)

    def _remember(self, digest: str, error: Problem | None) -> None:
        self._good.pop(digest, None)
        self._wrong.pop(digest, None)
        if error is not None and error.status == HTTPStatus.UNAUTHORIZED:
            _keep(self._wrong, digest, (self._clock() + WRONG_SECONDS, error))
        else:
            _keep(self._good, digest, self._clock() + GOOD_SECONDS)


def _keep(kept: dict[str, T], digest: str, value: T) -> None:
    kept[digest] = value
    if len(kept) > REMEMBERED:
        del kept[next(iter(kept))]
