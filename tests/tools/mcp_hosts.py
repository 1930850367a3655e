"""MCP hosts for tests: over real servers, with short timeouts."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tools.mcp.client import Host, HostOptions
from tools.mcp.connection import Timeouts
from tools.mcp.server_config import ServerConfig

RAW = Path(__file__).with_name("raw_server.py")
QUICK = Timeouts(connect=20, listing=5, health_check=60, reconnect=20, first_retry=0.05, longest_retry=0.4)


def raw(
    name: str = "raw", *, timeout: float = 30, concurrency: int = 8, mode: str = "legacy", **options: Any
) -> ServerConfig:
    """The configuration of a server that misbehaves as `options` say; see raw_server.py."""
    return ServerConfig(
        name=name,
        command=sys.executable,
        args=("-S", str(RAW), json.dumps(options)),
        mode=mode,
        timeout=timeout,
        concurrency=concurrency,
        recipes=options.get("recipes", ""),
    )


@asynccontextmanager
async def hosting(
    logs: Path, *servers: ServerConfig, wait: float = 20, timeouts: Timeouts = QUICK, **options: Any
) -> AsyncIterator[Host]:
    """A started host whose servers have finished their first connection attempt."""
    host = Host(servers, HostOptions(logs=logs, timeouts=timeouts, **options))
    await host.start(wait)
    try:
        yield host
    finally:
        await host.stop()


def trace_count(trace: Path, word: str) -> int:
    """How many lines of a raw server's trace are this word."""
    return trace.read_text().split("\n").count(word)


async def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    """Poll until the condition holds; raises TimeoutError after `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition may be outside this process
            await asyncio.sleep(0.01)


def state(host: Host, name: str = "raw") -> str:
    """The connection state of one server."""
    return next(status.state for status in host.servers() if status.name == name)
