"""The line to one server, watched: whether a call left, whether it was turned away, and which tools are broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse, RequestId, Tool, methods
from pydantic import ValidationError

Item = SessionMessage | Exception
TURNED_AWAY = {401, 403, 404, 405, 429}  # an HTTP server says these before it looks at the message


CALL = "countersign.call"


@dataclass(slots=True)
class Flight:
    """What the line saw of one tool call. The evidence for whether it may have run."""

    sent: int = 0  # requests handed to the transport
    turned_away: str = ""  # why it certainly did not reach the tool
    answered: bool = False  # the server itself replied with an error


FLIGHT: ContextVar[Flight | None] = ContextVar("flight", default=None)


@dataclass
class Line:
    """A transport around a transport: `async with` it gives the streams that the SDK reads and writes.

    `on_end` is called when the server hangs up, which the SDK itself tells nobody (mcp.md pitfall 6).
    """

    inner: AbstractAsyncContextManager[Any]
    on_end: Callable[[], None]
    version: str = ""  # negotiated; set before tools are listed
    rejected: dict[str, str] = field(default_factory=dict)  # tool name -> why the SDK would refuse its list
    listed: set[str] = field(default_factory=set)  # every other tool name that went by
    flights: dict[RequestId, Flight] = field(default_factory=dict)

    async def __aenter__(self) -> tuple[_Incoming, _Outgoing]:
        read, write = await self.inner.__aenter__()
        return _Incoming(read, self), _Outgoing(write, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, trace)

    def saw(self, item: Item) -> Item:
        """Look at what came in; a list of tools leaves without the broken ones."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCError) and message.id is not None:
            flight = self.flights.pop(message.id, None)
            if flight:
                flight.answered = True
        elif isinstance(message, JSONRPCResponse):
            self.flights.pop(message.id, None)
            tools = message.result.get("tools")
            if isinstance(tools, list):
                message.result["tools"] = [tool for tool in tools if self._sound(tool)]
        return item

    def _sound(self, tool: Any) -> bool:
        """One bad tool would cost the whole list: the SDK validates a page as one (mcp.md pitfall 11)."""
        name = tool.get("name") if isinstance(tool, dict) else None
        label = name if isinstance(name, str) and name else "a tool without a name"
        try:
            Tool.model_validate(tool, by_name=False)
            methods.validate_server_result("tools/list", self.version, self._page(tool))
        except KeyError:  # a protocol version without rules of its own
            pass
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"] if not isinstance(step, int))
            self.rejected[label] = f"{where.removeprefix('tools.')}: {first['msg']}"
            return False
        self.listed.add(label)
        return True

    def _page(self, tool: Any) -> dict[str, Any]:
        return {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


class _Incoming:
    """The SDK's read stream, looked at on its way."""

    def __init__(self, inner: Any, line: Line) -> None:
        self._inner, self._line = inner, line

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        try:
            item: Item = await self._inner.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            self._line.on_end()
            raise
        return self._line.saw(item)

    def __aiter__(self) -> _Incoming:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Incoming:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _Outgoing:
    """The SDK's write stream. It runs in the task of the caller, so the caller's flight is at hand."""

    def __init__(self, inner: Any, line: Line) -> None:
        self._inner, self._line = inner, line

    async def send(self, item: SessionMessage, /) -> None:
        flight, message = FLIGHT.get(), item.message
        if flight is None or not isinstance(message, JSONRPCRequest) or message.method != "tools/call":
            await self._inner.send(item)
            return
        flight.sent += 1
        self._line.flights[message.id] = flight
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            flight.sent -= 1  # the transport was gone before it took the message
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _Outgoing:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class WatchedClient(httpx2.AsyncClient):
    """An HTTP client that notes on the caller's flight when a request never got to the tool.

    The SDK loses both the status code and the reason why a connection failed.
    """

    async def send(self, request: httpx2.Request, **more: Any) -> httpx2.Response:
        flight = FLIGHT.get() if _is_call(request) else None
        if flight:
            flight.turned_away = ""  # a redirect that is followed was not the last word
        try:
            response = await super().send(request, **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            if flight:
                flight.turned_away = f"no connection ({error or type(error).__name__})"
            raise
        if flight and (response.is_redirect or response.status_code in TURNED_AWAY):
            flight.turned_away = f"HTTP {response.status_code} {response.reason_phrase}".strip()
        return response


def _is_call(request: httpx2.Request) -> bool:
    """Whether this is the tool call itself. A cancellation, or the GET that resumes a stream, comes after it."""
    if CALL not in request.extensions:  # a redirected request keeps these, but its body cannot be read again
        message = json.loads(request.content) if request.method == "POST" else {}
        called = isinstance(message, dict) and message.get("method") == "tools/call"
        request.extensions = {**request.extensions, CALL: called}
    return bool(request.extensions[CALL])
