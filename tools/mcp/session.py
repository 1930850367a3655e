"""The observed transport to one server: was a call sent, was it rejected; bounds on what comes over HTTP."""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from http.cookiejar import CookieJar
from types import TracebackType
from typing import Any

import anyio
import httpcore2
import httpx2
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params
from mcp.shared.message import SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
    Tool,
    methods,
)
from pydantic import ValidationError

from gate.rules.sampling import SamplingRecord
from tools.mcp.limits import (
    MAX_PART_VALUES,
    MAX_PARTS,
    MAX_TOOLS,
    MAX_TYPED_VALUES,
    TOO_LONG,
    TOO_MANY_PARTS,
    LoopTime,
    MessageSize,
    ParseThrottle,
    definition_too_large,
    first_error,
    has_more_values,
)

log = logging.getLogger(__name__)
MAX_HEAD_BYTES = 128 * 1024  # of one answer up to its body, 1xx responses before it included
# Bytes that are parsed at once: 64 KiB of 1xx responses would stop the event loop for 0.1 s
HEAD_PIECE = 4096
HEAD_TOO_LONG = f"what comes before its answer is longer than {MAX_HEAD_BYTES >> 10} KiB"
Item = SessionMessage | Exception
REJECTING_STATUSES = {401, 403, 404, 405, 429}  # an HTTP server sends these before it reads the message
CALL_EXTENSION = "countersign.call"
CANCELLED_METHOD = "notifications/cancelled"
TOOLS_CHANGED_METHOD = "notifications/tools/list_changed"
SAMPLING_METHOD, ELICITATION_METHOD = "sampling/createMessage", "elicitation/create"
# What a server may ask only if it was told so. Otherwise the SDK gets these parameters, and refuses in its own words.
LEAST_PARAMS: dict[str, dict[str, Any]] = {
    SAMPLING_METHOD: {"messages": [], "maxTokens": 1},
    ELICITATION_METHOD: {"message": "", "requestedSchema": {"type": "object", "properties": {}}},
}
# Of a result: what is free in form, or looked at one by one.
UNTYPED = {"content", "structuredContent", "_meta", "tools"}
TOO_MANY_VALUES = f"it has more than {MAX_TYPED_VALUES:,} values and names besides its content"
HANDSHAKE_VERSION = "2025-11-25"  # as the SDK takes it to be until one is negotiated
VALIDATIONS = 3  # of one message: one here and two in the SDK
MAX_NAME = 128  # characters of a tool name in a report
EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")  # of an event in a stream
MAX_OPEN_REQUESTS = 50  # requests of a server that wait for our answer: more are dropped
# Seconds of loop time for ParseThrottle: for a message or a chunk of a body, and for its contents.
PER_MESSAGE, PER_CHUNK, PER_PART, PER_VALUE, PER_LINE, PER_BYTE = 3e-4, 5e-5, 2e-6, 5e-7, 1e-6, 5e-9


@dataclass(slots=True)
class _Head:
    """The bytes of an answer's head that were read."""

    size: int = 0


_HEAD: ContextVar[_Head | None] = ContextVar("the head that is read", default=None)


@contextmanager
def reading_head() -> Iterator[None]:
    """Every byte that this task reads in the block counts as head. Raises httpx2.RemoteProtocolError."""
    token = _HEAD.set(_Head())
    try:
        yield
    finally:
        _HEAD.reset(token)


