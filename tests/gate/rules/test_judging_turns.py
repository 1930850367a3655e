"""Nobody waits for more than one turn of anybody else, however many are asked for in one name."""

from __future__ import annotations

import asyncio

from gate.rules.judging_turns import JudgingTurns


async def test_a_flood_of_one_person_lets_another_have_every_second_turn() -> None:
    turns, had = JudgingTurns(), list[str]()

    async def judged(whose: str, count: int) -> None:
        for _ in range(count):
            async with turns.own(whose), turns.one:
                await asyncio.sleep(0)
            had.append(whose)

    flood = [asyncio.create_task(judged("ann", 12)) for _ in range(64)]
    await asyncio.sleep(0)
    before = len(had)
    await judged("ben", 12)
    between = had[before:]
    assert between.count("ben") == 12
    assert between.count("ann") <= 2 * 12
    await asyncio.gather(*flood)
    assert had.count("ann") == 64 * 12
