"""The door of the Web API: reads the arguments, checks the token, meets the scripted faults, answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from workspace.errors import SlackError
from workspace.faults import BadGateway, Dropped, Fault, RateLimited, Refused, ServerError, Silent, Slow
from workspace.journal import Entry
from workspace.methods import METHODS
from workspace.parts import Parts
from workspace.posting import respond
from workspace.rates import Rates

Args = dict[str, Any]
JSON_ARGS = ("blocks", "view", "attachments", "metadata", "prompts", "message")
APP_TOKEN_METHODS = ("apps.connections.open",)
HTML = "<html><body><h1>502 Bad Gateway</h1></body></html>"


@dataclass(frozen=True)
class Call:
    """One request: the method's name (or response_url) and its arguments."""

    name: str
    args: Args
    request: web.Request


Serve = Callable[[], web.Response]


class WebApi:
    """`closing` is set when the workspace stops, so that no answer keeps it waiting."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rates = Rates(parts.state.clock)
        self.closing = asyncio.Event()

    async def call(self, request: web.Request) -> web.StreamResponse:
        """`/api/{method}`"""
        method = request.match_info["method"]
        try:
            args = await arguments(request)
        except ValueError:
            return web.json_response(SlackError("invalid_json").body())
        fault = self._parts.faults.take(method) or self._limited(method, args)
        call = Call(method, args, request)
        return await self._with(fault, call, lambda: self._respond(call))

    def _limited(self, method: str, args: Args) -> Fault | None:
        if not self._parts.rules.rate_limits:
            return None
        wait = self._rates.wait(method, str(args.get("channel", "")))
        return RateLimited(wait) if wait else None

    def _respond(self, call: Call) -> web.Response:
        try:
            self._admit(call)
            body = {"ok": True, **METHODS[call.name](self._parts, call.args)}
        except SlackError as refusal:
            body = refusal.body()
        self._note(call, body)
        headers = {"x-oauth-scopes": self._parts.installed.scopes}
        return web.json_response(body, headers=headers)

    def _admit(self, call: Call) -> None:
        """The token must be there and of the right kind for the method."""
        header = call.request.headers.get("Authorization", "")
        token = header.removeprefix("Bearer ") or call.args.get("token")
        if not token:
            raise SlackError("not_authed")
        if token not in (self._parts.installed.bot_token, self._parts.installed.app_token):
            raise SlackError("invalid_auth")
        if (token == self._parts.installed.app_token) != (call.name in APP_TOKEN_METHODS):
            raise SlackError("not_allowed_token_type")
        if call.name not in METHODS:
            raise SlackError("unknown_method", req_method=call.name)

    def _note(self, call: Call, body: Any) -> None:
        shown = {key: value for key, value in call.args.items() if key != "token"}
        entry = Entry(self._parts.state.clock(), "call", call.name, shown, body)
        self._parts.delivery.journal.write(entry)
        self._parts.state.changed()

    async def _with(self, fault: Fault | None, call: Call, serve: Serve) -> web.StreamResponse:
        """The answer, or what the fault makes of it."""
        match fault:
            case None:
                return serve()
            case Slow(seconds):
                await asyncio.sleep(seconds)
                return serve()
            case Dropped(accepted) | Silent(accepted) if accepted:
                serve()
            case _:
                self._note(call, {"fault": repr(fault)})
        return await self._failing(fault, call.request)

    async def _failing(self, fault: Fault, request: web.Request) -> web.StreamResponse:
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
        """`/response/{key}`: what response_url in a payload points to."""
        try:
            args = await arguments(request)
        except ValueError:
            return web.Response(status=400, text="invalid_payload")
        call = Call("response_url", args, request)
        return await self._with(self._parts.faults.take(call.name), call, lambda: self._taken(call))

    def _taken(self, call: Call) -> web.Response:
        try:
            respond(self._parts, call.request.match_info["key"], call.args)
        except SlackError as refusal:
            self._note(call, refusal.body())
            gone = refusal.code in ("used_url", "expired_url")
            return web.Response(status=404 if gone else 400, text=refusal.code)
        self._note(call, {"ok": True})
        return web.Response(text="ok")


async def arguments(request: web.Request) -> Args:
    """Arguments from query, form or JSON. In the first two, the structured ones are JSON in a string."""
    texts: Args = dict(request.query)
    if request.content_type == "application/json":
        body = json.loads(await request.text() or "{}")
        return {**_decoded(texts), **body} if isinstance(body, dict) else _decoded(texts)
    texts |= dict(await request.post())
    return _decoded(texts)


def _decoded(texts: Args) -> Args:
    decoded = dict(texts)
    for name in JSON_ARGS:
        if isinstance(decoded.get(name), str):
            try:
                decoded[name] = json.loads(decoded[name])
            except ValueError:
                decoded[name] = {"type": "not JSON"}
    return decoded
