"""MCP servers connected for a moment, for the operator's commands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

from bot.cli.main import CommandError
from bot.settings import Settings
from bot.wiring import bundled
from gate.rules.tool import Pin
from tools.mcp.client import Host, HostOptions, InMemoryPins
from tools.mcp.server_config import INPROC, ServerConfig
from tools.recipes.reader import load_recipes

CONNECT_SECONDS = 30.0


@asynccontextmanager
async def connected(
    settings: Settings, servers: Sequence[ServerConfig], known: Mapping[tuple[str, str], Pin]
) -> AsyncIterator[Host]:
    """A host of these servers after their first try. What it sees for the first time is not kept."""
    setting = HostOptions(
        logs=settings.home / "logs",
        inproc={config.name: bundled(config) for config in servers if config.transport == INPROC},
        recipes=await asyncio.to_thread(load_recipes, settings.recipes),
        pins=InMemoryPins(known.values()),
    )
    host = Host(servers, setting)
    await host.start(CONNECT_SECONDS)
    try:
        yield host
    finally:
        await host.stop()


def named(settings: Settings, server: str) -> ServerConfig:
    """The configuration of one server. Raises CommandError when there is none."""
    for config in settings.servers:
        if config.name == server:
            return config
    known = ", ".join(config.name for config in settings.servers) or "none"
    raise CommandError(f"There is no server “{server}” in the configuration; there are: {known}.")
