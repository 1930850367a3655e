"""The composition root: every part of a running Countersign, made and taken down in order."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import importlib
import logging
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from aiohttp import web
from mcp.server import MCPServer
from redis.asyncio import Redis
from sqlalchemy.ext.asyncio import AsyncEngine

from bot import slack
from bot.api import serve_api
from bot.audience import deliveries
from bot.cards import Cards, Hints
from bot.embedded import embedded_redis
from bot.engine import Engine
from bot.janitor import RHYTHM, Rhythm
from bot.jobs import jobs
from bot.judge import judge
from bot.people import SlackPeople, groups_of
from bot.planner import planner
from bot.policy_file import load_policy, trusted
from bot.settings import Settings
from gate.flows import sweep
from gate.world import Unavailable, World
from handlers.register import register
from storage.engine import open_engine, serve_alone
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.migrate import migrate
from storage.pending import RedisPending
from storage.people import PeopleStore
from storage.pins import PinStore
from tools.client import Host, Setting
from tools.guide import guide
from tools.phrase_file import load_phrases
from tools.phrases import Phrases
from tools.recipes import load_recipes
from tools.servers import INPROC, ServerConfig
from views.preview import fits, reviewable
from views.task_plan import shows

log = logging.getLogger(__name__)

ALL = frozenset({"web", "worker"})
PURGE_EVERY = 1800  # sweeps
KEEP_INBOX = timedelta(hours=24)
DRAIN_SECONDS = 20.0
CONNECT_SECONDS = 10.0  # for the MCP servers' first try; the rest goes on in the background


class SystemClock:
    """The clock of the machine, for times that are shown. Decisions ask the database's."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class RandomIds:
    """128 bits each, in hexadecimal."""

    def new(self) -> str:
        return secrets.token_hex(16)


@dataclass(frozen=True, slots=True)
class Rig:
    """How it is put together, where no operator has a say; the kill tests shorten it and dress the ports."""

    rhythm: Rhythm = RHYTHM
    sweep: float = 2.0  # seconds between two looks of the janitor of actions
    dress: Callable[[World], World] = lambda world: world  # what flows are given instead of the bare ports


RIG = Rig()


@dataclass(frozen=True, slots=True)
class Parts:
    """What was made, for the serving process and for tests."""

    world: World
    engine: Engine
    host: Host
    web: web.Application
    sockets: slack.Sockets | None


@asynccontextmanager
async def made(settings: Settings, roles: frozenset[str] = ALL, rig: Rig = RIG) -> AsyncIterator[Parts]:
    """Everything, started; taken down in the opposite order. Raises what stands in the way, as a sentence."""
    async with AsyncExitStack() as stack:
        sql, ledger, engine = await _sql(stack, settings, rig.rhythm)
        people_store, pins = PeopleStore(sql), PinStore(sql)
        redis = await _redis(stack, settings)
        policy = load_policy(settings.policy)
        servers = trusted(settings.servers, policy)
        host = await _host(stack, settings, servers, pins)
        session = await stack.enter_async_context(slack.http_session())
        settings.require_slack()
        token = settings.bot_token.reveal() if settings.bot_token else ""
        fast, patient = slack.clients(session, token, settings.api_url)
        me = await slack.identity(fast, token)
        cards = Cards(patient, ledger)
        book = load_phrases(settings.phrases)
        world = World(
            ledger=ledger,
            leases=RedisLeases(redis, settings.namespace),
            tools=host,
            people=SlackPeople(fast, people_store, groups_of(policy)),
            chat=cards,
            planner=await planner(stack, settings.model, Phrases(book, host), host, policy),
            judge=await judge(stack, settings.judge, settings.model, host),
            policy=policy,
            limits=settings.limits,
            clock=SystemClock(),
            ids=RandomIds(),
            executor=f"{socket.gethostname()}:{secrets.token_hex(4)}",
            fits=fits,
            reviewable=reviewable,
            switches=settings.switches_for,
            shows=shows,
            guide=lambda about: guide(about, host, None if settings.model else book),
            pending=RedisPending(redis, settings.namespace),
        )
        world = rig.dress(world)
        hooks = deliveries(world, ledger, sql, settings.webhooks)
        await engine.start({**jobs(world), **hooks.jobs()}, work="worker" in roles)
        stack.push_async_callback(engine.drain, DRAIN_SECONDS)
        if "worker" in roles:
            await _background(stack, _sweep(world, ledger, rig.sweep))
            await _background(stack, hooks.look())
        app = slack.bolt(fast, settings.signing_secret.reveal() if settings.signing_secret else "", me)
        register(app, world, Hints(fast, cards), str(me.bot_user_id))
        sockets = await _sockets(stack, settings, app) if "web" in roles else None
        site = _web(settings, app, world, sockets)
        serve_api(site, world, ledger, cards, sql, redis, settings.api)
        yield Parts(world, engine, host, site, sockets)


