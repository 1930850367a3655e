"""The sessions of the gateway: those of one person are bounded, whatever the number of their tokens."""

from __future__ import annotations

import asyncio

import pytest

from handlers.gateway import app
from tests.api.api_server import Api, Client
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


async def test_requests_that_open_sessions_at_the_same_time_are_counted_each(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "MAX_PERSON_SESSIONS", 3)
    clients = [await api.agent() for _ in range(8)]
    found = await asyncio.gather(*(opened(client) for client in clients))
    assert sorted(status for status, _, _ in found) == [200] * 3 + [429] * 5
