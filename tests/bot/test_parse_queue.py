"""The queue of what is parsed: whose turn it is, and how much of one, by a given clock."""

from __future__ import annotations

import asyncio
from functools import partial

from bot.parse_queue import PARSED_AT_ONCE, ParseQueue
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
