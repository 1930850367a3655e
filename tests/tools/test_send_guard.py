"""The right to send is asked for just before a call's first bytes leave, and by no read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCRequest

from gate.rules.send_guard import guarded_by
from gate.rules.tool import ServerUnavailable
from tests.tools.mcp_hosts import hosting, raw, trace_count, until
from tests.tools.test_tools_http_outcomes import QuietHttpServer, ScriptedServer
from tests.tools.transport_fakes import MemoryTransport
from tools.mcp.client import Host
from tools.mcp.server_config import ServerConfig
from tools.mcp.session import CURRENT_CALL, CallTrace, WatchedTransport

LOST = "the right to send it is lost"


@dataclass
class Guard:
    """Allows so many checks, and does something when it is asked to confirm."""

    allowed: int = 99
    confirmed: int = 0
    checked: int = 0
    lost: bool = False

    async def confirm(self) -> None:
        self.confirmed += 1
        if self.lost:
            raise ServerUnavailable(LOST)

    def check(self) -> None:
        assert self.confirmed
        self.checked += 1
        if self.checked > self.allowed:
            raise ServerUnavailable(LOST)


@dataclass
class Served:
    """A server whose calls are counted, behind a host."""

    host: Host
    name: str
    tool: str
    count: Any
    checks: int  # of one call

    async def call(self, guard: Guard | None) -> str:
        spec = self.host.find(self.name, self.tool)
        assert spec is not None
        with guarded_by(guard) if guard else nullcontext():
            return (await self.host.call(self.name, self.tool, b"{}", 10, spec.definition)).text


@pytest.fixture(params=["stdio", "http", "in this process"])
async def served(request: pytest.FixtureRequest, tmp_path: Path, counted_http: Any) -> Any:
    calls: list[str] = []
    if request.param == "stdio":
        trace = tmp_path / "trace"
        async with hosting(tmp_path, raw(only=["echo"], trace=str(trace))) as host:
            yield Served(host, "raw", "echo", lambda: trace_count(trace, "echo"), 2)
    elif request.param == "http":
        address, posted = counted_http
        async with hosting(tmp_path, ServerConfig(name="web", url=address, mode="legacy")) as host:
            yield Served(host, "web", "fine", lambda: len(posted), 3)
    else:
        server = MCPServer("small", version="1")
        server.add_tool(lambda: calls.append("") or "said", name="say", description="Says it.")
        async with hosting(
            tmp_path, ServerConfig(name="small", inproc="x"), inproc={"small": server}
        ) as host:
            yield Served(host, "small", "say", lambda: len(calls), 1)


@pytest.fixture
def counted_http() -> Iterator[tuple[str, list[str]]]:
    posted: list[str] = []

    class Counted(ScriptedServer):
        def call_fine(self, message: Any) -> None:
            posted.append("fine")
            super().call_fine(message)

    with QuietHttpServer(("127.0.0.1", 0), Counted) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/mcp", posted
        finally:
            server.shutdown()
            thread.join()


async def test_a_call_that_is_allowed_is_checked_at_each_place_before_it_leaves(served: Served) -> None:
    guard = Guard()
    await served.call(guard)
    assert (guard.confirmed, guard.checked, served.count()) == (1, served.checks, 1)


async def test_a_right_that_is_lost_at_any_of_these_places_sends_nothing(served: Served) -> None:
    for allowed in range(served.checks):
        with pytest.raises(ServerUnavailable, match=LOST):
            await served.call(Guard(allowed))
    with pytest.raises(ServerUnavailable, match=LOST):
        await served.call(guard := Guard(lost=True))
    assert guard.checked == 0
    assert served.count() == 0
    await served.call(None)
    assert served.count() == 1


async def test_a_later_round_of_a_call_that_was_sent_is_not_held_back() -> None:
    memory, call = MemoryTransport(), CallTrace(guard=Guard(allowed=1, confirmed=1))
    async with WatchedTransport(memory.transport(), lambda: None) as (_, write):
        CURRENT_CALL.set(call)
        for number in range(2):
            request = JSONRPCRequest(jsonrpc="2.0", id=number, method="tools/call")
            await write.send(SessionMessage(request))
    assert call.sent == 2


async def test_a_change_that_is_reported_while_the_record_is_asked_is_seen(tmp_path: Path) -> None:
    description = tmp_path / "description"
    description.write_text("Says it back")
    async with hosting(tmp_path, raw(only=["echo"], description_file=str(description))) as host:
        spec, connection = host.find("raw", "echo"), host._connections["raw"]
        assert spec is not None

        class Slow(Guard):
            async def confirm(self) -> None:
                await super().confirm()
                description.write_text("Deletes everything")
                connection._tools_changed()
                await until(lambda: connection._relist_scheduled)

        with guarded_by(Slow()), pytest.raises(ServerUnavailable, match="has just changed"):
            await host.call("raw", "echo", b"{}", 10, spec.definition)
