"""The HTTP API of a running Countersign: its stores, its threads in Slack, and the bell of its events."""

from __future__ import annotations

import asyncio
import logging
from weakref import WeakValueDictionary

from aiohttp import web
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.cards import Cards
from bot.outgoing import checked
from bot.patience import Refused
from gate.access import Token
from gate.world import Ledger, Posted, Unavailable, World
from handlers.api import site
from handlers.api.ports import Bounds, NoThread, Office
from handlers.door import To
from storage.answers import AnswerStore
from storage.events import EventLog
from storage.hooks import HookStore
from storage.ledger import SqlLedger
from storage.pages import SqlPages
from storage.rates import RedisRates
from storage.tokens import TokenStore
from views import api_notes

log = logging.getLogger(__name__)

NO_THREAD = "Slack does not let me post in {channel} ({code}). Invite me there, or name another channel."


class SlackThreads:
    """Implements handlers.api.ports.Threads: one message of ours is the thread that people are asked in."""

    def __init__(self, cards: Cards, ledger: Ledger) -> None:
        self._cards, self._ledger = cards, ledger
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self, key: str, channel: str, token: Token, text: str) -> str:
        """The thread of this key in this channel, opened on the first asking. Raises Unavailable, or NoThread."""
        key, message = f"{key}:{channel}", checked(api_notes.opened(token, text))
        async with self._locks.setdefault(key, asyncio.Lock()):
            posted = await self._ledger.posted(key)
            if posted and posted.ts:
                return posted.ts
            try:
                at, ts = await self._cards.show(key, posted, To("", channel), message)
            except Refused as error:
                raise NoThread(NO_THREAD.format(channel=channel, code=error.code)) from error
            await self._ledger.set_posted(key, Posted(at, ts, 1))
            return ts

    async def link(self, channel: str, thread: str) -> str:
        """Its address for a browser; "" when Slack does not say one."""
        try:
            return await self._cards.link(channel, thread)
        except (Refused, Unavailable) as error:
            log.warning("the address of a thread is not known: %s", error)
            return ""


def serve_api(  # noqa: PLR0913  # one for each part
    app: web.Application,
    world: World,
    ledger: SqlLedger,
    cards: Cards,
    sql: AsyncEngine,
    redis: Redis,
    bounds: Bounds,
) -> web.Application:
    """The site, with the API on it."""
    office = Office(
        world=world,
        tokens=TokenStore(sql),
        answers=AnswerStore(sql),
        pages=SqlPages(sql),
        rates=RedisRates(redis, "countersign"),
        threads=SlackThreads(cards, ledger),
        events=EventLog(sql),
        hooks=HookStore(sql),
        bounds=bounds,
    )
    ledger.told = site.serve(app, office).ring
    return app
