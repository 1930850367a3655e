"""Runs an ASGI application under aiohttp, with notice of disconnected clients."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from aiohttp import web

from handlers.api.request import BODY_SECONDS

Message = MutableMapping[str, Any]
App = Callable[
    [dict[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
POLL_SECONDS = 0.2  # between checks whether the client is still connected
GRACE_SECONDS = 5.0  # for the application to end after the client has disconnected


async def serve(
    app: App, request: web.Request, disconnected: asyncio.Event, extra_scope: Mapping[str, Any]
) -> web.StreamResponse:
    """The response of the application. `gone` is set as soon as the client has left; `more` goes into the scope."""
    exchange = _Exchange(request, disconnected)
    watch = asyncio.create_task(_watch(request, disconnected))
    work = asyncio.ensure_future(app({**scope(request), **extra_scope}, exchange.receive, exchange.send))
    try:
        # aiohttp may cancel the handler on a disconnect. The application gets http.disconnect and ends itself.
        await asyncio.shield(work)
    except asyncio.CancelledError:
        disconnected.set()
        await asyncio.wait({work}, timeout=GRACE_SECONDS)
        raise
    finally:
        await cancel_and_wait(work)
        await cancel_and_wait(watch)
    return exchange.response


async def cancel_and_wait(task: asyncio.Future[Any]) -> None:
    """Cancels the task unless it is done, and waits for it."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def scope(request: web.Request) -> dict[str, Any]:
    """The ASGI scope of the request."""
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": f"{request.version.major}.{request.version.minor}",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.raw_path.partition("?")[0].encode("ascii", "replace"),
        "root_path": "",
        "query_string": request.query_string.encode("utf-8", "replace"),
        "headers": [(name.lower(), value) for name, value in request.raw_headers],
        "client": None,
        "server": None,
    }


class _Exchange:
    """The `receive` and `send` callables of one request."""

    def __init__(self, request: web.Request, disconnected: asyncio.Event) -> None:
        self._request, self._gone = request, disconnected
        self._body_complete = False
        self._deadline = asyncio.get_running_loop().time() + BODY_SECONDS
        self.response = web.StreamResponse()

    async def receive(self) -> Message:
        if self._body_complete:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        try:
            async with asyncio.timeout_at(self._deadline):
                chunk = await self._request.content.readany()
        except TimeoutError:
            self._gone.set()
            return {"type": "http.disconnect"}
        self._body_complete = not chunk
        return {"type": "http.request", "body": chunk, "more_body": not self._body_complete}

    async def send(self, message: Message) -> None:
        try:
            await self._send(message)
        except ConnectionResetError:
            self._gone.set()

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [
                (name.decode("latin-1"), value.decode("latin-1")) for name, value in message["headers"]
            ]
            self.response = web.StreamResponse(status=message["status"], headers=headers)
            await self.response.prepare(self._request)
            return
        if message.get("body"):
            await self.response.write(message["body"])
        if not message.get("more_body"):
            await self.response.write_eof()


async def _watch(request: web.Request, disconnected: asyncio.Event) -> None:
    """Sets the event when the client disconnects. Polls, as aiohttp does not notify the handler."""
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(POLL_SECONDS)
    disconnected.set()
