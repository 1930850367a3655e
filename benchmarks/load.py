"""An open-loop load of mentions, in its own process: each is sent when it is due, however long responses take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import ClientResponseError, ClientSession, TCPConnector

from benchmarks.measure import percentile
from benchmarks.slack import mention, send


@dataclass(frozen=True)
class Load:
    """The load: `count` events with numbers from `first`, `rate` per second."""

    urls: Sequence[str]
    rate: float
    first: int
    count: int


@dataclass(frozen=True)
class LoadResult:
    """Milliseconds from due to acknowledged, and the resource use of the bots meanwhile."""

    took: list[float]
    refused: int  # answered 5xx: Slack would send these again
    cards: int = 0  # drawn meanwhile
    cpu: float = 0.0  # of one core, in percent, of all processes of the bot

    def p(self, rank: float) -> float:
        return percentile(self.took, rank)


def send_load(load: Load) -> LoadResult:
    """Sends each event when it is due. The main function of the load process."""
    return asyncio.run(_send_all(load))


async def _send_all(load: Load) -> LoadResult:
    clock = asyncio.get_running_loop().time
    took: list[float] = []
    refused: list[int] = []

    async def send_one(number: int, due: float) -> None:
        await asyncio.sleep(due - clock())
        _, payload = mention(number, f"write 'the text of {number}' to note{number}.md")
        try:
            await send(session, load.urls[number % len(load.urls)], "events_api", payload)
        except ClientResponseError as error:
            refused.append(error.status)
        took.append((clock() - due) * 1000)

    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        start = clock() + 0.5
        numbers = range(load.first, load.first + load.count)
        await asyncio.gather(*(send_one(n, start + i / load.rate) for i, n in enumerate(numbers)))
    return LoadResult(took, len(refused))
