"""The sessions of the gateway: those of one person are bounded, whatever the number of their tokens."""

from __future__ import annotations

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
