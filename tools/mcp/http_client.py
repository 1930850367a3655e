"""The HTTP client of one server: why a request did not reach the tool, and bounds on what is answered."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from functools import partial
from http.cookiejar import CookieJar
from typing import Any

import anyio
import httpx2

from gate.rules.message_size import MessageSize
from gate.rules.tool import ServerUnavailable
from tools.http_bounds import OwnTurns, keep_bounds, reading_head
from tools.mcp.limits import GET_GAP, PER_CHUNK, PER_REQUEST, TOO_LONG, LoopTime, ParseThrottle, parse_seconds
from tools.mcp.session import CURRENT_CALL, CallTrace
from tools.name_lookups import NameLookups

REJECTING_STATUSES = {401, 403, 404, 405, 429}  # an HTTP server sends these before it reads the message
CALL_EXTENSION = "countersign.call"
EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")  # of an event in a stream


class _NoCookies(CookieJar):
    """Keeps no cookie: a server of MCP needs none, and its cookies would stay as long as its client."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Without looking at them, which takes 0.2 s for those of one answer."""


class WatchedClient(httpx2.AsyncClient):
    """An HTTP client that records on the current call why a request did not reach the tool, and waits before it asks
    for a stream again.

    The SDK keeps neither the status code nor the reason why a connection failed. `lookups`: those of all clients of
    this server.
    """

    def __init__(
        self, *, get_gap: float = GET_GAP, lookups: NameLookups | None = None, **settings: Any
    ) -> None:
        super().__init__(cookies=_NoCookies(), **settings)
        self._turns = OwnTurns()
        keep_bounds(self, self._turns, lookups or NameLookups())
        self._throttle = (
            ParseThrottle()
        )  # one for all responses and streams of the server, and for asking for these
        self._get_gap, self._next_get = get_gap, 0.0

    async def _turn(self, request: httpx2.Request) -> None:
        """Wait with a GET for the server's share of the loop's time, and for the gap after the GET before it: a server
        that ends its streams is asked for them again. What is sent to it is ours."""
        if request.method == "GET":
            now = anyio.current_time()
            seconds = max(self._throttle.charge(now, PER_REQUEST), self._next_get - now)
            self._next_get = now + seconds + self._get_gap
            await anyio.sleep(seconds)

    async def send(self, request: httpx2.Request, **more: Any) -> httpx2.Response:
        call = CURRENT_CALL.get() if _is_tool_call(request) else None
        if call:
            call.rejection = ""  # a redirect that is followed does not count
            request.extensions = {**request.extensions, "trace": partial(_check_before_head, call)}
        await self._turn(request)
        try:
            with reading_head():
                response = await super().send(request, **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            if call:
                call.rejection = f"no connection ({error or type(error).__name__})"
            raise
        if call and (response.is_redirect or response.status_code in REJECTING_STATUSES):
            call.rejection = f"HTTP {response.status_code} {response.reason_phrase}".strip()
        response.encoding = (
            "utf-8"  # as it is counted; what the server says of it takes long to be read or to decode
        )
        if not response.is_stream_consumed:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _LimitedBody(response.stream, response.headers, self._throttle, self._turns)
        return response


class _LimitedBody(httpx2.AsyncByteStream):
    """A response body that raises an error once it is too large to be parsed. In an event stream, which has no end,
    each event is measured. A compressed body is refused, because its size says nothing of what it unpacks to."""

    def __init__(
        self,
        inner: httpx2.AsyncByteStream,
        headers: httpx2.Headers,
        throttle: ParseThrottle,
        turns: OwnTurns,
    ) -> None:
        self._inner, self._throttle, self._turns = inner, throttle, turns
        self._is_event_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
        self._is_compressed = headers.get("content-encoding", "identity").lower() != "identity"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_compressed:
            raise httpx2.StreamError("the answer is compressed, which was not asked for")
        size = MessageSize()
        async for chunk in self._inner:
            taken = LoopTime()
            with taken.part():
                size.feed(chunk)  # with the events that lie whole in it, which are no longer than it is
            if size.too_large:
                raise httpx2.SSEError(TOO_LONG) if self._is_event_stream else httpx2.StreamError(TOO_LONG)
            end = max(chunk.rfind(end) for end in EVENT_ENDS) if self._is_event_stream else -1
            if end >= 0:
                size = MessageSize()
                with taken.part():
                    size.feed(chunk[end:])
            yield chunk
            # Also with 0 seconds: while bytes are available, nothing else yields to the loop between two chunks.
            # What the SDK takes to parse it is estimated.
            seconds = taken.seconds + PER_CHUNK + parse_seconds(chunk)
            await anyio.sleep(self._throttle.charge(anyio.current_time(), seconds))
            await self._turns.next()  # what comes behind a chunk may be 13,000 trailers, which take 35 ms

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _check_before_head(call: CallTrace, event: str, _: Mapping[str, Any]) -> None:
    """Raise ConnectError where a call may not be sent any more by the time that there is a connection."""
    if event.endswith("send_request_headers.started"):
        try:
            call.check(handed_over=1)
        except ServerUnavailable as error:
            raise httpx2.ConnectError(str(error)) from None


def _is_tool_call(request: httpx2.Request) -> bool:
    """Whether this request is the tool call itself, not a cancellation or the GET that resumes a stream."""
    if (
        CALL_EXTENSION not in request.extensions
    ):  # a redirected request keeps these, but its body cannot be read again
        message = json.loads(request.content) if request.method == "POST" else {}
        called = isinstance(message, dict) and message.get("method") == "tools/call"
        request.extensions = {**request.extensions, CALL_EXTENSION: called}
    return bool(request.extensions[CALL_EXTENSION])
