"""Hosts for tests: over real servers, with times short enough to wait for."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tools.client import Host, Setting
from tools.connection import Times
from tools.servers import ServerConfig

RAW = Path(__file__).with_name("raw_server.py")
QUICK = Times(connect=20, listing=5, health=60, wait=20, delay=0.05, longest_delay=0.4)


def raw(
    name: str = "raw", *, timeout: float = 30, concurrency: int = 8, mode: str = "legacy", **options: Any
) -> ServerConfig:
    """A server that misbehaves as told; see raw_server.py."""
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
    logs: Path, *servers: ServerConfig, wait: float = 20, times: Times = QUICK, **setting: Any
) -> AsyncIterator[Host]:
    """A started host whose servers have had their first try."""
    host = Host(servers, Setting(logs=logs, times=times, **setting))
    await host.start(wait)
    try:
        yield host
    finally:
        await host.stop()


async def until(condition: Callable[[], Any], seconds: float = 20) -> None:
    """Poll until the condition holds; fail when it never does."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 - the condition may be outside this process
            await asyncio.sleep(0.01)


def state(host: Host, name: str = "raw") -> str:
    return next(status.state for status in host.servers() if status.name == name)
