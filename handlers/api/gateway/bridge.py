"""An ASGI application under aiohttp: one request goes in, its answer comes out, and it hears when the client goes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

from aiohttp import web

Message = MutableMapping[str, Any]
App = Callable[
    [dict[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
LOOK = 0.2  # seconds between two looks whether the client is still there
GRACE = 5.0  # seconds in which the application may end once the client has gone


async def serve(
    app: App, request: web.Request, gone: asyncio.Event, more: Mapping[str, Any]
) -> web.StreamResponse:
    """What the application answers. `gone` is set as soon as the client has left; `more` goes into the scope."""
    line = _Line(request, gone)
    watch = asyncio.create_task(_watch(request, gone))
    work = asyncio.ensure_future(app({**scope(request), **more}, line.receive, line.send))
    try:
        # Some servers cancel the handler when the client goes. The application is to hear of it and end by itself.
        await asyncio.shield(work)
    except asyncio.CancelledError:
        gone.set()
        await asyncio.wait({work}, timeout=GRACE)
        raise
    finally:
        await ended(work)
        await ended(watch)
    return line.response


async def ended(task: asyncio.Future[Any]) -> None:
    """Cancel it unless it is over, and wait until it is."""
    if not task.done():
        task.cancel()
        await asyncio.wait({task})


def scope(request: web.Request) -> dict[str, Any]:
    """The request as ASGI describes it."""
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


class _Line:
    """The two directions of one request."""

    def __init__(self, request: web.Request, gone: asyncio.Event) -> None:
        self._request, self._gone = request, gone
        self._whole = False
        self.response = web.StreamResponse()

    async def receive(self) -> Message:
        if self._whole:
            await self._gone.wait()
            return {"type": "http.disconnect"}
        chunk = await self._request.content.readany()
        self._whole = not chunk
        return {"type": "http.request", "body": chunk, "more_body": not self._whole}

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


async def _watch(request: web.Request, gone: asyncio.Event) -> None:
    """aiohttp tells a handler nothing of a client that goes: one has to look."""
    while request.transport is not None and not request.transport.is_closing():  # noqa: ASYNC110
        await asyncio.sleep(LOOK)
    gone.set()
