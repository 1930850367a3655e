"""How many requests wait until their token is verified, and what is remembered of a token."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from handlers.api.admission import (
    ALL_STRANGE,
    GOOD_SECONDS,
    REMEMBERED,
    WAITING_OF_ONE,
    WRONG_SECONDS,
    Admission,
)
from handlers.api.route import Problem

TURN = 600.0  # seconds: no request of these tests is taken to wait for something outside


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Store:
    """Verifies tokens when it is told to, and counts how often it was asked."""

    def __init__(self, admission: Admission, status: int = 0) -> None:
        self._admission, self._status = admission, status
        self.asked, self.answers = 0, asyncio.Event()

    async def verify(self, digest: str) -> int:
        """The status of the problem that came of a request with this token; 0 for none."""
        try:
            async with self._admission.taken(digest):
                self.asked += 1
                await self.answers.wait()
                if self._status:
                    raise Problem(self._status, "no", "No.")
        except Problem as error:
            return error.status
        return 0

    @asynccontextmanager
    async def held(self, *digests: str) -> AsyncIterator[list[asyncio.Task[int]]]:
        """Requests that wait; those that are refused at once are done."""
        self.answers.clear()
        tasks = [asyncio.create_task(self.verify(digest)) for digest in digests]
        await asyncio.sleep(0)
        yield tasks
        self.answers.set()
        await asyncio.gather(*tasks)


async def test_of_one_token_so_many_requests_wait_and_others_are_refused_at_once() -> None:
    store = Store(Admission(TURN))
    async with store.held(*["one"] * (WAITING_OF_ONE + 9), "other") as tasks:
        assert [task.result() for task in tasks if task.done()] == [429] * 9


async def test_a_token_is_one_of_those_that_were_not_verified_after_a_while() -> None:
    clock = Clock()
    store = Store(Admission(TURN, clock))
    store.answers.set()
    assert await store.verify("one") == 0
    clock.now = GOOD_SECONDS + 0.1
    async with store.held(*map(str, range(ALL_STRANGE)), "one") as tasks:
        assert tasks[-1].result() == 503


async def test_tokens_that_were_not_verified_leave_places_to_those_that_were() -> None:
    store = Store(Admission(TURN))
    store.answers.set()
    assert await store.verify("good") == 0
    async with store.held(*map(str, range(ALL_STRANGE + 5)), "good") as tasks:
        assert [task.result() for task in tasks if task.done()] == [503] * 5


@pytest.mark.parametrize(("status", "asked"), [(401, 1), (429, 2), (503, 2)])
async def test_a_wrong_token_is_refused_for_a_while_without_a_look_at_the_store(
    status: int, asked: int
) -> None:
    clock = Clock()
    store = Store(Admission(TURN, clock), status)
    store.answers.set()
    assert [await store.verify("one") for _ in range(2)] == [status] * 2
    assert store.asked == asked
    clock.now = WRONG_SECONDS + 0.1
    await store.verify("one")
    assert store.asked == asked + 1


async def test_those_that_wait_behind_a_wrong_token_are_refused_with_it() -> None:
    store = Store(Admission(TURN), 401)
    async with store.held(*["one"] * 4) as tasks:
        pass
    assert [task.result() for task in tasks] == [401] * 4
    assert store.asked == 1


async def test_so_many_tokens_are_remembered() -> None:
    store = Store(Admission(TURN), 401)
    store.answers.set()
    for number in range(REMEMBERED + 1):
        await store.verify(str(number))
    await store.verify(str(REMEMBERED))
    assert store.asked == REMEMBERED + 1
    await store.verify("0")
    assert store.asked == REMEMBERED + 2
