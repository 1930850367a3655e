"""What goes on top of a message that leaves standard input for HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from bot.gateway import Stamp

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
