"""The queue of what is parsed: whose turn it is, and how much of one, by a given clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest

from bot import parse_queue
from bot.parse_queue import LITTLE, PARSED_AT_ONCE, ParseQueue, in_steps
from tests.bot.test_engine_runs import until


async def test_what_strangers_send_at_once_is_parsed_in_several_turns_of_the_loop() -> None:
    now, done = 0.0, list[tuple[int, int]]()
    queue, turns = ParseQueue(lambda: now), 0

    async def count_turns() -> None:
        nonlocal turns
        while len(done) < 9:
            turns += 1
            await asyncio.sleep(0)

    def parse(number: int) -> None:
        nonlocal now
        now += PARSED_AT_ONCE / 3 + 1e-6
        done.append((number, turns))

    at_once = [queue.run("", partial(parse, number)) for number in range(9)]
    async with asyncio.timeout(10):
        await count_turns()
    assert at_once == [True] * 3 + [False] * 6
    assert [number for number, _ in done] == list(range(9))
    assert len({turn for _, turn in done}) == 3
    queue.close()


async def test_an_address_that_sends_little_does_not_wait_for_one_that_sends_much() -> None:
    now, done = 0.0, list[str]()
    queue = ParseQueue(lambda: now)

    def parse(address: str) -> None:
        nonlocal now
        now += PARSED_AT_ONCE
        done.append(address)

    for address in ("crowd",) * 9 + ("slack",):
        queue.run(address, partial(parse, address))
    await until(lambda: len(done) == 10)
    assert done.index("slack") == 1
    queue.close()


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns follow each other at once."""
    monkeypatch.setattr(parse_queue, "BETWEEN_TURNS", 0)


def noting(done: list[str], name: str) -> Callable[[], None]:
    return lambda: done.append(name)


@pytest.mark.usefixtures("turns")
async def test_what_was_charged_beyond_a_turn_is_made_up_for_by_the_next_ones() -> None:
    queue, turns = ParseQueue(lambda: 0.0), list[int]()
    queue.charge("crowd", 4.5 * PARSED_AT_ONCE)
    assert not queue.run("slack", lambda: turns.append(queue._turns))
    await until(lambda: bool(turns))
    assert turns == [4]
    queue.close()


@pytest.mark.usefixtures("turns")
async def test_who_needed_less_of_late_goes_first_and_who_needed_much_in_turn() -> None:
    queue, done = ParseQueue(lambda: 0.0), list[str]()
    for number, name in enumerate(("b", "a", "d", "c")):
        queue.charge(name, LITTLE * (1 + number) if name in "ab" else LITTLE / (1 + number))
    queue.charge("forgiven", PARSED_AT_ONCE)
    queue.forgive("forgiven")
    for name in ("b", "b", "a", "d", "c", "forgiven", "new"):
        assert not queue.run(name, noting(done, name))
    await until(lambda: len(done) == 7)
    assert done == ["forgiven", "new", "c", "d", "b", "a", "b"]
    queue.close()


@pytest.mark.usefixtures("turns")
async def test_what_is_needed_is_forgotten_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_queue, "LATE_TURNS", 1)
    queue = ParseQueue(lambda: 0.0)
    queue.charge("crowd", 9 * PARSED_AT_ONCE)
    await until(lambda: not queue._needed)
    queue.close()


async def test_each_step_of_a_work_is_counted_and_what_it_waits_for_is_not() -> None:
    now, steps = 0.0, list[float]()

    async def work() -> str:
        nonlocal now
        now += 1
        await asyncio.sleep(0)
        now += 2
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            now += 3
        return "done"

    task = asyncio.ensure_future(_awaited(work(), lambda: now, steps))
    for _ in range(3):
        await asyncio.sleep(0)
    now += 100
    task.cancel()
    assert await task == "done"
    assert steps == [1, 2, 3]


async def _awaited(work: Coroutine[Any, Any, str], clock: Callable[[], float], steps: list[float]) -> str:
    return await in_steps(work, clock, steps.append)
