"""The sessions of the gateway, of which one person may have some, and messages that it does not take."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from mcp import MCPError
from mcp_types import METHOD_NOT_FOUND

from handlers.gateway import app
from tests.api.api_server import Api, Client
from tests.api.test_gateway import connected
from tests.gate.gate_setup import BEN

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "many", "version": "1"},
    },
}
ACCEPT = "application/json, text/event-stream"


async def opened(client: Client) -> tuple[int, str, str]:
    """Status, session id and body of the answer to a new session's first request."""
    async with client.raw("POST", "/mcp", INITIALIZE, Accept=ACCEPT) as response:
        return response.status, response.headers.get("Mcp-Session-Id", ""), await response.text()


async def test_the_tokens_of_one_person_share_a_bound_on_sessions(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_PERSON_SESSIONS", 3)
    one, two, other = await api.agent(), await api.agent(), await api.agent(user=BEN)
    sessions = [await opened(client) for client in (one, two, one)]
    assert [status for status, _, _ in sessions] == [200, 200, 200]
    status, _, text = await opened(two)
    assert (status, "have 3 sessions open" in text) == (429, True)
    assert (await opened(other))[0] == 200
    async with one.raw("DELETE", "/mcp", None, Mcp_Session_Id=sessions[0][1]) as response:
        assert response.status == 200
    assert (await opened(two))[0] == 200


async def test_who_has_too_many_sessions_may_still_use_them_and_ask_without_one(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_PERSON_SESSIONS", 1)
    client = await api.agent()
    _, session, _ = await opened(client)
    assert (await opened(client))[0] == 429
    within = {"Accept": ACCEPT, "Mcp-Session-Id": session}
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    async with client.raw("POST", "/mcp", initialized, **within) as response:
        assert response.status == 202
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    async with client.raw("POST", "/mcp", listing, **within) as response:
        assert response.status == 200
    version = "2026-07-28"
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientInfo": {"name": "many", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    sessionless = {**listing, "params": {"_meta": meta}}
    headers = {"Accept": ACCEPT, "MCP-Protocol-Version": version, "Mcp-Method": "tools/list"}
    async with client.raw("POST", "/mcp", sessionless, **headers) as response:
        assert response.status == 200
        assert "desk" in await response.text()


LONG = "\U0001f600" + "x" * 17_000


@pytest.mark.parametrize(
    "more",
    [
        {"clientInfo": {"name": LONG, "version": "1"}},
        {"clientInfo": {"name": "many", "version": "1", "icons": [{"src": f"data:,{LONG}"}]}},
        {"capabilities": {"experimental": {"a": {"b": LONG}}}},
        {"capabilities": {"experimental": {LONG: {}}}},
        {"capabilities": {"experimental": {str(number): {"a": 1} for number in range(200)}}},
        {"of_no_type": LONG},
    ],
)
async def test_a_session_keeps_little_of_what_a_client_says_of_itself(
    api: Api, more: dict[str, object]
) -> None:
    client = await api.agent()
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "n", "version": "1"},
    }
    message = {**INITIALIZE, "id": 7, "params": {**params, **more}}
    async with client.raw("POST", "/mcp", message, Accept=ACCEPT) as response:
        answer = await response.json()
        assert (response.status, answer["id"]) == (400, 7)
        assert "says of itself" in answer["error"]["message"]
        assert "Mcp-Session-Id" not in response.headers
    large = {**params, "clientInfo": {"name": "\U0001f600" * 16_000, "version": "1"}}
    async with client.raw("POST", "/mcp", {**INITIALIZE, "params": large}, Accept=ACCEPT) as response:
        assert response.status == 200


async def test_requests_that_open_sessions_at_the_same_time_are_counted_each(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_PERSON_SESSIONS", 3)
    clients = [await api.agent() for _ in range(8)]
    found = await asyncio.gather(*(opened(client) for client in clients))
    assert sorted(status for status, _, _ in found) == [200] * 3 + [429] * 5


async def test_a_message_with_much_for_the_sdk_to_validate_is_refused_in_a_sentence(api: Api) -> None:
    client = await api.agent()
    params = {"name": "desk__write", "inputResponses": {"approval": {"content": [{}] * 20_000}}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    for version in ("2025-11-25", "2026-07-28"):
        headers = {"Accept": ACCEPT, "MCP-Protocol-Version": version, "Mcp-Method": "tools/call"}
        async with client.raw("POST", "/mcp", message, **headers) as response:
            answer = await response.json()
            assert (response.status, answer["id"]) == (400, 7)
            assert "3,000 values and names" in answer["error"]["message"]


async def test_no_text_of_a_client_for_traces_is_read_or_logged(
    api: Api, caplog: pytest.LogCaptureFixture
) -> None:
    client = await api.agent()
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "many", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
        "baggage": "a text," * 4000,
    }
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}}
    headers = {"Accept": ACCEPT, "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/list"}
    async with client.raw("POST", "/mcp", listing, **headers) as response:
        assert (response.status, "desk__write" in await response.text()) == (200, True)
    _, session, _ = await opened(client)
    async with client.raw("POST", "/mcp", listing, Accept=ACCEPT, Mcp_Session_Id=session) as response:
        assert response.status == 200
    assert "a text," not in caplog.text


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_session_goes_on_after_a_method_that_is_not_served(api: Api, mode: str) -> None:
    async with connected(await api.agent(), mode) as mcp:
        for ask in (partial(mcp.get_prompt, "x"), mcp.list_resources):
            with pytest.raises(MCPError) as caught:
                await ask()
            assert caught.value.error.code == METHOD_NOT_FOUND
            assert "tools/list" in caught.value.error.message
        assert (await mcp.list_tools()).tools


async def test_a_body_that_is_too_large_is_refused_in_a_sentence(api: Api) -> None:
    client = await api.agent()
    async with client.raw("POST", "/mcp", {"a": "x" * app.MAX_BODY_BYTES}, Accept=ACCEPT) as response:
        assert response.status == 413
        assert "262,144 bytes" in (await response.json())["error"]["message"]
