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
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web
from mcp.server import MCPServer
from redis.asyncio import Redis
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient
from sqlalchemy.ext.asyncio import AsyncEngine

from bot import data_folder, slack_app
from bot.api import serve_api
from bot.audit_key import fitting_key
from bot.cards import Cards
from bot.connections import listening
from bot.embedded_redis import embedded_redis
from bot.engine import Engine
from bot.heartbeats import RHYTHM, Rhythm
from bot.job_routes import jobs
from bot.memory import return_large_blocks
from bot.message_streams import Streams
from bot.planner import planner, sampler
from bot.policy_file import load_policy, log_rules_about_nothing, trusted
from bot.result_judge import judge
from bot.row_sealing import seal_once
from bot.settings import Settings
from bot.slack_messages import Hints
from bot.slack_users import SlackPeople, groups_of
from bot.startup import NO_TABLES, NotStarted, report_database_errors, require_redis
from bot.watchdog import Watchdog
from bot.webhook_audience import deliveries
from gate.actions import expiry, server_questions
from gate.rules.jobs import OWNER, person_of
from gate.rules.policy import Policy
from gate.rules.ports import Unavailable, World
from gate.rules.tool import Pin
from gate.tasks.pending import waiting_for
from handlers.slack.events import register
from servers.sandbox.calling import SANDBOX
from storage.database import open_engine, serve_alone
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.migrate import is_current, migrate
from storage.redis_reviews import RedisPending
from storage.slack_users import PeopleStore
from storage.tool_pins import PinStore
from tools.mcp.client import Host, HostOptions
from tools.mcp.server_config import INPROC, ServerConfig
from tools.phrases.help import guide
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases
from tools.recipes.reader import load_recipes
from views.preview import fits, reviewable
from views.task_plan import shows

log = logging.getLogger(__name__)

ALL = frozenset({"web", "worker"})
PURGE_EVERY = 3600.0  # seconds
RESTART_EVERY = 10.0  # seconds between two looks for runs that are lost, and questions whose call is
MIN_SWEEP_GAP = 0.05  # seconds between two sweeps at the least, however much is due one after the other
KEEP_INBOX = timedelta(hours=24)
DRAIN_SECONDS = 20.0
FINISH_SECONDS = 2.0  # for the runs of messages that have been acknowledged
CONNECT_SECONDS = 10.0  # for the MCP servers' first try; the rest goes on in the background


