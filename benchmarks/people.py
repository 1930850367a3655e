"""Simulated people: they ask for a write, wait for the card, click Confirm, and wait for the result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import ClientSession

from benchmarks.slack import Card, Slack, confirm, mention, send

WORKING, DONE = "Working", "Wrote"


@dataclass(frozen=True)
class Asked:
    """A proposal whose card is posted. `number`: of the mention. `thread`: its thread_ts."""

    number: int
    thread: str
    card: Card


@dataclass(frozen=True)
class People:
    """People who send to the bot's `urls` in turn."""

    slack: Slack
    session: ClientSession
    urls: Sequence[str]

    async def ask(self, number: int) -> Asked:
        """Asks for the write of a new file; returns once the card has its button."""
        thread, payload = mention(number, f"write 'the text of {number}' to {file_of(number)}")
        await send(self.session, self._url(number), "events_api", payload)
        card = self.slack.cards[thread]
        await card.ready()
        return Asked(number, thread, card)

    async def confirm(self, asked: Asked) -> tuple[float, float]:
        """Clicks Confirm; returns the times of the click and of its acknowledgement, by time.monotonic."""
        asked.card.told.clear()
        pressed = time.monotonic()
        payload = confirm(asked.number, asked.thread, asked.card)
        await send(self.session, self._url(asked.number + 1), "interactive", payload)
        return pressed, time.monotonic()

    async def done(self, asked: Asked) -> float:
        """Waits until the card shows the end, clicking again if asked to; returns the time of that update."""
        await asked.card.until(lambda card: card.at(DONE) or card.told)
        if at := asked.card.at(DONE):
            return at
        await self.confirm(asked)
        return await self.done(asked)

    def _url(self, number: int) -> str:
        return self.urls[number % len(self.urls)]


def file_of(number: int) -> str:
    return f"note{number}.md"
