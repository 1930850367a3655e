"""`/mcp` on the site: streamable HTTP of the SDK's own session manager, behind the API's front door."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ListToolsResult, PaginatedRequestParams

from gate.access import Token
from gate.offers import offered
from gate.world import Unavailable
from handlers.api import intake
from handlers.api.feed import Feed
from handlers.api.front import AGAIN, BUSY, HEADERS, Front
from handlers.api.gateway import bridge
from handlers.api.gateway.calls import CALLER, Calls, Context, caller_of, channel_of
from handlers.api.gateway.listing import ASK, INSTRUCTIONS, tool
from handlers.api.gateway.waiting import Caller
from handlers.api.ports import Office
from handlers.api.problems import Problem

PATH = "/mcp"
NAME, VERSION = "countersign", "1"
MOST_BYTES = 4 * intake.MOST_BYTES  # the arguments in it can have a quarter of that, by the gate's own rule
# Of clients of the handshake era, in one process: more than one token can open, at its rate, before its first ones end.
MOST_SESSIONS = 2000
IDLE = 300.0  # seconds; a client that listens is not idle


def server(office: Office, feed: Feed) -> Server[Any]:
    """The MCP server of one office."""
    calls = Calls(office, feed)

    async def listing(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        world, token = office.world, caller_of(ctx).token
        known = offered(world.tools.specs(), world.policy, channel_of(token))
        return ListToolsResult(tools=[*map(tool, known.values()), ASK])

    return Server(
        NAME,
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=listing,
        on_call_tool=calls.call,
        get_tool_input_schema=lambda name: (
            None
        ),  # arguments come in the body; copies in headers decide nothing
    )


class Gateway:
    """The route. Its manager lives in a task of its own: anyio's scopes must be left where they were entered."""

    def __init__(self, office: Office, front: Front, feed: Feed) -> None:
        self._front = front
        # No check of the Host or Origin header: a page in a browser has no token, and none goes with its requests.
        self._manager = StreamableHTTPSessionManager(
            server(office, feed),
            max_request_body_size=MOST_BYTES,
            max_sessions=MOST_SESSIONS,
            session_idle_timeout=IDLE,
        )
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One request of a client."""
        try:
            token = await self._front.admitted(request)
            await self._front.person_of(token)
        except Problem as found:
            return refusal(found)
        except Unavailable:
            return refusal(Problem(503, "unavailable", BUSY, headers=AGAIN))
        await self._open()
        gone = asyncio.Event()
        more = {CALLER: Caller(token, gone), "user": user(token)}
        return await bridge.serve(self._manager.asgi_app, request, gone, more)

    async def close(self, _: web.Application) -> None:
        """End all sessions."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def _open(self) -> None:
        if self._task is None:
            ready = asyncio.Event()
            self._task = asyncio.create_task(self._run(ready), name="mcp gateway")
            self._ready = ready
        await self._ready.wait()

    async def _run(self, ready: asyncio.Event) -> None:
        async with self._manager.run():
            ready.set()
            await self._stop.wait()


def user(token: Token) -> AuthenticatedUser:
    """Whose session it is: the manager gives a session to no other token."""
    return AuthenticatedUser(AccessToken(token="", client_id=token.id, scopes=[]))


def refusal(found: Problem) -> web.Response:
    """A problem as MCP clients read it, so that its sentence reaches the person in front of them."""
    code = INTERNAL_ERROR if found.status >= 500 else INVALID_REQUEST
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": found.detail}}
    headers = {**HEADERS, **found.headers}
    return web.Response(
        status=found.status, text=intake.plain_json(body), content_type="application/json", headers=headers
    )
