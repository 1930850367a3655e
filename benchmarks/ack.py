"""The time from when an event is due until it is acknowledged, at a constant rate (open loop)."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.load import Load, LoadResult, send_load
from benchmarks.measure import Row, cpu_seconds, heading, line, median
from benchmarks.service import (
    POSTGRES,
    SPAWN,
    SQLITE,
    Bench,
    Bot,
    end_with_parent,
    free_port,
    reachable,
    running,
    started,
)
from benchmarks.slack import BOT, INSTALLED, TEAM
from bot.slack_app import bolt
from bot.wiring import ALL

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
            with busy_half():
                bare = [await _bare(pool, bench, rate, seconds) for _ in range(repeats)]
                full = [await _full(pool, bench, POSTGRES, (ALL,), rate, seconds) for _ in range(repeats)]
            _show(f"{POSTGRES}, {rate}/s, beside another's half of the CPU", full, bare, True)
            roles = (frozenset({"worker"}), frozenset({"web"}))
            full = [await _full(pool, bench, POSTGRES, roles, rate, seconds) for _ in range(repeats)]
            _show(f"{POSTGRES}, {rate}/s, web and worker apart", full, bare, True)


@contextmanager
def busy_half() -> Iterator[None]:
    """Keeps half of the cores busy, at least one, by processes that compute."""
    with ExitStack() as others:
        for _ in range(max(1, (os.cpu_count() or 1) // 2)):
            others.enter_context(started(0, spin))
        yield


def spin() -> None:
    """Computes until it is killed. The main function of a process."""
    end_with_parent()
    while True:
        pass


def _show(
    what: str, runs: list[LoadResult], bare: list[LoadResult] | None = None, goal: bool = False
) -> None:
    n = sum(len(result.took) for result in runs)
    base = bare or []
    for rank in (50, 99):
        row = Row(
            f"{what}: p{rank}",
            median([result.p(rank) for result in runs]),
            n=n,
            baseline=median([result.p(rank) for result in base]) if base else None,
            goal=GOAL if goal and rank == 99 else None,
            note=_meanwhile(runs) if bare and rank == 99 else "",
        )
        print(line(row), flush=True)


def _meanwhile(runs: list[LoadResult]) -> str:
    longest = max(max(result.took) for result in runs)
    cards, n = sum(result.cards for result in runs), sum(len(result.took) for result in runs)
    refused = sum(result.refused for result in runs)
    cpu = median([result.cpu for result in runs])
    said = f"max {longest:.0f} ms; {cards} of {n} cards drawn meanwhile; bot {cpu:.0f} % CPU"
    return said + (f"; {refused} answered 5xx" if refused else "")


async def _full(
    pool: ProcessPoolExecutor,
    bench: Bench,
    database: str,
    roles: Sequence[frozenset[str]],
    rate: float,
    seconds: float,
) -> LoadResult:
    async with running(await bench.new_settings(database), *roles) as bots:
        return await _loaded(pool, bench, bots, rate, seconds)


async def _bare(pool: ProcessPoolExecutor, bench: Bench, rate: float, seconds: float) -> LoadResult:
    port = free_port()
    with started(port, bare_bolt, port) as bot:
        await reachable(bot)
        return await _loaded(pool, bench, [bot], rate, seconds)


async def _loaded(
    pool: ProcessPoolExecutor, bench: Bench, bots: Sequence[Bot], rate: float, seconds: float
) -> LoadResult:
    loop, urls = asyncio.get_running_loop(), [bot.url for bot in bots if bot.url]
    first = next(bench.numbers) * 10_000
    await loop.run_in_executor(pool, send_load, Load(urls, 10, first, WARM))
    cards, used = bench.slack.shown, sum(cpu_seconds(bot.pid) for bot in bots)
    began = loop.time()
    result: LoadResult = await loop.run_in_executor(
        pool, send_load, Load(urls, rate, first + WARM, int(rate * seconds))
    )
    cpu = (sum(cpu_seconds(bot.pid) for bot in bots) - used) / (loop.time() - began) * 100
    return replace(result, cards=bench.slack.shown - cards, cpu=cpu)


def bare_bolt(port: int) -> None:
    """The baseline: a Bolt app that acknowledges an event and does nothing else. The main function of a process."""
    end_with_parent()
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(_serve_bare_bolt(port))


async def _serve_bare_bolt(port: int) -> None:
    me = AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_user_id=BOT, bot_id="BBOT", bot_token="xoxb-")
    app = bolt(AsyncWebClient(), INSTALLED.signing_secret, me)

    @app.event("app_mention")
    async def hear() -> None:
        """Does nothing."""

    async def receive(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    async def healthz(_: web.Request) -> web.Response:
        return web.Response()

    server = web.Application()
    server.router.add_post("/slack/events", receive)
    server.router.add_get("/healthz", healthz)
    runner = web.AppRunner(server, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()
