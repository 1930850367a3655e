"""An open loop of mentions, in a process of its own: each is sent when it is due, however long answers take."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import ClientResponseError, ClientSession, TCPConnector

from benchmarks.measure import percentile
from benchmarks.slack import mention, send


@dataclass(frozen=True)
class Offer:
    """What the load process has to send: `count` events from number `first` on, `rate` a second."""

    urls: Sequence[str]
    rate: float
    first: int
    count: int


@dataclass(frozen=True)
class Taken:
    """Milliseconds from due to acknowledged, and what the bots did meanwhile."""

    took: list[float]
    refused: int  # answered 5xx: Slack would send these again
    cards: int = 0  # drawn meanwhile
    cpu: float = 0.0  # of one core, in percent, of all processes of the bot

    def p(self, rank: float) -> float:
        return percentile(self.took, rank)


def offer(what: Offer) -> Taken:
    """In a process of its own: send on time, however long answers take."""
    return asyncio.run(_offer(what))


async def _offer(what: Offer) -> Taken:
    clock = asyncio.get_running_loop().time
    took: list[float] = []
    refused: list[int] = []

    async def one(number: int, due: float) -> None:
        await asyncio.sleep(due - clock())
        _, payload = mention(number, f"write 'the text of {number}' to note{number}.md")
        try:
            await send(session, what.urls[number % len(what.urls)], "events_api", payload)
        except ClientResponseError as error:
            refused.append(error.status)
        took.append((clock() - due) * 1000)

    async with ClientSession(connector=TCPConnector(limit=0)) as session:
        start = clock() + 0.5
        numbers = range(what.first, what.first + what.count)
        await asyncio.gather(*(one(n, start + i / what.rate) for i, n in enumerate(numbers)))
    return Taken(took, len(refused))