class SystemClock:
    """The clock of the machine, for times that are shown. Decisions ask the database's."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def uptime(self) -> float:
        # The first one also counts while the machine sleeps; macOS does not have it.
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

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
    sweep: float = 2.0  # seconds between two looks for what is due
    dress: Callable[[World], World] = lambda world: world  # what flows are given instead of the bare ports


RIG = Rig()


@dataclass(frozen=True, slots=True)
class Parts:
    """What was made, for the serving process and for tests."""

    world: World
    engine: Engine
    host: Host
    web: web.Application
    sockets: slack_app.Sockets | None


@asynccontextmanager
async def build(settings: Settings, roles: frozenset[str] = ALL, rig: Rig = RIG) -> AsyncIterator[Parts]:
    """Everything, started; taken down in the opposite order. Raises what stands in the way, as a sentence."""
    async with AsyncExitStack() as stack:
        sql, ledger, engine = await _sql(stack, settings, rig.rhythm)
        people_store, pins = PeopleStore(sql, ledger.seals), PinStore(sql, ledger.seals)
        redis = await _redis(stack, settings)
        policy = load_policy(settings.policy)
        host = await _host(stack, settings, policy, pins)
        fast, patient, me = await _slack(stack, settings, roles)
        cards = Cards(patient, ledger, streams=Streams(fast))
        stack.push_async_callback(cards.statuses.stop)
        ledger.draw_now, ledger.signal = cards.draw_now, cards.statuses.signal
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
            address=me.url or "",
            pending=RedisPending(redis, settings.namespace),
        )
        world = rig.dress(world)
        cards.undecided = partial(waiting_for, world)
        hooks = deliveries(world, ledger, sql, settings.webhooks)
        await engine.start({**jobs(world), **hooks.jobs()}, work="worker" in roles)
        stack.push_async_callback(engine.drain, DRAIN_SECONDS)
        stack.push_async_callback(ledger.deferred.finish, FINISH_SECONDS)
        if "worker" in roles:
            await _background(stack, _sweep(world, ledger, engine, rig.sweep))
            await _background(stack, hooks.look())
        app = slack_app.bolt(fast, settings.signing_secret.reveal() if settings.signing_secret else "", me)
        register(app, world, Hints(fast, cards), str(me.bot_user_id))
        sockets = await _sockets(stack, settings, app) if "web" in roles else None
        site = _web(settings, app, world, sockets, dog := Watchdog())
        serve_api(site, world, ledger, cards, sql, redis, settings.api)
        stack.enter_context(dog.guarding())
        yield Parts(world, engine, host, site, sockets)


async def _slack(
    stack: AsyncExitStack, settings: Settings, roles: frozenset[str]
) -> tuple[AsyncWebClient, AsyncWebClient, AuthorizeResult]:
    """A client that gives up quickly, one that waits out rate limits, and who we are; its tokens have been tried."""
    session = await stack.enter_async_context(slack_app.http_session())
    settings.require_slack()
    token = settings.bot_token.reveal() if settings.bot_token else ""
    fast, patient = slack_app.clients(session, token, settings.api_url)
    me = await slack_app.identity(fast, token)
    await slack_app.may_connect(fast, settings.app_token if "web" in roles else None)
    return fast, patient, me


async def _redis(stack: AsyncExitStack, settings: Settings) -> Redis:
    """The operator's Redis, or one of our own."""
    url = settings.redis_url
    if not url:
        url = (await stack.enter_async_context(embedded_redis(settings.home / "redis"))).url
    redis = open_redis(url)
    stack.push_async_callback(redis.aclose)
    await require_redis(redis)
    return redis


async def _sql(
    stack: AsyncExitStack, settings: Settings, rhythm: Rhythm
) -> tuple[AsyncEngine, SqlLedger, Engine]:
    """The ledger and the durable engine, in one database."""
    await asyncio.to_thread(data_folder.prepare, settings)
    held = serve_alone(settings.database_url)
    if held is not None:
        stack.callback(held.close)
    with report_database_errors(settings):
        if held is not None:
            await migrate(settings.database_url)
        sql = open_engine(settings.database_url)
        stack.push_async_callback(sql.dispose)
        if not await is_current(sql):
            raise NotStarted(NO_TABLES)
        key = (await fitting_key(settings, sql)).current
        if await seal_once(settings, sql, key):
            log.warning("The rows of the version before have their MACs; what waited there is asked again.")
    executor = f"{socket.gethostname()}-{secrets.token_hex(6)}"
    engine = Engine(settings.database_url, executor, rhythm=rhythm)
    ledger = SqlLedger(sql, engine.enqueue, key, wake=engine.wake, limits=settings.limits)
    return sql, ledger, engine


class _Book:
    """The pins in SQL, as the host wants them."""

    def __init__(self, pins: PinStore) -> None:
        self._pins = pins

    async def of(self, server: str, tools: Collection[str]) -> Sequence[Pin]:
        return await self._pins.of(server, tools)

    async def first_seen(self, server: str, definitions: Mapping[str, str]) -> None:
        await self._pins.first_seen(server, definitions, datetime.now(UTC))


