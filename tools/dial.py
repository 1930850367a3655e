"""Open one connection to one server, whatever way it is reached."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import httpx2
from mcp import Client
from mcp.client.session import MessageHandlerFnT
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server import MCPServer
from mcp_types import Implementation

from tools.line import Line, WatchedClient
from tools.servers import HTTP, STDIO, ServerConfig

OURSELVES = Implementation(name="countersign", version="0.1.0")
CONNECT_SECONDS = 15.0
SILENCE_SECONDS = 300.0  # without a byte from an HTTP server
EVENT_BYTES = 32 * 1024 * 1024  # the SDK's 1 MiB would make a long answer an unknown outcome
LOG_BYTES = 1_000_000


@dataclass(slots=True)
class Open:
    """A connected client. `line` is None in process: there is nothing in between that could break."""

    client: Client
    line: Line | None
    modern: bool = False


@dataclass(frozen=True, slots=True)
class Dialler:
    """Opens connections to one server, each time anew: an SDK client is used once."""

    config: ServerConfig
    logs: Path  # where the standard error of child processes goes
    inproc: MCPServer | None = None

    @asynccontextmanager
    async def __call__(
        self,
        mode: str,
        on_message: MessageHandlerFnT,
        on_end: Callable[[], None],
    ) -> AsyncIterator[Open]:
        """Connect and negotiate. Enter and leave it in one task, under a time limit of the caller's."""
        async with AsyncExitStack() as stack:
            line = None if self.inproc else Line(await self._transport(stack), on_end)
            client = Client(
                line or self.inproc,  # type: ignore[arg-type]
                mode=mode,
                message_handler=on_message,
                client_info=OURSELVES,
                cache=None,  # listings are ours to keep, and always asked for anew
            )
            await stack.enter_async_context(client)
            if line:
                line.version = client.protocol_version
            yield Open(client, line, client.session.discover_result is not None)

    async def _transport(self, stack: AsyncExitStack) -> AbstractAsyncContextManager[Any]:
        config = self.config
        if config.way == STDIO:
            log = stack.enter_context(open_log(self.log))
            parameters = StdioServerParameters(
                command=config.command,
                args=list(config.args),
                env=dict(config.env),
                cwd=config.cwd or None,
                encoding_error_handler="replace",
            )
            return stdio_client(parameters, errlog=log)
        if config.way == HTTP:
            silence = max(SILENCE_SECONDS, config.timeout + 30)
            http = WatchedClient(
                headers=dict(config.headers), timeout=httpx2.Timeout(CONNECT_SECONDS, read=silence)
            )
            await stack.enter_async_context(http)
            return streamable_http_client(config.url, http_client=http, max_sse_event_size=EVENT_BYTES)
        raise LookupError(f"nobody made the in-process server “{config.inproc}”")

    @property
    def log(self) -> Path:
        return self.logs / f"{self.config.name}.log"


def open_log(path: Path) -> TextIO:
    """The file for a child's standard error, appended to; made with its folder where it is not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rotate(path)
    return path.open("a", encoding="utf-8", errors="replace")


def rotate(path: Path, limit: int = LOG_BYTES) -> None:
    """Keep the last `limit` bytes as `.1` and begin anew. A child that appends goes on in the emptied file."""
    if not path.exists() or path.stat().st_size <= limit:
        return
    with path.open("rb+") as log:
        log.seek(-limit, os.SEEK_END)
        path.with_suffix(".log.1").write_bytes(log.read())
        log.truncate(0)
