"""From the moment an event is due until it is acknowledged, at a steady rate, while the bot works on all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

from benchmarks import bare_bolt
from benchmarks.load import Offer, Taken, offer
from benchmarks.measure import Row, cpu_seconds, heading, line, median
from benchmarks.service import POSTGRES, SPAWN, SQLITE, Bench, Bot, free_port, reachable, running, started
from bot.app import ALL

GOAL = 100.0  # ms, p99
GOALS = {(SQLITE, 20), (POSTGRES, 100)}
RATES = (20, 100)  # events a second
WARM = 20  # events before
TITLE = "ack: event due → acknowledged, each a mention that proposes a write (open loop)"


async def run(bench: Bench, quick: bool) -> None:
    seconds, repeats = (5, 1) if quick else (30, 3)
    print(heading(TITLE))
    with ProcessPoolExecutor(1, SPAWN) as pool:
        for rate in RATES:
            bare = [await _bare(pool, bench, rate, seconds) for _ in range(repeats)]
            _show(f"bare Bolt, nothing stored, {rate}/s", bare)
            for database in bench.databases:
                full = [await _full(pool, bench, database, (ALL,), rate, seconds) for _ in range(repeats)]
                _show(f"{database}, {rate}/s", full, bare, (database, rate) in GOALS)
        if POSTGRES in bench.databases:
            roles = (frozenset({"worker"}), frozenset({"web"}))
            full = [await _full(pool, bench, POSTGRES, roles, rate, seconds) for _ in range(repeats)]
            _show(f"{POSTGRES}, {rate}/s, web and worker apart", full, bare, True)


def _show(what: str, runs: list[Taken], bare: list[Taken] | None = None, goal: bool = False) -> None:
    n = sum(len(taken.took) for taken in runs)
    base = bare or []
    for rank in (50, 99):
        row = Row(
            f"{what}: p{rank}",
            median([taken.p(rank) for taken in runs]),
            n=n,
            baseline=median([taken.p(rank) for taken in base]) if base else None,
            goal=GOAL if goal and rank == 99 else None,
            note=_meanwhile(runs) if bare and rank == 99 else "",
        )
        print(line(row), flush=True)


def _meanwhile(runs: list[Taken]) -> str:
    longest = max(max(taken.took) for taken in runs)
    cards, n = sum(taken.cards for taken in runs), sum(len(taken.took) for taken in runs)
    refused = sum(taken.refused for taken in runs)
    cpu = median([taken.cpu for taken in runs])
    said = f"max {longest:.0f} ms; {cards} of {n} cards drawn meanwhile; bot {cpu:.0f} % CPU"
    return said + (f"; {refused} answered 5xx" if refused else "")


async def _full(
    pool: ProcessPoolExecutor,
    bench: Bench,
    database: str,
    roles: Sequence[frozenset[str]],
    rate: float,
    seconds: float,
) -> Taken:
    async with running(await bench.place(database), *roles) as bots:
        return await _loaded(pool, bench, bots, rate, seconds)


async def _bare(pool: ProcessPoolExecutor, bench: Bench, rate: float, seconds: float) -> Taken:
    port = free_port()
    with started(port, bare_bolt.serve, port) as bot:
        await reachable(bot)
        return await _loaded(pool, bench, [bot], rate, seconds)


async def _loaded(
    pool: ProcessPoolExecutor, bench: Bench, bots: Sequence[Bot], rate: float, seconds: float
) -> Taken:
    loop, urls = asyncio.get_running_loop(), [bot.url for bot in bots if bot.url]
    first = next(bench.numbers) * 10_000
    await loop.run_in_executor(pool, offer, Offer(urls, 10, first, WARM))
    cards, used = bench.slack.shown, sum(cpu_seconds(bot.pid) for bot in bots)
    began = loop.time()
    taken: Taken = await loop.run_in_executor(
        pool, offer, Offer(urls, rate, first + WARM, int(rate * seconds))
    )
    cpu = (sum(cpu_seconds(bot.pid) for bot in bots) - used) / (loop.time() - began) * 100
    return replace(taken, cards=bench.slack.shown - cards, cpu=cpu)
