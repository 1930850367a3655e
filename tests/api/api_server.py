"""The API on a real server, over the scene of the flows: real stores, a fake desk, a fake wall for cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import count
from typing import Any

from aiohttp import ClientResponse, ClientSession, web
from aiohttp.test_utils import TestServer
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import Token, TokenKind, format_token
from gate.rules.action import Session
from gate.rules.ports import Posted, World
from handlers.api import app as api_app
from handlers.api.actions import thread_key
from handlers.api.event_stream import OPEN_STREAMS, Feed
from handlers.api.ports import Bounds, Services
from storage.events import EventLog
from storage.idempotency import AnswerStore
from storage.pagination import SqlPages
from storage.rate_limits import RedisRates
from storage.tokens import TokenStore
from storage.webhooks import HookStore
from tests.gate.gate_setup import ANN, CHANNEL, TEAM, Scene


@dataclass
class FakeThreads:
    """Implements handlers.api.ports.Threads."""

    gate: Scene
    opened: dict[str, str] = field(default_factory=dict)
    counter: Any = field(default_factory=lambda: count(1))

    async def open(self, key: str, channel: str, token: Token, text: str) -> str:
        if key not in self.opened:
            self.opened[key] = f"{1_600_000_000 + next(self.counter)}.000000"
            await self.gate.ledger.set_posted(key, Posted(channel, self.opened[key], 1))
        return self.opened[key]

    async def is_of(self, session: Session, keys: Collection[str]) -> bool:
        return session.thread in {self.opened.get(key) for key in keys}


@dataclass
class Client:
    """Somebody with a token."""

    session: ClientSession
    base: str
    token: Token
    text: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.text}"}

    async def ask(self, method: str, path: str, sent: Any = None, **headers: str) -> tuple[int, Any]:
        """The status and the JSON of the answer."""
        async with self.raw(method, path, sent, **headers) as response:
            return response.status, await response.json(content_type=None)

    def raw(self, method: str, path: str, sent: Any = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.session.request(method, self.base + path, json=sent, headers={**self.headers, **named})

    async def get(self, path: str) -> Any:
        status, found = await self.ask("GET", path)
        assert status == 200, found
        return found

    async def post(self, path: str, sent: Any = None, status: int = 200, **headers: str) -> Any:
        got, found = await self.ask("POST", path, sent, **headers)
        assert got == status, found
        return found


@dataclass
class Api:
    """The running API."""

    gate: Scene
    services: Services
    feed: Feed
    base: str
    session: ClientSession
    threads: FakeThreads
    open: Counter[str]  # streams, by token
    numbers: Any = field(default_factory=lambda: count(1))

    async def client(self, kind: TokenKind = TokenKind.PERSON, user: str = ANN, **more: Any) -> Client:
        tokens = self.services.tokens
        assert isinstance(tokens, TokenStore)
        number, now = next(self.numbers), await tokens.now()
        made = Token(f"{number:016x}", kind, "nightly", TEAM, user, (CHANNEL,), now, now + timedelta(days=1))
        made = replace(made, **more)
        secret = f"{number:064x}"
        await tokens.add(made, secret)
        return Client(self.session, self.base, made, format_token(kind, made.id, secret))

    async def agent(self, **more: Any) -> Client:
        return await self.client(TokenKind.AGENT, **more)

    def open_scene(self, client: Client) -> Session:
        """The thread of the scene is from now on the one that was opened for the calls of this client's token."""
        self.threads.opened[thread_key(client.token.id)] = self.gate.session.thread
        return self.gate.session


@asynccontextmanager
async def served(gate: Scene, engine: AsyncEngine, redis: Any, **bounds: Any) -> AsyncIterator[Api]:
    """The API of this scene on a port of its own."""
    threads = FakeThreads(gate)
    services = Services(
        world=CurrentWorld(gate),  # type: ignore[arg-type]
        tokens=TokenStore(engine, gate.ledger.seals),
        answers=AnswerStore(engine),
        pages=SqlPages(engine),
        rates=RedisRates(redis, "test"),
        threads=threads,
        events=EventLog(engine),
        hooks=HookStore(engine, gate.ledger.seals),
        bounds=Bounds(**{"per_minute": 100_000, **bounds}),
    )
    app = web.Application()
    feed = api_app.add_api(app, services)
    gate.ledger.on_events = feed.notify
    server = TestServer(app)
    await server.start_server()
    async with ClientSession() as session:
        yield Api(
            gate, services, feed, str(server.make_url("")).rstrip("/"), session, threads, app[OPEN_STREAMS]
        )
    await server.close()


class CurrentWorld:
    """The world of the scene as it stands at the moment: tests change its rules."""

    def __init__(self, gate: Scene) -> None:
        self._gate = gate

    def __getattr__(self, name: str) -> Any:
        world: World = self._gate.world
        return getattr(world, name)


__all__ = ["Api", "Client", "ClientResponse", "served"]