def bound(client: httpx2.AsyncClient) -> None:
    """Let the connections of this client keep to the bound.

    httpx2 skips 1xx responses without end and has no hook there, so its connection pools are reached by private names.
    """
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.AsyncHTTPTransport):
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore2.AsyncNetworkBackend):
    """The backend of a pool, with streams that count."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(self, *args: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.connect_tcp(*args, **more))

    async def connect_unix_socket(self, *args: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.connect_unix_socket(*args, **more))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that counts what it reads while a head is read."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        head = _HEAD.get()
        if head is None:
            return await self._inner.read(max_bytes, timeout)
        data = await self._inner.read(min(max_bytes, HEAD_PIECE), timeout)
        head.size += len(data)
        if head.size > MAX_HEAD_BYTES:
            raise httpcore2.RemoteProtocolError(HEAD_TOO_LONG)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


def container_count(text: bytes) -> int:
    """How many lists and objects may begin in a piece of JSON; brackets in quoted text count as well."""
    return text.count(b"[") + text.count(b"{")


def parse_seconds(text: bytes) -> float:
    """Estimated seconds to parse a piece of JSON or of an event stream and to handle its contents."""
    values = text.count(b",") + text.count(b":")
    return (
        container_count(text) * PER_PART
        + values * PER_VALUE
        + text.count(b"\n") * PER_LINE
        + len(text) * PER_BYTE
    )


@dataclass(slots=True)
class CallTrace:
    """What the transport observed of one tool call: the evidence for whether it may have run."""

    sent: int = 0  # requests handed to the transport
    rejection: str = ""  # why it certainly did not reach the tool
    has_answer: bool = False  # the server itself replied with an error
    tool: str = ""
    owner: str = ""  # the person or token that it is made for
    record: SamplingRecord | None = None  # of its sampling requests; None: it may not sample
    samples: int = 0  # sampling requests so far
    sampling_refused: bool = False  # a refused one is on the record


CURRENT_CALL: ContextVar[CallTrace | None] = ContextVar("current call", default=None)


@dataclass
class WatchedTransport:
    """A transport that wraps another one: `async with` gives the streams that the SDK reads and writes.

    `on_close` is called when the server closes the connection, which the SDK reports to nobody (seen with mcp 2.3).
    """

    inner: AbstractAsyncContextManager[Any]
    on_close: Callable[[], None]
    announced: frozenset[str] = frozenset()  # the methods of LEAST_PARAMS that the server may use
    version: str = ""  # of the protocol, as negotiated; set before tools are listed
    rejected: dict[str, str] = field(
        default_factory=dict
    )  # tool name -> why the SDK would refuse the listing
    listed_names: set[str] = field(default_factory=set)  # the names of the other tools
    list_changes: int = 0  # notifications that the tools changed; the SDK reports them later, in a task
    calls: dict[RequestId, CallTrace] = field(default_factory=dict)
    # The server's requests that wait for our answer.
    open_requests: set[RequestId | None] = field(default_factory=set)
    throttle: ParseThrottle = field(default_factory=ParseThrottle)  # for validation; parsing has its own

    async def __aenter__(self) -> tuple[_ReadStream, _WriteStream]:
        read, write = await self.inner.__aenter__()
        return _ReadStream(read, self), _WriteStream(write, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, trace)

    def inspect(self, item: Item) -> Item:
        """Record what arrived, and let the SDK get nothing that would take it long to validate. A tool listing is
        returned without its invalid tools; an answer that is invalid, as an error that says so."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCError):
            call = self.calls.pop(message.id, None) if message.id is not None else None
            if call:
                call.has_answer = True
            if has_more_values(message.error.data, MAX_TYPED_VALUES):
                message.error.data = None
        elif isinstance(message, JSONRPCNotification):
            self.list_changes += message.method == TOOLS_CHANGED_METHOD
        elif isinstance(message, JSONRPCRequest):
            message.params = self._params(message)
        elif isinstance(message, JSONRPCResponse) and isinstance(item, SessionMessage):
            self.calls.pop(message.id, None)
            self._keep_valid_tools(message.result)
            if wrong := self._wrong(message.result):
                error = ErrorData(code=INTERNAL_ERROR, message=wrong)
                item = replace(item, message=JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
        return item

    def _params(self, request: JSONRPCRequest) -> dict[str, Any] | None:
        """The parameters of a request as the SDK may get them; None where they are invalid, and it will say so."""
        method, params = request.method, request.params
        if method in LEAST_PARAMS and method not in self.announced:
            return LEAST_PARAMS[method]
        if has_more_values(params, MAX_TYPED_VALUES):
            return None
        version = self.version or HANDSHAKE_VERSION
        return None if _invalid(partial(methods.parse_server_request, method, version, params)) else params

    def _wrong(self, result: dict[str, Any]) -> str:
        """Why the SDK does not get this result; "" where it does."""
        rest = {name: value for name, value in result.items() if name not in UNTYPED}
        asked = rest.get("inputRequests")  # each becomes a task
        too_many_asked = isinstance(asked, dict) and len(asked) > MAX_OPEN_REQUESTS
        if too_many_asked or has_more_values(rest, MAX_TYPED_VALUES):
            return TOO_MANY_VALUES
        parts = result.get("content")
        return self._wrong_part(parts) if isinstance(parts, list) else ""

    def _wrong_part(self, parts: list[Any]) -> str:
        """What is wrong with the content of an answer: too much of it, or its first invalid part."""
        if len(parts) > MAX_PARTS or has_more_values(parts, MAX_PART_VALUES):
            return TOO_MANY_PARTS
        for number, part in enumerate(parts, 1):
            if why := _invalid(partial(CallToolResult.model_validate, {"content": [part]}, by_name=False)):
                return f"part {number} of its content is invalid: {why}"
        return ""

    def _keep_valid_tools(self, result: dict[str, Any]) -> None:
        tools = result.get("tools")
        if isinstance(tools, list):
            room = max(0, MAX_TOOLS - len(self.listed_names))
            result["tools"] = [tool for tool in tools[:room] if self._keep_tool(tool)]
            if len(tools) > room:
                self.rejected[f"{len(tools) - room} more"] = f"only {MAX_TOOLS} tools of a server are used"

    def admit(self, item: Item) -> bool:
        """Whether a message is passed to the SDK. A notification that is invalid or has too many values is not. Each
        request of a server becomes a task of the SDK that lives until the server takes its answer, so only
        MAX_OPEN_REQUESTS at once are passed on."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCNotification) and message.method == CANCELLED_METHOD:
            self.open_requests.discard(cancelled_request_id_from_params(message.params))
        if isinstance(message, JSONRPCNotification):
            return self._is_valid(message)
        if not isinstance(message, JSONRPCRequest):
            return True
        admitted = len(self.open_requests) < MAX_OPEN_REQUESTS and message.id not in self.open_requests
        if admitted:
            self.open_requests.add(message.id)
        return admitted

    def _is_valid(self, notification: JSONRPCNotification) -> bool:
        """Whether the SDK gets it. Where one is invalid, the SDK would write down all of what it has."""
        method, params = notification.method, notification.params
        if has_more_values(params, MAX_TYPED_VALUES):
            return False
        version = self.version or HANDSHAKE_VERSION
        if wrong := _invalid(partial(methods.parse_server_notification, method, version, params)):
            log.warning("an MCP server sent an invalid %s; it was dropped", method)
        return not wrong

    def _keep_tool(self, tool: Any) -> bool:
        """Whether a tool is valid; the reason is recorded where it is not. The SDK validates a page as one, so that
        one invalid tool would cost the whole listing."""
        name = tool.get("name") if isinstance(tool, dict) else None
        name = name[:MAX_NAME] if isinstance(name, str) and name else "a tool without a name"
        if why := definition_too_large(tool):
            self.rejected[name] = why
            return False
        page = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        why = _invalid(partial(Tool.model_validate, tool, by_name=False)) or _invalid(
            partial(methods.validate_server_result, "tools/list", self.version, page)
        )
        if why:
            self.rejected[name] = why.removeprefix("tools.")
            return False
        self.listed_names.add(name)
        return True


def _invalid(validate: Callable[[], object]) -> str:
    """What is wrong first; "" for what is valid, and for a protocol version that has no rule for it."""
    try:
        validate()
    except KeyError:
        return ""
    except ValidationError as error:
        return first_error(error)
    return ""


class _ReadStream:
    """The SDK's read stream; each message is inspected as it passes."""

    def __init__(self, inner: Any, transport: WatchedTransport) -> None:
        self._inner, self._transport = inner, transport

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        """The next message that the SDK gets. The time that it takes is charged, so a server that sends much of what
        takes long is read later."""
        throttle = self._transport.throttle
        while True:
            try:
                item: Item = await self._inner.receive()
            except (anyio.EndOfStream, anyio.ClosedResourceError):
                self._transport.on_close()
                raise
            begun = time.thread_time()
            admitted = self._transport.inspect(item) if self._transport.admit(item) else None
            seconds = VALIDATIONS * (time.thread_time() - begun)
            if wait := throttle.charge(anyio.current_time(), seconds):
                await anyio.sleep(wait)
            if admitted is not None:
                return admitted

    def __aiter__(self) -> _ReadStream:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _ReadStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _WriteStream:
    """The SDK's write stream. `send` runs in the task of the caller, so CURRENT_CALL is the caller's."""

    def __init__(self, inner: Any, transport: WatchedTransport) -> None:
        self._inner, self._transport = inner, transport

    async def send(self, item: SessionMessage, /) -> None:
        call, message = CURRENT_CALL.get(), item.message
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            try:
                await self._inner.send(item)
            finally:
                self._transport.open_requests.discard(message.id)
            return
        if call is None or not isinstance(message, JSONRPCRequest) or message.method != "tools/call":
            await self._inner.send(item)
            return
        call.sent += 1
        self._transport.calls[message.id] = call
        try:
            await self._inner.send(item)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            call.sent -= 1  # the transport was closed before it took the message
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _WriteStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class _NoCookies(CookieJar):
    """Keeps no cookie: a server of MCP needs none, and its cookies would stay as long as its client."""

    def extract_cookies(self, response: Any, request: Any) -> None:
        """Without looking at them, which takes 0.2 s for those of one answer."""


class WatchedClient(httpx2.AsyncClient):
    """An HTTP client that records on the current call why a request did not reach the tool.

    The SDK keeps neither the status code nor the reason why a connection failed.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(cookies=_NoCookies(), **settings)
        bound(self)
        self._throttle = ParseThrottle()  # one for all responses and streams of the server

    async def send(self, request: httpx2.Request, **more: Any) -> httpx2.Response:
        call = CURRENT_CALL.get() if _is_tool_call(request) else None
        if call:
            call.rejection = ""  # a redirect that is followed does not count
        try:
            with reading_head():
                response = await super().send(request, **more)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            if call:
                call.rejection = f"no connection ({error or type(error).__name__})"
            raise
        if call and (response.is_redirect or response.status_code in REJECTING_STATUSES):
            call.rejection = f"HTTP {response.status_code} {response.reason_phrase}".strip()
        if not response.is_stream_consumed:
            assert isinstance(response.stream, httpx2.AsyncByteStream)
            response.stream = _LimitedBody(response.stream, response.headers, self._throttle)
        return response


class _LimitedBody(httpx2.AsyncByteStream):
    """A response body that raises an error once it is too large to be parsed. In an event stream, which has no end,
    each event is measured. A compressed body is refused, because its size says nothing of what it unpacks to."""

    def __init__(
        self, inner: httpx2.AsyncByteStream, headers: httpx2.Headers, throttle: ParseThrottle
    ) -> None:
        self._inner, self._throttle = inner, throttle
        self._is_event_stream = headers.get("content-type", "").lower().startswith("text/event-stream")
        self._is_compressed = headers.get("content-encoding", "identity").lower() != "identity"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_compressed:
            raise httpx2.StreamError("the answer is compressed, which was not asked for")
        size = MessageSize()
        async for chunk in self._inner:
            taken = LoopTime()
            end = max(chunk.rfind(end) for end in EVENT_ENDS) if self._is_event_stream else -1
            size = MessageSize() if end >= 0 else size
            with taken.part():
                size.feed(chunk[max(end, 0) :])
            if size.too_large:
                raise httpx2.SSEError(TOO_LONG) if self._is_event_stream else httpx2.StreamError(TOO_LONG)
            yield chunk
            # Also with 0 seconds: while bytes are available, nothing else yields to the loop between two chunks.
            # What the SDK takes to parse it is estimated.
            seconds = taken.seconds + PER_CHUNK + parse_seconds(chunk)
            await anyio.sleep(self._throttle.charge(anyio.current_time(), seconds))

    async def aclose(self) -> None:
        await self._inner.aclose()


def _is_tool_call(request: httpx2.Request) -> bool:
    """Whether this request is the tool call itself, not a cancellation or the GET that resumes a stream."""
    if (
        CALL_EXTENSION not in request.extensions
    ):  # a redirected request keeps these, but its body cannot be read again
        message = json.loads(request.content) if request.method == "POST" else {}
        called = isinstance(message, dict) and message.get("method") == "tools/call"
        request.extensions = {**request.extensions, CALL_EXTENSION: called}
    return bool(request.extensions[CALL_EXTENSION])
