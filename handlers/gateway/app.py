"""The endpoint `/mcp`: streamable HTTP by the MCP SDK's session manager, with the API's authentication."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import web
from mcp.server import Server
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, AuthorizationContext
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ListToolsResult, PaginatedRequestParams

from gate.rules.access import Token
from gate.rules.ports import Unavailable
from handlers.api import request as parsing
from handlers.api.admission import RETRY_SOON
from handlers.api.endpoint import BUSY, Endpoints
from handlers.api.event_stream import Feed
from handlers.api.ports import Services
from handlers.api.route import Problem
from handlers.gateway import messages, waiting
from handlers.gateway.calls import CALLER, Calls, Context, caller_of
from handlers.gateway.messages import RefusedMessage
from handlers.gateway.results import INSTRUCTIONS, tool_page
from handlers.gateway.waiting import Caller

PATH = "/mcp"
NAME, VERSION = "countersign", "1"
MAX_BODY_BYTES = 4 * parsing.MAX_BODY_BYTES  # the gate limits the arguments to a quarter of that
# Of clients with sessions, per process: more than one token can open at its rate before the first ones end.
MAX_SESSIONS = 2000
MAX_PERSON_SESSIONS = 500  # of them of one person, whatever the number of their tokens
TOO_MANY_SESSIONS = (
    "The tokens of this person have {most} sessions open. End one, or wait until some have ended."
)
SESSION_IDLE_SECONDS = 300.0  # a client with an open event stream is not idle


def server(services: Services, feed: Feed) -> Server[Any]:
    """The MCP server."""
    calls = Calls(services, feed)

    async def list_tools(ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        known = calls.offered(caller_of(ctx).token)
        return tool_page(list(known.values()), (params and params.cursor) or "")

    made: Server[Any] = Server(
        NAME,
        version=VERSION,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=calls.call,
        get_tool_input_schema=lambda name: (
            None
        ),  # arguments are read from the body; their copies in headers are ignored
    )
    made.middleware.clear()  # of OpenTelemetry, which nothing here uses: it logs a `baggage` of any length
    return made


class Sessions(StreamableHTTPSessionManager):
    """Bounds the sessions of one person. Clients that need no session, and requests in one, are not counted."""

    def _admit_session(self, requestor: AuthorizationContext | None) -> StreamableHTTPServerTransport | None:
        """Called by the SDK for a new session, under its lock. Raises Problem, which the route answers."""
        person = requestor["subject"] if requestor else None
        owners = [owner["subject"] for owner in self._session_owners.values()]
        if owners.count(person) >= MAX_PERSON_SESSIONS:
            detail = TOO_MANY_SESSIONS.format(most=MAX_PERSON_SESSIONS)
            raise Problem(429, "too_many_sessions", detail, headers={"Retry-After": "60"})
        return super()._admit_session(requestor)


class Gateway:
    """The route. The session manager runs in its own task, as anyio scopes must be exited in the task that entered
    them."""

    def __init__(self, services: Services, endpoints: Endpoints, feed: Feed) -> None:
        self._services, self._endpoints = services, endpoints
        self._server = server(services, feed)
        # Host and Origin are not checked: a browser page has no token and does not send one by itself.
        self._manager = Sessions(
            self._server,
            max_request_body_size=MAX_BODY_BYTES,
            max_sessions=MAX_SESSIONS,
            session_idle_timeout=SESSION_IDLE_SECONDS,
        )
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Handles one HTTP request."""
        try:
            async with self._endpoints.authenticated(request) as token:
                async with self._endpoints.turns.taken(token.user) as release_slot:
                    await parsing.load_person(self._services, token)
                    return await self._serve(request, token, release_slot)
        except Problem as found:
            return error_response(found)
        except RefusedMessage as refused:
            return messages.refusal(refused, request.headers)
        except Unavailable:
            return error_response(Problem(503, "unavailable", BUSY, headers=RETRY_SOON))

    async def _serve(
        self, request: web.Request, token: Token, release_slot: Callable[[], None]
    ) -> web.StreamResponse:
        raw = b""
        if request.method == "POST":
            raw = await parsing.read_body(request, MAX_BODY_BYTES)
            messages.check(raw, self._is_served)
        await self._start_sessions()
        if request.method == "GET":
            release_slot()  # it is a stream of what the server says by itself
        disconnected = asyncio.Event()
        extra_scope = {CALLER: Caller(token, disconnected, release_slot), "user": session_owner(token)}
        return await waiting.serve(self._manager.asgi_app, request, raw, disconnected, extra_scope)

    def _is_served(self, method: str) -> bool:
        return method == messages.INITIALIZE or self._server.get_request_handler(method) is not None

    async def close(self, _: web.Application) -> None:
        """Ends all sessions, at shutdown."""
        self._stop.set()
        if self._task is not None:
            await self._task

    async def _start_sessions(self) -> None:
        if self._task is None:
            ready = asyncio.Event()
            self._task = asyncio.create_task(self._run(ready), name="mcp gateway")
            self._ready = ready
        await self._ready.wait()

    async def _run(self, ready: asyncio.Event) -> None:
        async with self._manager.run():
            ready.set()
            await self._stop.wait()


def session_owner(token: Token) -> AuthenticatedUser:
    """The owner of a session: the manager refuses the session to other tokens. Its subject is the person."""
    person = f"{token.team}:{token.user}"
    return AuthenticatedUser(AccessToken(token="", client_id=token.id, scopes=[], subject=person))


def error_response(found: Problem) -> web.Response:
    """A problem as a JSON-RPC error."""
    code = INTERNAL_ERROR if found.status >= 500 else INVALID_REQUEST
    return messages.json_rpc_error(found.status, code, found.detail, headers=found.headers)