async def _host(stack: AsyncExitStack, settings: Settings, policy: Policy, pins: PinStore) -> Host:
    servers = trusted(settings.servers, policy)
    setting = HostOptions(
        logs=settings.home / "logs",
        inproc={config.name: bundled(config) for config in servers if config.transport == INPROC},
        recipes=load_recipes(settings.recipes),
        pins=_Book(pins),
        sampler=await sampler(stack, settings.model, servers, settings.sampling),
        sampling_bounds=settings.sampling,
    )
    SANDBOX.tell_apart(lambda: person_of(OWNER.get()))
    host = Host(servers, setting)
    await host.start(CONNECT_SECONDS)
    log_rules_about_nothing(policy, host)
    stack.push_async_callback(host.stop)
    stack.push_async_callback(asyncio.to_thread, SANDBOX.stop)  # files that are being opened hold nobody up
    return host


def bundled(config: ServerConfig) -> MCPServer:
    """A server of ours, in this process: `servers.filesystem:server`, called with its `args` as paths."""
    module, _, factory = config.inproc.partition(":")
    made: MCPServer = getattr(importlib.import_module(module), factory)([Path(a) for a in config.args])
    return made


async def _sockets(stack: AsyncExitStack, settings: Settings, app: Any) -> slack_app.Sockets | None:
    if settings.app_token is None:
        return None
    sockets = slack_app.Sockets(app, settings.app_token.reveal())
    await sockets.start()
    stack.push_async_callback(sockets.stop)
    return sockets


def _web(
    settings: Settings, app: Any, world: World, sockets: slack_app.Sockets | None, dog: Watchdog
) -> web.Application:
    async def metrics(_: web.Request) -> web.Response:
        return web.Response(text=dog.metrics(), content_type="text/plain")

    async def healthz(_: web.Request) -> web.Response:
        return web.json_response({"ok": True})

    looking: list[asyncio.Task[Mapping[str, bool]]] = []

    async def readyz(_: web.Request) -> web.Response:
        # Anybody may ask, so those who ask at the same time share one look at the stores.
        if not looking or looking[0].done():
            looking[:] = [asyncio.create_task(readiness(world, sockets))]
        state = await asyncio.shield(looking[0])
        return web.json_response(state, status=200 if all(state.values()) else 503)

    site = web.Application(client_max_size=slack_app.MOST_BYTES)
    if settings.signing_secret:
        site.router.add_post("/slack/events", slack_app.Guard(app, settings.signing_secret.reveal()).handle)
    site.router.add_get("/metrics", metrics)
    site.router.add_get("/healthz", healthz)
    site.router.add_get("/readyz", readyz)
    return site


async def readiness(world: World, sockets: slack_app.Sockets | None) -> Mapping[str, bool]:
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


async def _sweep(world: World, ledger: SqlLedger, engine: Engine, seconds: float) -> None:
    """Settle what is due, every so many seconds, and what will be due before the next time at its very moment."""
    purged = restarted = float("-inf")
    while True:
        pause = seconds
        try:
            found = await ledger.due(seconds)
            await expiry.process_items(world, [one for one in found if one.left <= 0])
            pause = max(MIN_SWEEP_GAP, min([seconds, *(one.left for one in found if one.left > 0)]))
            await ledger.checkpoint()
            if time.monotonic() - restarted > RESTART_EVERY:
                restarted = time.monotonic()
                await expiry.restart_given_up(world, await engine.given_up("card"))
                await server_questions.close_overdue(world)
            if time.monotonic() - purged > PURGE_EVERY:
                await ledger.purge(await ledger.now() - KEEP_INBOX)
                purged = time.monotonic()
        except Unavailable as error:
            log.warning("the sweep will try again: %s", error)
        except Exception:
            log.exception("the sweep will try again")
        await asyncio.sleep(pause)


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
    return_large_blocks()
    async with build(settings, roles, rig) as parts:
        gc.freeze()  # a full collection over all that was imported and made would stop us for 0.1 s
        if "web" not in roles:
            await stop.wait()
            return
        async with listening(parts.web, settings.host, settings.port, settings.http) as port:
            log.info("listening on port %s", port)
            await stop.wait()
