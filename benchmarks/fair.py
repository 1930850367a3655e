"""The latency of one person's reads while another person, or a token, floods the bot."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from typing import Any

from aiohttp import ClientSession
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from benchmarks.gateway import api_token
from benchmarks.measure import Row, heading, line, median, timed
from benchmarks.service import Bench, running
from benchmarks.slack import Slack, accepted, mention, send
from bot.settings import Settings
from bot.wiring import ALL
from gate.rules.tool import Trust
from tools.mcp.server_config import ServerConfig

GOAL = 2.0  # times the quiet one
TITLE = "fair: mention → answer of a read of one person, while another one floods"
READ, WRITE, HANG = (
    "filesystem.list_dir path=.",
    "filesystem.list_dir path=.",
    "slow.list_nothing",
)
AT_ONCE, FLOOD_TOKENS = 50, 20
REFUSED = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
FLOODER, OTHER = "U0FLOOD", "U0OTHER"
SLOW = ServerConfig(name="slow", inproc="benchmarks.fair:slow", trust=Trust.BUNDLED)


def slow(_: list[Path]) -> MCPServer:
    """An MCP server whose only tool, a read, hangs for longer than the time limit of a call."""
    made = MCPServer("slow")

    @made.tool(annotations=ToolAnnotations(read_only_hint=True))
    async def list_nothing() -> str:
        await asyncio.sleep(600)
        return ""

    return made


async def run(bench: Bench, quick: bool) -> None:
    print(heading(TITLE))
    times, many = (5, 60) if quick else (15, 300)
    for database in bench.databases:
        for what, text, count in (("mentions", WRITE, many), ("reads that hang", HANG, 40)):
            async with _started(bench, database) as (asking, _):
                quiet = await _quiet(database, asking, times)
                flood = asyncio.create_task(asking.flood(text, count))
                await asyncio.sleep(0.2)
                busy = await asking.reads(times)
                _print(f"{database}: beside {count} {what} of one person", (busy, quiet), times, await flood)
        async with _started(bench, database) as (asking, api):
            quiet = await _quiet(database, asking, times)
            alone = await api.reads(times)
            print(line(Row(f"{database}: one token's request, quiet, p50", alone, n=times)), flush=True)
            async with api.flood() as refused:
                busy, beside = await asking.reads(times), await api.reads(times)
            _print(f"{database}: beside a token's flood: mentions", (busy, quiet), times, refused())
            _print(f"{database}: beside it: another token", (beside, alone), times, refused())


@asynccontextmanager
async def _started(bench: Bench, database: str) -> AsyncIterator[tuple[_Asking, _Token]]:
    """A bot of its own for each flood: one leaves work behind for the time after it."""
    settings = await bench.new_settings(database)
    settings = replace(settings, servers=(*settings.servers, SLOW))
    async with running(settings, ALL) as (bot,), ClientSession() as session:
        yield _Asking(bench, session, bot.url, settings), _Token(session, bot.url, settings)


async def _quiet(database: str, asking: _Asking, times: int) -> float:
    quiet = await asking.reads(times)
    print(line(Row(f"{database}: quiet, p50", quiet, n=times)), flush=True)
    return quiet


def _print(what: str, took: tuple[float, float], times: int, refused: int) -> None:
    busy, quiet = took
    row = Row(f"{what}, p50", busy, n=times, note=f"{refused} refused with 429 or 503" if refused else "")
    ratio = Row("… the same / quiet", busy / quiet, "×", n=times, goal=GOAL)
    print(line(row), line(ratio), sep="\n", flush=True)


class _Asking:
    """Two people who use one bot."""

    def __init__(self, bench: Bench, session: ClientSession, url: str, settings: Settings) -> None:
        self._slack: Slack = bench.slack
        self._numbers = bench.numbers
        self._base = next(bench.numbers) * 100_000
        self._session, self._url = session, url

    async def reads(self, times: int) -> float:
        """The median of sequential reads, in ms from the mention to the answer."""
        took = []
        for _ in range(times):
            began = time.monotonic()
            thread = await self._say(OTHER, READ)
            await self._slack.cards[thread].until(lambda card: bool(card.drawn))
            took.append((time.monotonic() - began) * 1000)
        return median(took)

    async def flood(self, text: str, count: int) -> int:
        """How many of them were refused with 503."""
        payloads = [self._payload(FLOODER, text)[1] for _ in range(count)]
        taken = await asyncio.gather(*(accepted(self._session, self._url, "events_api", p) for p in payloads))
        return taken.count(False)

    async def _say(self, user: str, text: str) -> str:
        thread, payload = self._payload(user, text)
        await send(self._session, self._url, "events_api", payload)
        return thread

    def _payload(self, user: str, text: str) -> tuple[str, dict[str, Any]]:
        thread, payload = mention(self._base + next(self._numbers), text)
        payload["event"]["user"] = user
        return thread, payload


class _Token:
    """Two tokens of the API: one floods, the other one asks now and then."""

    def __init__(self, session: ClientSession, url: str, settings: Settings) -> None:
        self._session, self._database_url = session, settings.database_url
        self._url = url.removesuffix("/slack/events") + "/actions"
        self._numbers = itertools.count()

    async def reads(self, times: int) -> float:
        """The median of sequential proposals of a read with a token of its own, in ms."""
        token, took = await api_token(self._database_url, next(self._numbers)), list[float]()
        for _ in range(times):
            with timed(took):
                if (status := await self._propose(token)) >= HTTPStatus.BAD_REQUEST:
                    raise RuntimeError(f"a request of the quiet token was refused with {status}")
        return median(took)

    @asynccontextmanager
    async def flood(self) -> AsyncIterator[Callable[[], int]]:
        """As many requests under way as one token may have, during the block; gives how many were refused.

        A token has so many requests a minute, so the flooder takes a new one when that is used up."""
        tokens = [await api_token(self._database_url, next(self._numbers)) for _ in range(FLOOD_TOKENS)]
        refused = Counter[int]()
        left = iter(tokens)
        current = [next(left)]

        async def one() -> None:
            while True:
                mine = current[0]
                status = await self._propose(mine)
                refused[status] += status in REFUSED
                if status == HTTPStatus.TOO_MANY_REQUESTS and mine == current[0]:
                    current[0] = next(left, mine)

        work = [asyncio.create_task(one()) for _ in range(AT_ONCE)]
        await asyncio.sleep(0.2)
        try:
            yield refused.total
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)

    async def _propose(self, token: str) -> int:
        body = {"tool": "filesystem.list_dir", "arguments": {"path": "."}, "why": "to measure"}
        headers = {"Authorization": f"Bearer {token}"}
        async with self._session.post(self._url, json=body, headers=headers) as response:
            await response.read()
            return response.status
