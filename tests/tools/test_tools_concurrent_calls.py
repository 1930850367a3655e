"""Calls of one person, or a server that hangs, do not delay the calls of other people."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from anyio import from_thread
from mcp.server import MCPServer

from gate.rules.jobs import for_owner
from gate.rules.tool import Answer, OutcomeUnknown, ServerUnavailable, Trust
from tests.tools.mcp_hosts import hosting, until
from tools.mcp.client import Host
from tools.mcp.connection import MAX_WAITING_CALLS
from tools.mcp.server_config import ServerConfig

SLOTS = 8
SHARE = SLOTS // 2


@dataclass
class Servers:
    """Two servers, each with a tool that hangs until `released` is set and one that answers at once."""

    host: Host
    started: list[str] = field(default_factory=list)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    hanging: list[asyncio.Task[Answer]] = field(default_factory=list)

    async def call(self, owner: str, tool: str, server: str = "one", seconds: float = 60) -> Answer:
        with for_owner(owner):
            return await self.host.call(server, tool, b"{}", seconds)

    async def hang(self, owner: str, count: int, server: str = "one") -> None:
        """`count` hanging calls of one person; returns once all that may start have started."""
        before = len(self.started)
        self.hanging += [asyncio.create_task(self.call(owner, "hang", server)) for _ in range(count)]
        await until(lambda: len(self.started) == before + min(count, SHARE))


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[Servers]:
    inproc = {name: MCPServer(name) for name in ("one", "two")}
    configs = [ServerConfig(name=name, inproc="x", concurrency=SLOTS) for name in inproc]
    async with hosting(tmp_path, *configs, inproc=inproc) as host:
        servers = Servers(host)
        for server in inproc.values():

            @server.tool()
            async def hang() -> str:
                servers.started.append("hang")
                await servers.released.wait()
                return "late"

            @server.tool()
            async def quick() -> str:
                return "here"

        yield servers
        servers.released.set()
        await asyncio.gather(*servers.hanging, return_exceptions=True)


async def test_hanging_calls_of_one_person_do_not_delay_another_person(servers: Servers) -> None:
    await servers.hang("ann", SHARE + MAX_WAITING_CALLS)
    assert "here" in (await servers.call("ben", "quick")).text
    assert len(servers.started) == SHARE
    assert not any(task.done() for task in servers.hanging)


async def test_a_call_beyond_the_queue_of_one_person_is_refused_in_a_sentence(servers: Servers) -> None:
    await servers.hang("ann", SHARE + MAX_WAITING_CALLS)
    with pytest.raises(ServerUnavailable, match="one has 20 of your calls waiting: wait until some are done"):
        await servers.call("ann", "quick")


async def test_a_server_that_hangs_delays_only_its_own_calls(servers: Servers) -> None:
    await servers.hang("ann", SHARE)
    await servers.hang("ben", SHARE)
    assert "here" in (await servers.call("ann", "quick", server="two")).text
    with pytest.raises(ServerUnavailable, match="busy"):
        await servers.call("cat", "quick", seconds=0.2)


async def test_a_slot_goes_to_a_person_without_one_before_the_next_call_of_the_first(
    servers: Servers,
) -> None:
    await servers.hang("ann", SHARE + 10)
    await servers.hang("ben", SHARE)
    late = asyncio.create_task(servers.call("cat", "quick"))
    await asyncio.sleep(0)
    servers.released.set()
    assert "here" in (await late).text


async def test_a_call_waits_for_a_slot_for_at_most_half_of_its_time(servers: Servers) -> None:
    await servers.hang("ann", SHARE)
    await servers.hang("ben", SHARE)
    waits = asyncio.create_task(servers.call("cat", "hang", seconds=0.6))
    with pytest.raises(ServerUnavailable):  # it does not start too late to finish
        await waits
    servers.released.set()
    await asyncio.gather(*servers.hanging)
    servers.released.clear()
    with pytest.raises(OutcomeUnknown):
        await servers.call("cat", "hang", seconds=0.2)


async def test_calls_of_one_person_over_many_servers_leave_a_thread_for_somebody_else(tmp_path: Path) -> None:
    """anyio has 40 threads by itself, and each of Ann's calls waits in one."""
    begun, go_on = list[str](), threading.Event()
    made = {f"s{number}": waiting_server(begun, go_on) for number in range(12)}
    configs = [ServerConfig(name=name, inproc=f"x:{name}", trust=Trust.BUNDLED) for name in made]
    async with hosting(tmp_path, *configs, inproc=made) as host:
        with for_owner("ann"):
            calls = [
                asyncio.create_task(host.call(name, "wait", b"{}", 50)) for name in made for _ in range(4)
            ]
        try:
            await until(lambda: len(begun) == len(calls))
            with for_owner("ben"):
                assert (await host.call("s0", "say", b"{}", 50)).text == "here"
        finally:
            go_on.set()
        await asyncio.gather(*calls)


def waiting_server(begun: list[str], go_on: threading.Event) -> MCPServer:
    server = MCPServer("x", version="1", log_level="ERROR")

    @server.tool()
    def wait() -> str:
        begun.append("")
        go_on.wait(60)
        return ""

    @server.tool()
    def say() -> str:
        return "here"

    return server


async def test_a_call_that_was_given_up_keeps_its_slot_until_its_thread_ends(tmp_path: Path) -> None:
    begun, go_on = list[str](), threading.Event()
    config = ServerConfig(name="one", inproc="x", trust=Trust.BUNDLED, concurrency=SLOTS)
    async with hosting(tmp_path, config, inproc={"one": waiting_server(begun, go_on)}) as host:
        with for_owner("ann"):
            called = [asyncio.create_task(host.call("one", "wait", b"{}", 50)) for _ in range(SHARE - 1)]
            late = asyncio.create_task(host.call("one", "wait", b"{}", 0.2))
        try:
            await until(lambda: len(begun) == SHARE)
            for call in called:
                call.cancel()
            with pytest.raises(OutcomeUnknown):
                await late
            with for_owner("ann"), pytest.raises(ServerUnavailable, match="busy"):
                await host.call("one", "say", b"{}", 0.2)
            with for_owner("ben"):
                assert (await host.call("one", "say", b"{}", 50)).text == "here"
        finally:
            go_on.set()
        with for_owner("ann"):
            assert (await host.call("one", "say", b"{}", 50)).text == "here"


async def test_a_thread_sees_that_its_call_was_given_up(tmp_path: Path) -> None:
    server, seen = MCPServer("x", version="1", log_level="ERROR"), list[str]()

    @server.tool()
    def look() -> str:
        seen.append("begun")
        try:
            while len(seen) == 1:
                from_thread.check_cancelled()
                time.sleep(0.005)
        finally:
            seen.append("ended")
        return ""

    config = ServerConfig(name="one", inproc="x", trust=Trust.BUNDLED)
    async with hosting(tmp_path, config, inproc={"one": server}) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("one", "look", b"{}", 0.2)
        await until(lambda: seen == ["begun", "ended"])
        seen.clear()
        call = asyncio.create_task(host.call("one", "look", b"{}", 50))
        await until(lambda: seen)
        call.cancel()
        await until(lambda: seen == ["begun", "ended"])
