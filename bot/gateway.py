"""`python -m bot gateway`: MCP on standard input and output, carried to `/mcp` of the running service and back."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from mcp_types import PROTOCOL_VERSION_META_KEY, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from bot.cli import CommandError
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
TURNED_AWAY = "The service at {url} did not let this token in: {why}"


async def gateway(settings: Settings) -> None:
    """Serve one MCP client until it goes. Raises CommandError when there is no token, or no service to speak to.

    There is one gate, that of the service: nothing is decided, kept or changed here on the way.
    """
    if settings.token is None:
        raise CommandError(NO_TOKEN)
    headers = {"Authorization": f"Bearer {settings.token.reveal()}"}
    patience = httpx2.Timeout(CONNECT_SECONDS, read=None)  # the service itself ends what takes too long
    async with httpx2.AsyncClient(headers=headers, timeout=patience) as http:
        await _let_in(http, settings.service_url)
        try:
            await _carry(http, settings.service_url + "/mcp")
        except* httpx2.TransportError as group:
            raise CommandError(NO_SERVICE.format(url=settings.service_url, why=_first(group))) from None


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


async def _carry(http: httpx2.AsyncClient, url: str) -> None:
    """Every message of either side to the other, until one of them ends. Then what is under way is cut off, and
    so withdrawn by the service."""
    stamp = Stamp()
    async with (
        streamable_http_client(url, http_client=http) as (from_service, to_service),
        stdio_server() as (from_client, to_client),
        anyio.create_task_group() as group,
    ):

        async def ahead() -> None:
            async for message in from_client:
                if isinstance(message, Exception):
                    log.warning("the client wrote a line that is no message: %s", type(message).__name__)
                else:
                    await to_service.send(stamp.ahead(message))
            group.cancel_scope.cancel()

        async def back() -> None:
            async for message in from_service:
                if isinstance(message, Exception):
                    log.warning("the service sent something that is no message: %s", type(message).__name__)
                else:
                    stamp.back(message)
                    await to_client.send(message)
            group.cancel_scope.cancel()

        group.start_soon(ahead)
        group.start_soon(back)


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


def _first(group: BaseExceptionGroup[Any]) -> str:
    """The name of the first error in it."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return type(error).__name__
