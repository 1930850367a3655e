"""The latency of a read through the gate, with its audit entry, and of the same call to the MCP client itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from mcp import Client
from mcp.server import MCPServer
from sqlalchemy import text

from benchmarks.measure import Row, heading, line, median, timed
from benchmarks.service import KEY, Bench
from bot.settings import Settings
from gate.actions.prepare import Answered, CallRequest, prepare
from gate.rules.action import Session
from gate.rules.planner_port import Call
from gate.rules.ports import World
from gate.rules.tool import Trust
from servers.filesystem import server as filesystem
from storage.database import open_engine
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from tests.gate.gate_setup import ANN, scene
from tools.mcp.client import Host, HostOptions
from tools.mcp.server_config import ServerConfig

GOAL = 2.0  # times the call itself
ARGS = {"path": "note.md"}
SERVER = ServerConfig(name="filesystem", inproc="given", trust=Trust.BUNDLED)
TITLE = "read: one read_file at a time, server in the same process, p50"
Once = Callable[[int], Awaitable[object]]


async def run(bench: Bench, quick: bool) -> None:
    print(heading(TITLE))
    times = 100 if quick else 1000
    for database in bench.databases:
        async with _ways(await bench.new_settings(database)) as (direct, commit, gate):
            straight, bare, gated = await _interleaved(times, direct, commit, gate)
        print(line(Row(f"{database}: straight to the client", straight, n=times)))
        print(line(Row(f"{database}: a bare INSERT and COMMIT", bare, n=times)))
        print(line(Row(f"{database}: through the gate", gated, n=times, baseline=straight)))
        both = straight + bare
        print(line(Row(f"{database}: against call and bare commit", gated, n=times, baseline=both)))
        ratio = Row(f"{database}: gate / straight", gated / straight, "×", n=times, goal=GOAL)
        without = Row(f"{database}: the same without the disk", (gated - bare) / straight, "×", n=times)
        print(line(ratio), line(without), sep="\n", flush=True)


async def _interleaved(times: int, *ways: Once) -> list[float]:
    """The median of each variant, in ms. The variants alternate, so that they run under the same load."""
    took: list[list[float]] = [[] for _ in ways]
    for number in range(-20, times):
        for way, into in zip(ways, took, strict=True):
            with timed(into if number >= 0 else []):
                await way(number)
    return [median(one) for one in took]


@asynccontextmanager
async def _ways(settings: Settings) -> AsyncIterator[tuple[Once, Once, Once]]:
    """The variants: the call alone, a commit alone, and the read through the gate."""
    root = settings.home / "files"
    (root / "note.md").write_text("what people write\n" * 40)
    server, sql, redis = (
        filesystem([root]),
        open_engine(settings.database_url),
        open_redis(settings.redis_url or ""),
    )
    async with sql.begin() as connection:
        await connection.execute(text("CREATE TABLE bare (id INTEGER, said TEXT)"))
    world = scene(SqlLedger(sql, _nothing, KEY.encode()), RedisLeases(redis), []).world
    async with Client(server) as client, _hosted(world, server, settings.home) as hosted:

        async def direct(number: int) -> object:
            return await client.call_tool("read_file", ARGS)

        async def commit(number: int) -> object:
            async with sql.begin() as connection:
                return await connection.execute(text("INSERT INTO bare VALUES (:n, 'x')"), {"n": number})

        async def gate(number: int) -> object:
            session = Session("T1", "C_OPS", "1700000000.000100")
            asked = CallRequest(f"read{number}", session, ANN, Call("filesystem", "read_file", ARGS))
            answered = await prepare(hosted, asked)
            assert isinstance(answered, Answered), answered
            return answered

        yield direct, commit, gate
    await redis.aclose()
    await sql.dispose()


@asynccontextmanager
async def _hosted(world: World, server: MCPServer, home: Path) -> AsyncIterator[World]:
    """The world with a real MCP host for this server."""
    host = Host([SERVER], HostOptions(home / "logs", {"filesystem": server}))
    await host.start(10)
    try:
        yield replace(world, tools=host)
    finally:
        await host.stop()


def _nothing(*_: object) -> None:
    """A read enqueues no workflow."""
    raise AssertionError
