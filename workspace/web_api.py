"""HTTP endpoints of the Web API: arguments, authentication, rate limits, injected faults."""

from __future__ import annotations

import asyncio
import json
import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from workspace.context import Context
from workspace.delivery import Entry
from workspace.faults import (
    BadGateway,
    Dropped,
    Fault,
    RateLimited,
    Refused,
    ServerError,
    Silent,
    SlackError,
    Slow,
)
from workspace.methods import METHODS
from workspace.posting import respond
from workspace.state import Clock

Args = dict[str, Any]
JSON_ARGS = ("blocks", "view", "attachments", "metadata", "prompts", "message", "chunks")
APP_TOKEN_METHODS = ("apps.connections.open",)
HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"

RATE_TIERS: Mapping[str, int] = {  # calls per 60 seconds
    "chat.update": 50,
    "chat.delete": 50,
    "chat.startStream": 20,
    "chat.appendStream": 100,
    "chat.stopStream": 20,
    "conversations.replies": 50,
    "conversations.history": 50,
    "agents.sessions.setStatus": 50,
    "reactions.add": 50,
    "chat.postEphemeral": 100,
    "views.open": 100,
    "views.push": 100,
    "views.update": 100,
    "views.publish": 100,
    "users.info": 100,
}
POSTS_PER_CHANNEL = 5  # in 5 seconds


@dataclass(frozen=True)
class Call:
    """One request: the method's name, or response_url, and its arguments."""

    name: str
    args: Args
    request: web.Request


Handle = Callable[[], web.Response]


class RateLimiter:
    """Slack's rate limits: a sliding window per method, and per channel for chat.postMessage."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._calls: defaultdict[tuple[str, str], deque[float]] = defaultdict(deque)

    def wait(self, method: str, channel: str) -> int:
        """Counts a call and returns 0, or returns the seconds to wait (not counted) when the limit is reached."""
        if method == "chat.postMessage":
            return self._count((method, channel), POSTS_PER_CHANNEL, float(POSTS_PER_CHANNEL))
        max_calls = RATE_TIERS.get(method)
        return self._count((method, ""), max_calls, 60.0) if max_calls else 0

    def _count(self, key: tuple[str, str], max_calls: int, window: float) -> int:
        now, calls = self._clock(), self._calls[key]
        while calls and calls[0] <= now - window:
            calls.popleft()
        if len(calls) >= max_calls:
            return max(1, math.ceil(calls[0] + window - now))
        calls.append(now)
        return 0


class WebApi:
    """The endpoints. `closing` is set when the workspace stops: it ends requests that are kept without a response."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._rate_limiter = RateLimiter(context.state.clock)
        self.closing = asyncio.Event()

    async def call(self, request: web.Request) -> web.StreamResponse:
        """`/api/{method}`"""
        method = request.match_info["method"]
        try:
            args = await arguments(request)
        except ValueError:
            return web.json_response(SlackError("invalid_json").body())
        fault = self._context.faults.next_call_fault(method) or self._rate_limit_fault(method, args)
        call = Call(method, args, request)
        return await self._apply_fault(fault, call, lambda: self._respond(call))

    def _rate_limit_fault(self, method: str, args: Args) -> Fault | None:
        if not self._context.options.rate_limits:
            return None
        wait = self._rate_limiter.wait(method, str(args.get("channel", "")))
        return RateLimited(wait) if wait else None

    def _respond(self, call: Call) -> web.Response:
        try:
            self._authorize(call)
            body = {"ok": True, **METHODS[call.name](self._context, call.args)}
        except SlackError as error:
            body = error.body()
        self._log(call, body)
        headers = {"x-oauth-scopes": self._context.installation.scopes}
        return web.json_response(body, headers=headers)

    def _authorize(self, call: Call) -> None:
        """Raises SlackError unless the request has a token of the kind that the method takes."""
        header = call.request.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ") or call.args.get("token")
        if not token:
            raise SlackError("not_authed")
        if token not in (self._context.installation.bot_token, self._context.installation.app_token):
            raise SlackError("invalid_auth")
        if (token == self._context.installation.app_token) != (call.name in APP_TOKEN_METHODS):
            raise SlackError("not_allowed_token_type")
        if call.name not in METHODS:
            raise SlackError("unknown_method", req_method=call.name)

    def _log(self, call: Call, body: Any) -> None:
        args = {key: value for key, value in call.args.items() if key != "token"}
        entry = Entry(self._context.state.clock(), "call", call.name, args, body)
        self._context.delivery.call_log.write(entry)
        self._context.state.changed()

    async def _apply_fault(self, fault: Fault | None, call: Call, handle: Handle) -> web.StreamResponse:
        """The response, with the fault applied."""
        match fault:
            case None:
                return handle()
            case Slow(seconds):
                await asyncio.sleep(seconds)
                return handle()
            case Dropped(accepted) | Silent(accepted) if accepted:
                handle()
            case _:
                self._log(call, {"fault": repr(fault)})
        return await self._fault_response(fault, call.request)

    async def _fault_response(self, fault: Fault, request: web.Request) -> web.StreamResponse:
        match fault:
            case RateLimited(seconds):
                body = {"ok": False, "error": "ratelimited"}
                return web.json_response(body, status=429, headers={"Retry-After": str(seconds)})
            case Refused(error):
                return web.json_response({"ok": False, "error": error})
            case ServerError():
                return web.Response(status=500, text="internal error")
            case BadGateway():
                return web.Response(status=502, text=HTML, content_type="text/html")
            case Silent():
                await self.closing.wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def response_url(self, request: web.Request) -> web.StreamResponse:
        """`/response/{key}`: the response_url of a payload."""
        try:
            args = await arguments(request)
        except ValueError:
            return web.Response(status=400, text="invalid_payload")
        call = Call("response_url", args, request)
        return await self._apply_fault(
            self._context.faults.next_call_fault(call.name), call, lambda: self._use_response_url(call)
        )

    def _use_response_url(self, call: Call) -> web.Response:
        try:
            respond(self._context, call.request.match_info["key"], call.args)
        except SlackError as error:
            self._log(call, error.body())
            gone = error.code in ("used_url", "expired_url")
            return web.Response(status=404 if gone else 400, text=error.code)
        self._log(call, {"ok": True})
        return web.Response(text="ok")


async def arguments(request: web.Request) -> Args:
    """The arguments in the query and in the form or JSON body. Structured ones may be JSON in a string.

    Raises ValueError for a body that is not JSON.
    """
    texts: Args = dict(request.query)
    if request.content_type == "application/json":
        body = json.loads(await request.text() or "{}")
        return {**_decode(texts), **body} if isinstance(body, dict) else _decode(texts)
    texts |= dict(await request.post())
    return _decode(texts)


def _decode(texts: Args) -> Args:
    decoded = dict(texts)
    for name in JSON_ARGS:
        if isinstance(decoded.get(name), str):
            try:
                decoded[name] = json.loads(decoded[name])
            except ValueError:
                decoded[name] = {"type": "not JSON"}
    return decoded
