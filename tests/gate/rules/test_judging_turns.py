"""Nobody waits for more than one turn of anybody else, however many are asked for in one name."""

from __future__ import annotations

import asyncio

from gate.rules.judging_turns import JudgingTurns


async def test_a_flood_of_one_person_lets_another_have_every_second_turn() -> None:
    turns, had = JudgingTurns(), list[str]()

    async def judged(whose: str, count: int) -> None:
        for _ in range(count):
            await turns.wait(whose, lambda: asyncio.sleep(0))
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


async def test_one_turn_is_had_at_a_time() -> None:
    turns, inside, most = JudgingTurns(), 0, 0

    async def rest() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        await asyncio.sleep(0)
        inside -= 1

    await asyncio.gather(*(turns.wait(f"p{number % 5}", rest) for number in range(20)))
    assert most == 1
