"""Joins real Bolt apps to a workspace, over sockets or signed HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.app.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from workspace.context import Installation
from workspace.delivery import Timing
from workspace.server import Workspace

INSTALLED = Installation()
HASTY = Timing(ack=0.7, retries=(0.0, 0.05, 0.1))
hastily = pytest.mark.parametrize("timing", [HASTY], ids=["hasty"])


def bolt_for(ws: Workspace) -> AsyncApp:
    """An app without listeners whose every call goes to this workspace."""
    client = AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])
    return AsyncApp(client=client, signing_secret=INSTALLED.signing_secret)


@dataclass
class Connected:
    """Joins apps to a workspace, and parts them at the end."""

    ws: Workspace
    mode: str
    _urls: list[str] = field(default_factory=list)
    _leave: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    async def join(self, app: AsyncApp) -> None:
        """Adds one replica."""
        if self.mode == "socket":
            handler = AsyncSocketModeHandler(app, INSTALLED.app_token)
            await handler.connect_async()
            self._leave.append(handler.close_async)
            await self.ws.settled(receivers=len(self._leave))
        else:
            self._urls.append(await self._serve(app))
            await self.ws.deliver_to(*self._urls)

    async def _serve(self, app: AsyncApp) -> str:
        async def receive(request: web.Request) -> web.Response:
            return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

        server = web.Application()
        server.router.add_post("/slack/events", receive)
        runner = web.AppRunner(server, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self._leave.append(runner.cleanup)
        return f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"

    async def part(self) -> None:
        for leave in self._leave:
            await leave()
