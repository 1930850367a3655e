"""What people do with a bot: ask for a write, read its card, press Confirm, see what came of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import ClientSession

from benchmarks.slack import Card, Slack, confirm, mention, send

WORKING, DONE = "Working", "Done"


@dataclass(frozen=True)
class Asked:
    """A proposal with its card in place. `number` is that of the mention, `thread` its timestamp."""

    number: int
    thread: str
    card: Card


@dataclass(frozen=True)
class People:
    """They reach the bot at `urls`, in turn."""

    slack: Slack
    session: ClientSession
    urls: Sequence[str]

    async def ask(self, number: int) -> Asked:
        """Ask for the write of a file of its own, and wait until the card can be pressed."""
        thread, payload = mention(number, f"write 'the text of {number}' to {file_of(number)}")
        await send(self.session, self._url(number), "events_api", payload)
        card = self.slack.cards[thread]
        await card.ready()
        return Asked(number, thread, card)

    async def confirm(self, asked: Asked) -> tuple[float, float]:
        """Press Confirm: when it was pressed, and when that was acknowledged, by time.monotonic."""
        asked.card.told.clear()
        pressed = time.monotonic()
        payload = confirm(asked.number, asked.thread, asked.card)
        await send(self.session, self._url(asked.number + 1), "interactive", payload)
        return pressed, time.monotonic()

    async def done(self, asked: Asked) -> float:
        """Wait until the card says that it is done, pressing again where they are told to; when it was drawn so."""
        await asked.card.until(lambda card: card.at(DONE) or card.told)
        if at := asked.card.at(DONE):
            return at
        await self.confirm(asked)
        return await self.done(asked)

    def _url(self, number: int) -> str:
        return self.urls[number % len(self.urls)]


def file_of(number: int) -> str:
    return f"note{number}.md"
