"""The queue of what is parsed: whose turn it is, and how much of one, by a given clock."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from bot.parse_queue import PARSED_AT_ONCE, Meter, ParseQueue
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
    assert done.index("slack") == 2
    queue.close()


async def test_what_was_spent_on_strangers_elsewhere_is_made_up_for_by_later_turns() -> None:
    done, looks = list[str](), 0
    queue = ParseQueue(lambda: 0.0)
    queue.charge(1.5 * PARSED_AT_ONCE)
    assert not queue.run("slack", partial(done.append, "slack"))
    queue._take_turn()
    assert done == ["slack"]
    queue.charge(1000)
    queue.run("slack", partial(done.append, "again"))
    while len(done) < 2:
        queue._take_turn()
        looks += 1
    assert looks == 11  # a bound, as Slack's new connections wait as well
    queue.close()


async def test_more_than_a_turn_ahead_of_their_time_is_overdrawn() -> None:
    queue = ParseQueue(lambda: 0.0)
    queue.charge(2 * PARSED_AT_ONCE)
    assert not queue.is_overdrawn
    queue.charge(0.1 * PARSED_AT_ONCE)
    assert queue.is_overdrawn
    queue.close()


async def test_a_meter_charges_each_step_and_nothing_once_it_is_stopped() -> None:
    now, charged = 0.0, list[float]()
    meter = Meter(charged.append, lambda: now)

    async def work() -> str:
        nonlocal now
        now += 1
        await asyncio.sleep(0)
        now += 2
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        now += 3
        meter.stop()
        now += 4
        await asyncio.sleep(0)
        now += 5
        return "done"

    assert await meter.run(work()) == "done"
    assert [one for one in charged if one] == [1, 2, 3]
