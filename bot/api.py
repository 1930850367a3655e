"""The HTTP API of a running Countersign: its stores, its threads in Slack, and the bell of its events."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from weakref import WeakValueDictionary

from aiohttp import web
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.cards import Cards
from bot.outgoing_check import checked_message
from bot.slack_retry import SlackError
from gate.rules.access import Token
from gate.rules.action import Session
from gate.rules.ports import Ledger, Posted, World
from handlers.api import app as api_app
from handlers.api.ports import Bounds, NoThread, Services
from handlers.slack.listener import To
from storage.events import EventLog
from storage.idempotency import AnswerStore
from storage.ledger import SqlLedger
from storage.pagination import SqlPages
from storage.rate_limits import RedisRates
from storage.tokens import TokenStore
from storage.webhooks import HookStore
from views import notices

NO_THREAD = "Slack does not let me post in {channel} ({code}). Invite me there, or name another channel."


class SlackThreads:
    """Implements handlers.api.ports.Threads: one message of ours is the thread that people are asked in."""

    def __init__(self, cards: Cards, ledger: Ledger) -> None:
        self._cards, self._ledger = cards, ledger
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def open(self, key: str, channel: str, token: Token, text: str) -> str:
        """The thread of this key in this channel, opened on the first asking. Raises Unavailable, or NoThread."""
        key, message = f"{key}:{channel}", checked_message(notices.api_thread(token, text))
        async with self._locks.setdefault(key, asyncio.Lock()):
            posted = await self._ledger.posted(key)
            if posted and posted.ts:
                return posted.ts
            try:
                at, ts, _ = await self._cards.show(key, posted, To("", channel), message)
            except SlackError as error:
                raise NoThread(NO_THREAD.format(channel=channel, code=error.code)) from error
            await self._ledger.set_posted(key, Posted(at, ts, 1))
            return ts

    async def is_of(self, session: Session, keys: Collection[str]) -> bool:
        """Whether this thread was opened for one of these keys. Raises Unavailable."""
        opened = await self._ledger.posted_of([f"{key}:{session.channel}" for key in keys])
        here = (session.channel, session.thread)
        return any((posted.channel, posted.ts) == here for posted in opened.values())


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
    services = Services(
        world=world,
        tokens=TokenStore(sql, ledger.seals),
        answers=AnswerStore(sql),
        pages=SqlPages(sql),
        rates=RedisRates(redis, "countersign"),
        threads=SlackThreads(cards, ledger),
        events=EventLog(sql),
        hooks=HookStore(sql, ledger.seals),
        bounds=bounds,
    )
    ledger.on_events = api_app.add_api(app, services).notify
    return app