async def _redis(stack: AsyncExitStack, settings: Settings) -> Redis:
    """The operator's Redis, or one of our own."""
    url = settings.redis_url
    if not url:
        url = (await stack.enter_async_context(embedded_redis(settings.home / "redis"))).url
    redis = open_redis(url)
    stack.push_async_callback(redis.aclose)
    return redis


async def _sql(
    stack: AsyncExitStack, settings: Settings, rhythm: Rhythm
) -> tuple[AsyncEngine, SqlLedger, Engine]:
    """The ledger and the durable engine, in one database."""
    held = serve_alone(settings.database_url)
    if held is not None:
        stack.callback(held.close)
        await migrate(settings.database_url)
    sql = open_engine(settings.database_url)
    stack.push_async_callback(sql.dispose)
    executor = f"{socket.gethostname()}-{secrets.token_hex(6)}"
    engine = Engine(settings.database_url, executor, rhythm=rhythm)
    ledger = SqlLedger(sql, engine.enqueue, settings.audit_key(), wake=engine.wake)
    return sql, ledger, engine


async def _host(
    stack: AsyncExitStack, settings: Settings, servers: Sequence[ServerConfig], pins: PinStore
) -> Host:
    async def keep(server: str, definitions: Mapping[str, str]) -> None:
        for tool, definition in definitions.items():
            await pins.pin(server, tool, definition, datetime.now(UTC))

    setting = Setting(
        logs=settings.home / "logs",
        inproc={config.name: bundled(config) for config in servers if config.way == INPROC},
        recipes=load_recipes(settings.recipes),
        pins={(pin.server, pin.tool): pin.definition for pin in await pins.all()},
        on_seen=keep,
    )
    host = Host(servers, setting)
    await host.start(CONNECT_SECONDS)
    stack.push_async_callback(host.stop)
    return host


def bundled(config: ServerConfig) -> MCPServer:
    """A server of ours, in this process: `servers.filesystem:server`, called with its `args` as paths."""
    module, _, factory = config.inproc.partition(":")
    made: MCPServer = getattr(importlib.import_module(module), factory)([Path(a) for a in config.args])
    return made


async def _sockets(stack: AsyncExitStack, settings: Settings, app: Any) -> slack.Sockets | None:
    if settings.app_token is None:
        return None
    sockets = slack.Sockets(app, settings.app_token.reveal())
    await sockets.start()
    stack.push_async_callback(sockets.stop)
    return sockets


def _web(settings: Settings, app: Any, world: World, sockets: slack.Sockets | None) -> web.Application:
    async def healthz(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    async def readyz(_: web.Request) -> web.Response:
        state = await readiness(world, sockets)
        return web.json_response(state, status=200 if all(state.values()) else 503)

    site = web.Application(client_max_size=slack.MOST_BYTES)
    if settings.signing_secret:
        site.router.add_post("/slack/events", slack.Guard(app, settings.signing_secret.reveal()).handle)
    site.router.add_get("/healthz", healthz)
    site.router.add_get("/readyz", readyz)
    return site


async def readiness(world: World, sockets: slack.Sockets | None) -> Mapping[str, bool]:
    """Whether each store, and Slack's socket where there is one, can be reached now."""
    state = {"sql": True, "redis": True}
    try:
        await world.ledger.now()
    except Unavailable:
        state["sql"] = False
    try:
        await world.leases.get("readiness")
    except Unavailable:
        state["redis"] = False
    if sockets is not None:
        state["socket"] = await sockets.connected()
    return state


async def _sweep(world: World, ledger: SqlLedger, seconds: float) -> None:
    """The janitor of actions: what timers and claims should have settled by now."""
    sweeps = 0
    while True:
        try:
            await sweep.overdue(world)
            await sweep.standing_still(world)
            await ledger.checkpoint()
            if sweeps % PURGE_EVERY == 0:
                await ledger.purge(await ledger.now() - KEEP_INBOX)
        except Unavailable as error:
            log.warning("the janitor will try again: %s", error)
        except Exception:
            log.exception("the janitor will try again")
        sweeps += 1
        await asyncio.sleep(seconds)


async def _background(stack: AsyncExitStack, work: Any) -> None:
    task = asyncio.create_task(work)

    async def end() -> None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    stack.push_async_callback(end)


async def serve(settings: Settings, roles: frozenset[str] = ALL, rig: Rig = RIG) -> None:
    """Serve until SIGTERM or SIGINT, then finish what runs."""
    stop = asyncio.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    async with made(settings, roles, rig) as parts:
        gc.freeze()  # a full collection over all that was imported and made would stop us for 0.1 s
        if "web" in roles:
            runner = web.AppRunner(parts.web, access_log=None)
            await runner.setup()
            await web.TCPSite(runner, settings.host, settings.port).start()
            log.info("listening on port %s", settings.port)
            await stop.wait()
            await runner.cleanup()
        else:
            await stop.wait()
