"""The time from the commit of an event to its arrival at a thousand server-sent event clients."""

from __future__ import annotations

import asyncio
import json
import resource
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from aiohttp import ClientSession, ClientTimeout, TCPConnector

from benchmarks.service import KEY, Bench, running
from bot.http_limits import HttpLimits
from gate.rules.access import Token, TokenKind, format_token
from gate.rules.action import Session
from gate.rules.messages import LedgerEvent
from gate.rules.settings import Switches
from gate.tasks.create_task import new_task
from storage.database import open_engine
from storage.ledger import SqlLedger
from storage.row_macs import row_macs_of
from storage.tokens import TokenStore

LISTENERS, EVENTS, GAP = 1000, 20, 1.0  # seconds between two events, each of which concerns every listener
PER_TOKEN = 10
GOAL = 1.0  # seconds, p99
TEAM, USER, CHANNEL = "T1", "U_ANN", "C_OPS"
WAIT = 60.0


@dataclass
class Heard:
    """The events that arrived: the number of each, and the seconds since its commit."""

    delays: list[float] = field(default_factory=list)
    ready: int = 0


async def run(bench: Bench, quick: bool) -> None:
    """One process runs the bot; this process commits events and reads the streams."""
    listeners, events = (100, 10) if quick else (LISTENERS, EVENTS)
    _allow_sockets(listeners)
    for database in bench.databases:
        settings = replace(await bench.new_settings(database), http=_allowing(listeners))
        async with running(settings, frozenset({"web", "worker"})) as (bot,):
            base = bot.url.removesuffix("/slack/events")
            heard, took = await _measured(settings.database_url, base, listeners, events)
        _print(database, listeners, events, heard, took)


def _allowing(listeners: int) -> HttpLimits:
    """Limits for a crowd that comes from one address at once."""
    return HttpLimits(connections=2 * listeners + 100, per_address=2 * listeners)


def _allow_sockets(listeners: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = listeners + 500
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


async def _measured(url: str, base: str, listeners: int, events: int) -> tuple[Heard, float]:
    heard, ready = Heard(), asyncio.Event()
    async with AsyncExitStack() as stack:
        sql = open_engine(url)
        stack.push_async_callback(sql.dispose)
        task = await _task(sql)
        tokens = [await _token(sql, number) for number in range(-(-listeners // PER_TOKEN))]
        session = ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout(total=None))
        await stack.enter_async_context(session)
        listening = [
            asyncio.create_task(
                _listen(session, base, tokens[n // PER_TOKEN], events, heard, listeners, ready)
            )
            for n in range(listeners)
        ]
        async with asyncio.timeout(WAIT):
            await ready.wait()
        began = time.perf_counter()
        ledger = SqlLedger(sql, lambda connection, run: None, KEY.encode())
        for _ in range(events):
            async with ledger.begin() as tx:
                body = {"sent": time.monotonic()}
                tx.publish(LedgerEvent("task_changed", Session(TEAM, CHANNEL, "1.0"), task, body))
            await asyncio.sleep(GAP)
        async with asyncio.timeout(WAIT):
            await asyncio.gather(*listening)
        return heard, time.perf_counter() - began


async def _task(sql: Any) -> str:
    """A task of Ann that every client may see."""
    ledger = SqlLedger(sql, lambda connection, run: None, KEY.encode())
    made = new_task("fanout", Session(TEAM, CHANNEL, "1.0"), USER, "x", Switches(), await ledger.now())
    async with ledger.begin() as tx:
        await tx.open_task(made)
    return made.id


async def _token(sql: Any, number: int) -> str:
    """An API token of Ann."""
    store = TokenStore(sql, row_macs_of(KEY.encode()))
    now = await store.now()
    made = Token(
        f"{number:016x}", TokenKind.PERSON, "bench", TEAM, USER, (CHANNEL,), now, now + timedelta(days=1)
    )
    await store.add(made, f"{number:064x}")
    return format_token(made.kind, made.id, f"{number:064x}")


async def _listen(
    session: ClientSession,
    base: str,
    token: str,
    events: int,
    heard: Heard,
    listeners: int,
    ready: asyncio.Event,
) -> None:
    headers = {"Authorization": f"Bearer {token}"}
    async with session.get(f"{base}/events", headers=headers) as response:
        response.raise_for_status()
        await response.content.readuntil(b"retry: 2000\n\n")
        heard.ready += 1
        if heard.ready == listeners:
            ready.set()
        for _ in range(events):
            while not (line := await response.content.readline()).startswith(b"data: "):
                if not line:
                    raise EOFError("a stream ended early")
            heard.delays.append(time.monotonic() - json.loads(line[6:])["sent"])


def _print(database: str, listeners: int, events: int, heard: Heard, took: float) -> None:
    """Uses the system clock, which both processes share."""
    found = sorted(heard.delays)
    p50, p99 = found[len(found) // 2], found[int(len(found) * 0.99)]
    print(f"fanout, {database}: {listeners} listeners, {events} events, one every {GAP} s, in {took:.1f} s")
    print(
        f"  heard {len(found)} of {listeners * events}; after p50 {p50:.3f} s, p99 {p99:.3f} s, max {found[-1]:.3f} s"
    )
    print(f"  goal: all of them, p99 within {GOAL} s: {'met' if p99 <= GOAL else 'MISSED'}")
