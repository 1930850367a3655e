"""Stories per second: mention, card, Confirm, tool, result. The fake Slack runs on the same cores."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass

from aiohttp import ClientSession

from benchmarks.measure import Row, cpu_seconds, heading, line, median, percentile
from benchmarks.people import People
from benchmarks.service import POSTGRES, Bench, running
from bot.wiring import ALL

TOGETHER = 24  # stories that are being told at once
TITLE = f"stories: mention → card → Confirm → tool → result on the card, {TOGETHER} at once"


@dataclass(frozen=True)
class Told:
    """Stories per second, milliseconds per story, and CPU milliseconds of the bot per story."""

    rate: float
    took: list[float]
    cpu: float


async def run(bench: Bench, quick: bool) -> None:
    warm, seconds, repeats = (2, 6, 1) if quick else (5, 20, 3)
    print(heading(TITLE))
    setups = [(database, 1) for database in bench.databases]
    setups += [(POSTGRES, 2)] if POSTGRES in bench.databases else []
    for database, replicas in setups:
        runs = [await _told(bench, database, replicas, warm, seconds) for _ in range(repeats)]
        what = f"{database}, {replicas} process{'es' if replicas > 1 else ''}"
        took, cpu = [one for told in runs for one in told.took], median([told.cpu for told in runs])
        note = f"each p50 {percentile(took, 50):.0f}, p95 {percentile(took, 95):.0f} ms; {cpu:.0f} ms CPU of the bot"
        print(line(Row(what, median([told.rate for told in runs]), "/s", n=len(took), note=note)), flush=True)


async def _told(bench: Bench, database: str, replicas: int, warm: float, seconds: float) -> Told:
    numbers, ended = itertools.count(next(bench.numbers) * 10_000), list[tuple[float, float]]()
    async with (
        running(await bench.new_settings(database), *[ALL] * replicas) as bots,
        ClientSession() as session,
    ):
        people = People(bench.slack, session, [bot.url for bot in bots])
        tellers = [asyncio.create_task(_tell(people, numbers, ended)) for _ in range(TOGETHER)]
        await asyncio.sleep(warm)
        begun, used = time.monotonic(), sum(cpu_seconds(bot.pid) for bot in bots)
        await asyncio.sleep(seconds)
        lasted, used = time.monotonic() - begun, sum(cpu_seconds(bot.pid) for bot in bots) - used
        for teller in tellers:
            if teller.done():
                teller.result()  # it never ends by itself: raise what ended it
            teller.cancel()
        await asyncio.gather(*tellers, return_exceptions=True)
    took = [milliseconds for at, milliseconds in ended if begun <= at < begun + lasted]
    return Told(len(took) / lasted, took, used * 1000 / max(len(took), 1))


async def _tell(people: People, numbers: Iterator[int], ended: list[tuple[float, float]]) -> None:
    """Sequential stories: the end time and the milliseconds of each."""
    while True:
        begun = time.monotonic()
        asked = await people.ask(next(numbers))
        await people.confirm(asked)
        await people.done(asked)
        ended.append((time.monotonic(), (time.monotonic() - begun) * 1000))
