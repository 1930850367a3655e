"""The latency of one person's reads while another person floods the bot with mentions or with reads that hang."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

from aiohttp import ClientSession
from mcp.server import MCPServer
from mcp_types import ToolAnnotations

from benchmarks.measure import Row, heading, line, median
from benchmarks.service import Bench, running
from benchmarks.slack import Slack, mention, send
from bot.settings import Settings
from bot.wiring import ALL
from gate.rules.tool import Trust
from tools.mcp.server_config import ServerConfig

GOAL = 2.0  # times the quiet one
TITLE = "fair: mention → answer of a read of one person, while another one floods"
READ, WRITE, HANG = (
    "filesystem.list_directory path=.",
    "filesystem.list_directory path=.",
    "slow.list_nothing",
)
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
        settings = await bench.new_settings(database)
        settings = replace(settings, servers=(*settings.servers, SLOW))
        async with running(settings, ALL) as (bot,), ClientSession() as session:
            asking = _Asking(bench, session, bot.url, settings)
            quiet = await asking.reads(times)
            print(line(Row(f"{database}: quiet, p50", quiet, n=times)), flush=True)
            for what, text, count in (("mentions", WRITE, many), ("reads that hang", HANG, 40)):
                flood = asyncio.create_task(asking.flood(text, count))
                await asyncio.sleep(0.2)
                busy = await asking.reads(times)
                await flood
                row = Row(f"{database}: beside {count} {what} of one person, p50", busy, n=times)
                ratio = Row(f"{database}: the same / quiet", busy / quiet, "×", n=times, goal=GOAL)
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

    async def flood(self, text: str, count: int) -> None:
        await asyncio.gather(*(self._say(FLOODER, text) for _ in range(count)))

    async def _say(self, user: str, text: str) -> str:
        thread, payload = mention(self._base + next(self._numbers), text)
        payload["event"]["user"] = user
        await send(self._session, self._url, "events_api", payload)
        return thread
