"""`python -m bot gateway`: MCP on standard input and output, carried to `/mcp` of the running service and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import anyio
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import (
    INTERNAL_ERROR,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from bot.cli.main import CommandError
from bot.settings import Settings

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
NO_TOKEN = (
    "COUNTERSIGN_TOKEN is not set: make an agent's token with `python -m bot tokens new agent …` where the service "
    "runs, and give it to this command in its environment."
)
NO_SERVICE = (
    "The service does not answer at {url} ({why}): start it, or set COUNTERSIGN_URL to where it is reached."
)
BREAKS = (httpx2.TransportError, anyio.BrokenResourceError, anyio.ClosedResourceError)
TURNED_AWAY = "The service at {url} did not let this token in: {why}"


async def gateway(settings: Settings) -> None:
    """Serve one MCP client until it goes. Raises CommandError when there is no token, or no service to speak to.

    There is one gate, that of the service: nothing is decided, kept or changed here on the way.
    """
    if settings.token is None:
        raise CommandError(NO_TOKEN)
    headers = {"Authorization": f"Bearer {settings.token.reveal()}"}
    patience = httpx2.Timeout(CONNECT_SECONDS, read=None)  # the service itself ends what takes too long
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=[]))
    async with httpx2.AsyncClient(headers=headers, timeout=patience, cookies=no_cookies) as http:
        await _let_in(http, settings.service_url)
        async with stdio_server() as (from_client, to_client):
            carrier = Carrier(http, settings.service_url, from_client, to_client)
            while await carrier.carry():
                log.warning(carrier.broken)


async def _let_in(http: httpx2.AsyncClient, url: str) -> None:
    """Raise CommandError unless the service is there and knows the token: a client would show neither."""
    try:
        answer = await http.get(f"{url}/actions", params={"limit": 1}, timeout=CONNECT_SECONDS)
    except (httpx2.TransportError, httpx2.InvalidURL) as error:
        raise CommandError(NO_SERVICE.format(url=url, why=type(error).__name__)) from None
    if answer.status_code == httpx2.codes.UNAUTHORIZED:
        raise CommandError(TURNED_AWAY.format(url=url, why=answer.json()["detail"]))
    if answer.status_code == httpx2.codes.NOT_FOUND:
        raise CommandError(NO_SERVICE.format(url=url, why="another program is there"))


class Carrier:
    """Carries every message of either side to the other.

    The SDK's line to the service ends with the first request that fails: what was under way is answered then, and
    the next message finds a new line, so that a restart of the service does not end the client's.
    """

    def __init__(self, http: httpx2.AsyncClient, url: str, from_client: Any, to_client: Any) -> None:
        self._http, self._url = http, url + "/mcp"
        self._from_client, self._to_client = from_client, to_client
        self._stamp = Stamp()
        self._open: set[str | int] = set()  # requests without an answer
        self._over = False  # the client has gone
        self.broken = NO_SERVICE.format(url=url, why="the line broke")

    async def carry(self) -> bool:
        """Carry until the client goes, or the line breaks; whether it is to go on.

        What is under way when the client goes is cut off, and so withdrawn by the service.
        """
        try:
            async with (
                streamable_http_client(self._url, http_client=self._http) as (from_service, to_service),
                anyio.create_task_group() as group,
            ):
                group.start_soon(self._ahead, to_service, group.cancel_scope)
                group.start_soon(self._back, from_service, group.cancel_scope)
        except BaseExceptionGroup as error:
            if error.split(BREAKS)[1] is not None:
                raise
        if not self._over:
            for request in self._open:
                answer = JSONRPCError(
                    jsonrpc="2.0", id=request, error=ErrorData(code=INTERNAL_ERROR, message=self.broken)
                )
                await self._to_client.send(SessionMessage(answer))
            self._open.clear()
        return not self._over

    async def _ahead(self, to_service: Any, scope: anyio.CancelScope) -> None:
        async for message in self._from_client:
            if isinstance(message, Exception):
                log.warning("the client wrote a line that is no message: %s", type(message).__name__)
                continue
            if isinstance(message.message, JSONRPCRequest):
                self._open.add(message.message.id)
            await to_service.send(self._stamp.ahead(message))
        self._over = True
        scope.cancel()

    async def _back(self, from_service: Any, scope: anyio.CancelScope) -> None:
        async for message in from_service:
            if isinstance(message, Exception):
                log.warning("the service sent something that is no message: %s", type(message).__name__)
                continue
            if isinstance(message.message, JSONRPCResponse | JSONRPCError) and message.message.id is not None:
                self._open.discard(message.message.id)
            self._stamp.back(message)
            await self._to_client.send(message)
        scope.cancel()


@dataclass
class Stamp:
    """Puts on each message the headers that go with it over HTTP; on stdio there are none.

    Since 2026-07-28 each request says its version in itself; before, one is agreed on at the beginning.
    """

    agreed: str = ""
    opening: str | int | None = None  # the id of the request that agrees on it

    def ahead(self, message: SessionMessage) -> SessionMessage:
        one = message.message
        if not isinstance(one, JSONRPCRequest | JSONRPCNotification):
            return message
        if isinstance(one, JSONRPCRequest) and one.method == "initialize":
            self.opening = one.id
            return message
        headers = _own(one.method, one.params or {}) or self._agreed()
        return replace(message, metadata=ClientMessageMetadata(headers=headers)) if headers else message

    def back(self, message: SessionMessage) -> None:
        one = message.message
        if isinstance(one, JSONRPCResponse) and self.opening is not None and one.id == self.opening:
            self.agreed, self.opening = str(one.result.get("protocolVersion", "")), None

    def _agreed(self) -> dict[str, str]:
        return {MCP_PROTOCOL_VERSION_HEADER: self.agreed} if self.agreed else {}


def _own(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a message that says its own version; none for others."""
    meta = params.get("_meta")
    version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return {}
    headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: method}
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    if isinstance(name, str):
        headers[MCP_NAME_HEADER] = encode_header_value(name)
    return headers
