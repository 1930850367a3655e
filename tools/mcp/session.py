"""The observed transport to one server: was a call sent, was it rejected; what the SDK gets to see."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Any

import anyio
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

from gate.rules.message_size import MAX_TYPED_VALUES, has_more_values
from gate.rules.sampling import SamplingRecord
from gate.rules.send_guard import SendGuard
from tools.mcp.limits import (
    MAX_PART_VALUES,
    MAX_PARTS,
    MAX_TOOLS,
    TOO_MANY_PARTS,
    ListingSize,
    ParseThrottle,
    Slot,
    error_line,
)
from tools.mcp.rare_warnings import RareWarnings

log = logging.getLogger(__name__)
Item = SessionMessage | Exception
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
MAX_OPEN_REQUESTS = 50  # requests of a server that wait for our answer: more are dropped
LONGEST_ID = 256  # characters of the id of such a request, which is kept until it is answered


@dataclass(slots=True)
class CallTrace:
    """What the transport observed of one tool call: the evidence for whether it may have run."""

    sent: int = 0  # requests handed to the transport
    rejection: str = ""  # why it certainly did not reach the tool
    has_answer: bool = False  # the server itself replied with an error
    tool: str = ""
    owner: str = ""  # the person or token that it is made for
    client: object = None  # the connection that it runs on
    record: SamplingRecord | None = None  # of its sampling requests; None: it may not sample
    samples: int = 0  # sampling requests so far
    sampling_refused: bool = False  # a refused one is on the record
    slot: Slot | None = None  # the server's slot that it takes
    guard: SendGuard | None = None  # says whether it may be sent still

    def check(self, handed_over: int = 0) -> None:
        """Raise ServerUnavailable where its first request, one of so many, may not be sent any more. A call that has
        several goes on."""
        if self.guard is not None and self.sent <= handed_over:
            self.guard.check()


MOST_CALLS = 100  # of one server that are remembered while no answer comes: more than run at once
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
    listing_size: ListingSize = field(default_factory=ListingSize)
    list_changes: int = 0  # notifications that the tools changed; the SDK reports them later, in a task
    calls: dict[RequestId, CallTrace] = field(default_factory=dict)
    # The server's requests that wait for our answer.
    open_requests: set[RequestId | None] = field(default_factory=set)
    throttle: ParseThrottle = field(default_factory=ParseThrottle)  # for validation; parsing has its own
    warnings: RareWarnings = field(default_factory=lambda: RareWarnings(log))
    per_answer: float = 0.0  # seconds of loop time to send the answer to a request of the server

    async def __aenter__(self) -> tuple[_ReadStream, _WriteStream]:
        read, write = await self.inner.__aenter__()
        return _ReadStream(read, self), _WriteStream(write, self)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.inner.__aexit__(kind, error, trace)

    def note(self, request: RequestId, call: CallTrace) -> None:
        """Keep a call until its answer comes; of those that have none the newest."""
        self.calls[request] = call
        if len(self.calls) > MOST_CALLS:
            del self.calls[next(iter(self.calls))]

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

    def begin_listing(self) -> None:
        """Count the tools of a new listing."""
        self.rejected.clear()
        self.listed_names.clear()
        self.listing_size = ListingSize()

    def admit(self, item: Item) -> bool:
        """Whether a message is passed to the SDK. A notification that is invalid or has too many values is not. Each
        request of a server becomes a task of the SDK that lives until the server takes its answer, so only
        MAX_OPEN_REQUESTS at once are passed on, and none with an id that is long to keep."""
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCNotification) and message.method == CANCELLED_METHOD:
            self.open_requests.discard(cancelled_request_id_from_params(message.params))
        if isinstance(message, JSONRPCNotification):
            return self._is_valid(message)
        if not isinstance(message, JSONRPCRequest):
            return True
        if isinstance(message.id, str) and len(message.id) > LONGEST_ID:
            return False
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
            self.warnings.say("an MCP server sent an invalid %s; it was dropped", method)
        return not wrong

    def _keep_tool(self, tool: Any) -> bool:
        """Whether a tool is valid; the reason is recorded where it is not. The SDK validates a page as one, so that
        one invalid tool would cost the whole listing."""
        name = tool.get("name") if isinstance(tool, dict) else None
        name = name[:MAX_NAME] if isinstance(name, str) and name else "a tool without a name"
        if why := self.listing_size.too_large_with(tool):
            return self._reject(name, why)
        page = {"tools": [tool], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        why = _invalid(partial(Tool.model_validate, tool, by_name=False)) or _invalid(
            partial(methods.validate_server_result, "tools/list", self.version, page)
        )
        if why:
            return self._reject(name, why.removeprefix("tools."))
        self.listed_names.add(name)
        return True

    def _reject(self, name: str, why: str) -> bool:
        """Leave out a tool, and record why, as far as a listing may have tools."""
        if len(self.rejected) < MAX_TOOLS:
            self.rejected[name] = why
        return False


def _invalid(validate: Callable[[], object]) -> str:
    """What is wrong first; "" for what is valid, and for a protocol version that has no rule for it."""
    try:
        validate()
    except KeyError:
        return ""
    except ValidationError as error:
        return error_line(error)
    return ""


class _ReadStream:
    """The SDK's read stream; each message is inspected as it passes."""

    def __init__(self, inner: Any, transport: WatchedTransport) -> None:
        self._inner, self._transport = inner, transport

    @property
    def last_context(self) -> Any:
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> Item:
        """The next message that the SDK gets. The time that it takes is charged, and for a request what it takes to
        send the answer. So a server that sends much of what takes long is read later; what is sent to it does not
        wait."""
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
            if isinstance(admitted, SessionMessage) and isinstance(admitted.message, JSONRPCRequest):
                seconds += self._transport.per_answer
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
        call.check()
        call.sent += 1
        self._transport.note(message.id, call)
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
