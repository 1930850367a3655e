"""The latency of a read through the MCP gateway, over HTTP and stdio, and of the same call to the server itself."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.measure import Row, heading, line, median, timed
from benchmarks.service import KEY, Bench, running
from bot.settings import Settings
from gate.rules.access import Token, TokenKind, format_token
from storage.database import open_engine
from storage.row_macs import row_macs_of
from storage.tokens import TokenStore

ROOT = Path(__file__).parents[1]
TITLE = "gateway: one read_file at a time, p50"
ARGS = {"path": "note.md"}
TIMES = 100  # each way has a token of its own, which may make 300 requests a minute
WARM = 10
Once = Callable[[], Awaitable[object]]


async def run(bench: Bench, quick: bool) -> None:
    print(heading(TITLE))
    times = 20 if quick else TIMES
    for database in bench.databases:
        settings = await bench.new_settings(database)
        (settings.home / "files" / "note.md").write_text("what people write\n" * 40)
        async with running(settings, frozenset({"web", "worker"})) as (bot,):
            base = bot.url.removesuffix("/slack/events")
            async with _ways(settings, base) as ways:
                straight, http, stdio = await _interleaved(times, *ways)
        print(line(Row("straight to the server, standard input", straight, n=times)))
        print(line(Row(f"{database}: gateway over HTTP", http, n=times, baseline=straight)))
        print(
            line(Row(f"{database}: gateway over standard input", stdio, n=times, baseline=straight)),
            flush=True,
        )


async def _interleaved(times: int, *ways: Once) -> list[float]:
    """The median of each variant, in ms. The variants alternate, so that they run under the same load."""
    took: list[list[float]] = [[] for _ in ways]
    for number in range(-WARM, times):
        for way, into in zip(ways, took, strict=True):
            with timed(into if number >= 0 else []):
                await way()
    return [median(one) for one in took]


@asynccontextmanager
async def _ways(settings: Settings, base: str) -> AsyncIterator[tuple[Once, Once, Once]]:
    """The variants: the server alone, the gateway over HTTP, and `python -m bot gateway`."""
    token, other = [await api_token(settings.database_url, number) for number in range(2)]
    env = {"COUNTERSIGN_URL": base, "COUNTERSIGN_TOKEN": other}
    root = str(settings.home / "files")
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        alone = await enter(Client(_started("servers.filesystem", ["--root", root], {})))
        http = await enter(httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}))
        over_http = await enter(Client(streamable_http_client(f"{base}/mcp", http_client=http)))
        over_stdio = await enter(Client(_started("bot", ["gateway"], env)))
        yield (
            lambda: _read(alone, "read_file"),
            lambda: _read(over_http, "filesystem__read_file"),
            lambda: _read(over_stdio, "filesystem__read_file"),
        )


async def _read(client: Client, tool: str) -> None:
    result = await client.call_tool(tool, ARGS)
    if result.is_error:
        raise RuntimeError(str(result.content))


def _started(module: str, args: list[str], env: dict[str, str]) -> Any:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", module, *args], env=env, cwd=str(ROOT)
    )
    return stdio_client(command)


async def api_token(url: str, number: int) -> str:
    """An agent's token."""
    sql = open_engine(url)
    store = TokenStore(sql, row_macs_of(KEY.encode()))
    now = await store.now()
    made = Token(
        f"{number:016x}", TokenKind.AGENT, "bench", "T1", "U_ANN", ("C_OPS",), now, now + timedelta(days=1)
    )
    await store.add(made, f"{number:064x}")
    await sql.dispose()
    return format_token(made.kind, made.id, f"{number:064x}")
