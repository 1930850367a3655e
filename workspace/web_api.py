"""The door of the Web API: reads the arguments, checks the token, meets the scripted faults, answers."""

from __future__ import annotations

import asyncio
import json
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
        if fault is None:
            return self._respond(method, request, args)
        return await self._faulty(fault, method, request, args)

    def _limited(self, method: str, args: Args) -> Fault | None:
        if not self._parts.rules.rate_limits:
            return None
        wait = self._rates.wait(method, str(args.get("channel", "")))
        return RateLimited(wait) if wait else None

    def _respond(self, method: str, request: web.Request, args: Args) -> web.Response:
        try:
            self._admit(method, request, args)
            body = {"ok": True, **METHODS[method](self._parts, args)}
        except SlackError as refusal:
            body = refusal.body()
        self._note(method, args, body)
        headers = {"x-oauth-scopes": self._parts.installed.scopes}
        return web.json_response(body, headers=headers)

    def _admit(self, method: str, request: web.Request, args: Args) -> None:
        """The token must be there and of the right kind. It is dropped from the arguments here."""
        header = request.headers.get("Authorization", "")
        given = args.pop("token", None) or header.removeprefix("Bearer ")
        token = header.removeprefix("Bearer ") or given
        if not token:
            raise SlackError("not_authed")
        if token not in (self._parts.installed.bot_token, self._parts.installed.app_token):
            raise SlackError("invalid_auth")
        if (token == self._parts.installed.app_token) != (method in APP_TOKEN_METHODS):
            raise SlackError("not_allowed_token_type")
        if method not in METHODS:
            raise SlackError("unknown_method", req_method=method)

    def _note(self, method: str, args: Args, body: Any) -> None:
        shown = {key: value for key, value in args.items() if key != "token"}
        entry = Entry(self._parts.state.clock(), "call", method, shown, body)
        self._parts.delivery.journal.write(entry)
        self._parts.state.changed()

    async def _faulty(
        self, fault: Fault, method: str, request: web.Request, args: Args
    ) -> web.StreamResponse:
        match fault:
            case Slow(seconds):
                await asyncio.sleep(seconds)
                return self._respond(method, request, args)
            case Dropped(accepted) | Silent(accepted) if accepted:
                self._respond(method, request, args)
            case _:
                self._note(method, args, {"fault": repr(fault)})
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
        args = await arguments(request)
        fault = self._parts.faults.take("response_url")
        if isinstance(fault, ServerError | BadGateway):
            return web.Response(status=500, text="internal error")
        try:
            respond(self._parts, request.match_info["key"], args)
        except SlackError as refusal:
            self._note("response_url", args, refusal.body())
            gone = refusal.code in ("used_url", "expired_url")
            return web.Response(status=404 if gone else 400, text=refusal.code)
        self._note("response_url", args, {"ok": True})
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
