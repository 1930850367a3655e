"""Open one connection to one server, over any of its transports."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx2
import mcp.client.streamable_http as sdk_http
from mcp import Client
from mcp.client.session import ElicitationFnT, MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters
from mcp.server import MCPServer
from mcp_types import CallToolResult, Implementation, JSONRPCMessage

from gate.rules.message_size import MAX_MESSAGE_BYTES
from tools.mcp.git_environment import with_safe_git
from tools.mcp.http_client import WatchedClient
from tools.mcp.limits import PER_REQUEST, NoMessage, message_of
from tools.mcp.server_config import HTTP, STDIO, ServerConfig
from tools.mcp.server_requests import Sampling
from tools.mcp.session import ELICITATION_METHOD, SAMPLING_METHOD, WatchedTransport
from tools.mcp.stdio import ErrorLog, stdio
from tools.name_lookups import NameLookups

CLIENT_INFO = Implementation(name="countersign", version="0.1.0")
CONNECT_SECONDS = 15.0
READ_SECONDS = 300.0  # without a byte from an HTTP server
LONGEST_QUESTION = 1800.0  # for which a person may be asked meanwhile: the bound of limits.server_question


@dataclass(slots=True, eq=False, weakref_slot=True)
class OpenClient:
    """A connected SDK client. `transport` is None for a server in this process, where no message can be lost.
    `is_modern`: it was discovered without a handshake, and reports changes on a stream."""

    sdk: Client
    transport: WatchedTransport | None
    is_modern: bool = False


@dataclass(frozen=True, slots=True)
class Connector:
    """Opens connections to one server, a new one each time: an SDK client is used once."""

    config: ServerConfig
    log_folder: Path  # for the standard error of child processes
    inproc: MCPServer | None = None
    sampling: Sampling | None = None  # None: the capability is not announced
    elicitation: ElicitationFnT | None = None  # answers what the server asks; None: it is not declared
    lookups: NameLookups = field(default_factory=NameLookups)  # those of ended connections as well

    @asynccontextmanager
    async def __call__(
        self,
        mode: str,
        on_message: MessageHandlerFnT,
        on_close: Callable[[], None],
    ) -> AsyncIterator[OpenClient]:
        """Connect and negotiate. Enter and leave the context in one task, under the caller's timeout. Raises what the
        transport and the SDK raise, and LookupError for an in-process server that was not given."""
        async with AsyncExitStack() as stack:
            transport = None if self.inproc else await self._watched(stack, on_close)
            client = Client(
                transport or self.inproc,  # type: ignore[arg-type]
                mode=mode,
                message_handler=on_message,
                client_info=CLIENT_INFO,
                sampling_callback=self.sampling,
                elicitation_callback=self.elicitation,
                cache=None,  # listings are cached in Connection, and always requested anew
            )
            await stack.enter_async_context(client)
            client.session.validate_tool_result = _skip_validation  # type: ignore[method-assign]
            if transport:
                transport.version = client.protocol_version
            yield OpenClient(client, transport, client.session.discover_result is not None)

    async def _watched(self, stack: AsyncExitStack, on_close: Callable[[], None]) -> WatchedTransport:
        answered = {SAMPLING_METHOD: self.sampling, ELICITATION_METHOD: self.elicitation}
        announced = frozenset(method for method, callback in answered.items() if callback is not None)
        per_answer = PER_REQUEST if self.config.transport == HTTP else 0.0
        transport = await self._transport(stack)
        return WatchedTransport(transport, on_close, announced, per_answer=per_answer)

    async def _transport(self, stack: AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        config = self.config
        if config.transport == STDIO:
            parameters = StdioServerParameters(
                command=config.command,
                args=list(config.args),
                env=with_safe_git(config.env, config.recipes),
                cwd=config.cwd or None,
            )
            return stdio(parameters, ErrorLog(self.log_path))
        if config.transport == HTTP:
            asks = LONGEST_QUESTION if self.elicitation else 0.0
            read_seconds = max(READ_SECONDS, config.timeout + 30) + asks
            http = WatchedClient(
                headers={"Accept-Encoding": "identity", **config.headers},
                timeout=httpx2.Timeout(CONNECT_SECONDS, read=read_seconds),
                verify=await asyncio.to_thread(_trusted),
                lookups=self.lookups,
            )
            await stack.enter_async_context(http)
            return sdk_http.streamable_http_client(
                config.url, http_client=http, max_sse_event_size=MAX_MESSAGE_BYTES
            )
        raise LookupError(f"nobody made the in-process server “{config.inproc}”")

    @property
    def log_path(self) -> Path:
        return self.log_folder / f"{self.config.name}.log"


@cache
def _trusted() -> ssl.SSLContext:
    """The certificates that servers are checked by. Reading them takes up to 0.2 s: once, and not on the event loop."""
    return httpx2.create_ssl_context()


class _Messages:
    """Takes the place of the SDK's adapter, whose error quotes the text up to eleven times: the SDK logs the error and
    answers with it, which takes seconds, and tells what a server said."""

    def validate_json(self, text: str | bytes, *, by_name: bool | None = None) -> JSONRPCMessage:
        """Raises httpx2.StreamError, which the SDK catches beside the adapter's."""
        try:
            return message_of(text)
        except NoMessage as error:
            why = str(error)
        raise httpx2.StreamError(why)


vars(sdk_http)["jsonrpc_message_adapter"] = _Messages()


async def _skip_validation(name: str, result: CallToolResult) -> None:
    """Replaces the SDK's check of a result, which a schema can make endless; client.py checks it in bounded time."""
