"""What carries messages between standard input and HTTP: what it puts on them, and a service that is away."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from bot.gateway import Carrier, Stamp

VERSION = "io.modelcontextprotocol/protocolVersion"


def headers(message: SessionMessage) -> dict[str, str]:
    return (message.metadata.headers or {}) if isinstance(message.metadata, ClientMessageMetadata) else {}


def asked(method: str, **params: Any) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=1, method=method, params=params))


def test_a_request_that_says_its_version_says_it_on_top_with_what_it_is_about() -> None:
    call = asked("tools/call", name="desk__write", _meta={VERSION: "2026-07-28"})
    assert headers(Stamp().ahead(call)) == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "desk__write",
    }


def test_before_that_the_version_is_the_one_that_was_agreed_on() -> None:
    stamp = Stamp()
    assert headers(stamp.ahead(asked("initialize", protocolVersion="2025-11-25"))) == {}
    stamp.back(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=7, result={"protocolVersion": "wrong"})))
    stamp.back(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"protocolVersion": "2025-06-18"})))
    said = SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="notifications/initialized"))
    assert headers(stamp.ahead(said)) == {"mcp-protocol-version": "2025-06-18"}


@pytest.mark.parametrize("meta", [None, "text", 3, {VERSION: 7}, {}])
def test_what_is_not_as_it_should_be_is_left_to_the_service(meta: Any) -> None:
    assert headers(Stamp().ahead(asked("tools/call", name=7, _meta=meta))) == {}


async def test_a_request_while_the_service_is_away_is_answered_and_the_next_one_finds_a_new_line() -> None:
    to_us, from_client = anyio.create_memory_object_stream[SessionMessage](2)
    to_client, answers = anyio.create_memory_object_stream[SessionMessage](2)
    async with httpx2.AsyncClient() as http, to_us, from_client, to_client, answers:
        carrier = Carrier(http, "http://127.0.0.1:9", from_client, to_client)
        for _ in range(2):
            await to_us.send(asked("tools/list", _meta={VERSION: "2026-07-28"}))
            assert await carrier.carry()
            answer = (await answers.receive()).message
            assert isinstance(answer, JSONRPCError)
            assert (answer.id, "does not answer" in answer.error.message) == (1, True)
        await to_us.aclose()
        assert not await carrier.carry()  # the client has gone
