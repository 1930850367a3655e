"""The baseline: a Bolt app that acknowledges an event and does nothing else."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.web.async_client import AsyncWebClient

from benchmarks.service import end_with_parent
from benchmarks.slack import BOT, INSTALLED, TEAM
from bot.slack import bolt


def serve(port: int) -> None:
    """A Bolt app that does nothing, in a process of its own."""
    end_with_parent()
    logging.basicConfig(level=logging.ERROR)
    asyncio.run(_serve(port))


async def _serve(port: int) -> None:
    me = AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_user_id=BOT, bot_id="BBOT", bot_token="xoxb-")
    app = bolt(AsyncWebClient(), INSTALLED.signing_secret, me)

    @app.event("app_mention")
    async def hear() -> None:
        """Nothing is stored and nothing done."""

    async def take(request: web.Request) -> web.Response:
        return await to_aiohttp_response(await app.async_dispatch(await to_bolt_request(request)))

    async def well(_: web.Request) -> web.Response:
        return web.Response()

    site = web.Application()
    site.router.add_post("/slack/events", take)
    site.router.add_get("/healthz", well)
    runner = web.AppRunner(site, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()
