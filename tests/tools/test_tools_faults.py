"""Servers that crash, hang, send invalid or too much data: what the caller gets, and that other calls go on."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from pathlib import Path

import pytest
from mcp.client.stdio import StdioServerParameters
from mcp.server import MCPServer

from gate.rules.tool import AnswerTooLong, OutcomeUnknown, ServerUnavailable
from tests.tools.mcp_hosts import hosting, raw, state, trace_count, until
from tools.mcp import stdio as transport
from tools.mcp.connection import Timeouts
from tools.mcp.server_config import ServerConfig
from tools.mcp.stdio import ErrorLog, stdio


async def test_a_server_killed_during_a_call_makes_it_unknown_and_is_restarted(
    tmp_path: Path,
) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace))) as host:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown, match="broke before it answered"):
            await host.call("raw", "die", b"{}", 20)
        assert time.monotonic() - began < 2
        assert trace_count(trace, "die") == 1
        assert (await host.call("raw", "echo", b'{"a":1}', 20)).text == '{"a": 1}'


@pytest.mark.slow
async def test_a_hanging_call_is_unknown_at_its_limit_and_blocks_no_other_server(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(), raw("other")) as host:
        began = time.monotonic()
        hanging = asyncio.create_task(host.call("raw", "hang", b"{}", 0.5))
        assert (await host.call("other", "echo", b"{}", 5)).text == "{}"
        with pytest.raises(OutcomeUnknown, match="did not answer in time"):
            await hanging
        assert 0.4 < time.monotonic() - began < 4


@pytest.mark.slow
async def test_the_lower_limit_of_server_and_caller_applies(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(timeout=0.3)) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("raw", "hang", b"{}", 60)


async def test_an_in_process_tool_that_blocks_its_thread_is_abandoned_at_its_limit(tmp_path: Path) -> None:
    server = MCPServer("stuck")
    release: list[bool] = []

    @server.tool()
    def block() -> str:
        while not release:
            time.sleep(0.01)
        return "late"

    async with hosting(tmp_path, ServerConfig(name="in", inproc="x"), inproc={"in": server}) as host:
        with pytest.raises(OutcomeUnknown, match="did not answer in time"):
            await host.call("in", "block", b"{}", 0.2)
        release.append(True)


@pytest.mark.slow
async def test_a_server_that_stops_answering_is_restarted(tmp_path: Path) -> None:
    timeouts = Timeouts(connect=20, listing=0.5, health_check=60, reconnect=20, first_retry=0.05)
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace)), timeouts=timeouts) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("raw", "hang", b"{}", 0.2)
        await until(lambda: trace.read_text().count("pid") == 2)
        assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"


async def test_the_exit_of_an_idle_server_is_noticed_at_once(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace))) as host:
        os.kill(int(trace.read_text().split()[1]), 9)
        await until(lambda: state(host) != "ready", 5)
        assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"
        assert trace_count(trace, "echo") == 1


async def test_a_call_while_the_server_is_disconnected_does_not_run(tmp_path: Path) -> None:
    gone = ServerConfig(name="gone", command="/nonexistent/program")
    timeouts = Timeouts(reconnect=0.2, first_retry=0.05, longest_retry=0.1)
    async with hosting(tmp_path, gone, timeouts=timeouts) as host:
        with pytest.raises(ServerUnavailable, match="no program or folder"):
            await host.call("gone", "anything", b"{}", 5)
        with pytest.raises(ServerUnavailable, match="there is no server"):
            await host.call("nobody", "anything", b"{}", 5)


@pytest.mark.slow
async def test_a_call_beyond_the_concurrency_limit_waits_and_then_does_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(concurrency=1, trace=str(trace))) as host:
        first = asyncio.create_task(host.call("raw", "hang", b"{}", 2))
        await until(lambda: trace_count(trace, "hang") == 1)
        with pytest.raises(ServerUnavailable, match="busy"):
            await host.call("raw", "echo", b"{}", 0.2)
        with pytest.raises(OutcomeUnknown):
            await first
        assert trace_count(trace, "echo") == 0


async def test_a_banner_on_stdout_is_ignored(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(banner=True)) as host:
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_a_server_that_exits_on_discovery_is_connected_with_the_legacy_protocol(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(mode="auto", on_discover="exit")) as host:
        assert state(host) == "ready"
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_one_silent_server_delays_no_other_server(tmp_path: Path) -> None:
    timeouts = Timeouts(connect=1.0, reconnect=0.2, first_retry=0.05)
    began = time.monotonic()
    async with hosting(tmp_path, raw("mute", silent=True), raw("fine"), wait=0, timeouts=timeouts) as host:
        await until(lambda: state(host, "fine") == "ready")
        assert state(host, "mute") == "connecting"
        assert (await host.call("fine", "echo", b"{}", 5)).text == "{}"
        await until(lambda: state(host, "mute") == "backoff")
        assert "no answer within 1 seconds" in str(host.servers()[0].detail)
        began = time.monotonic()
    assert time.monotonic() - began < 6


async def test_stop_does_not_wait_for_a_connection_that_never_completes(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(silent=True, trace=str(trace)), wait=0) as host:
        await until(trace.exists)
        began = time.monotonic()
        await host.stop()
        assert time.monotonic() - began < 4
        assert state(host) == "stopped"


@pytest.mark.slow
async def test_servers_that_ignore_termination_are_stopped_concurrently(tmp_path: Path) -> None:
    traces = [tmp_path / "one", tmp_path / "two"]
    servers = [raw(t.name, stubborn=True, trace=str(t)) for t in traces]
    async with hosting(tmp_path, *servers) as host:
        pids = [int(trace.read_text().split()[1]) for trace in traces]
        began = time.monotonic()
        await host.stop()
        assert time.monotonic() - began < 7  # 2 s to exit and 2 s after SIGTERM, once and not twice
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# Writes its process id to the file that is its argument, closes its output, and ignores the end of its input.
DEAF = 'exec 9>> "$0"; echo $$ >&9; {} exec sleep 300 >&-'


def pids(trace: Path) -> list[int]:
    return [int(pid) for pid in trace.read_text().split()] if trace.exists() else []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_server_that_closes_its_output_before_the_limit_for_connecting_is_ended_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit, and then the shutdown, come while its exit is waited for."""
    monkeypatch.setattr(transport, "EXIT_SECONDS", 0.5)
    trace = tmp_path / "trace"
    deaf = ServerConfig(
        name="deaf", command="/bin/sh", args=("-c", DEAF.format(""), str(trace)), mode="legacy"
    )
    timeouts = Timeouts(connect=0.25, first_retry=0.01, longest_retry=0.01)
    async with hosting(tmp_path, deaf, wait=0, timeouts=timeouts):
        await until(lambda: len(pids(trace)) >= 3)
        assert not any(map(alive, pids(trace)[:-1]))
    assert not any(map(alive, pids(trace)))


@pytest.mark.parametrize("which", ["the connection", "everything"])
async def test_a_server_is_ended_however_often_the_waiting_for_its_exit_is_cancelled(
    which: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "EXIT_SECONDS", 0.3)
    held, connected, before = tmp_path / "held", asyncio.Event(), asyncio.all_tasks()
    os.mkfifo(held)
    holders = os.open(held, os.O_RDONLY | os.O_NONBLOCK)

    async def connection() -> None:
        script = DEAF.format("sleep 300 >&- &")  # a process of its own, which has the file open, too
        server = StdioServerParameters(command="/bin/sh", args=["-c", script, str(held)])
        async with stdio(server, ErrorLog(tmp_path / "log")) as (read, _):
            connected.set()
            async for _ in read:
                pass

    task = asyncio.create_task(connection())
    await until(lambda: connected.is_set() and said(holders))
    while not task.done():
        for each in {task} if which == "the connection" else asyncio.all_tasks() - before:
            each.cancel()
        await asyncio.wait({task}, timeout=0.01)
    assert task.cancelled()
    await until(lambda: said(holders) == b"", 5)  # nobody has it open
    os.close(holders)
    assert asyncio.all_tasks() == before
    await until(lambda: not any("waitpid" in one.name for one in threading.enumerate()), 5)  # it is taken in


def said(pipe: int) -> bytes | None:
    try:
        return os.read(pipe, 100)
    except BlockingIOError:
        return None


async def test_an_invalid_tool_is_reported_and_the_others_are_used(tmp_path: Path) -> None:
    more = [
        {"name": "no_schema", "inputSchema": {}},
        {"name": "not_a_schema", "inputSchema": {"type": "object", "properties": {"a": {"type": "wat"}}}},
        {"name": "far", "inputSchema": {"type": "object", "properties": {"a": {"$ref": "https://x.test/s"}}}},
        {"name": "two\nlines", "inputSchema": {"type": "object"}},
        {"inputSchema": {"type": "object"}},
        {"name": "good", "inputSchema": {"type": "object"}},
    ]
    async with hosting(tmp_path, raw(only=["echo"], more=more)) as host:
        assert [spec.name for spec in host.specs()] == ["echo", "good"]
        text = "\n".join(host.problems_found)
        for name in (
            "raw.no_schema",
            "raw.not_a_schema",
            "raw.far",
            r"'two\nlines'",
            "'a tool without a name'",
        ):
            assert name in text
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_all_pages_of_a_listing_are_read(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(page=3)) as host:
        assert len(host.specs()) == 10


async def test_an_error_of_the_tool_is_an_answer(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        refused = await host.call("raw", "refuse", b"{}", 5)
        assert (refused.is_error, refused.text) == (True, "the disk is full")


async def test_a_server_error_with_the_code_of_a_closed_connection_is_an_answer(
    tmp_path: Path,
) -> None:
    async with hosting(tmp_path, raw()) as host:
        protest = await host.call("raw", "protest", b"{}", 5)
        assert protest.is_error
        assert "backend busy" in protest.text


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["broken_promise", "garbage"])
async def test_an_invalid_result_is_unknown_because_the_tool_ran(tool: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace))) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("raw", tool, b"{}", 5)
        assert trace_count(trace, tool) == 1


async def test_a_long_answer_is_clipped(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(flood=3_000_000)) as host:
        answer = await host.call("raw", "flood", b"{}", 60)
        assert answer.clipped
        assert len(answer.text) == 256 * 1024


@pytest.mark.slow
async def test_an_answer_of_20_megabytes_is_refused_and_other_servers_still_answer(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(), raw("other")) as host:
        flood = asyncio.create_task(host.call("raw", "flood", b"{}", 60))
        waits = [0.0]
        while not flood.done():
            began = time.monotonic()
            await host.call("other", "echo", b"{}", 20)
            waits.append(time.monotonic() - began)
        with pytest.raises(AnswerTooLong, match="4 MiB"):
            await flood
        assert max(waits) < 4
        assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"


async def test_content_parts_other_than_text_are_named(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        answer = await host.call("raw", "mixed", b"{}", 5)
        assert answer.text == "one\n[image, image/png, about 3 bytes]\ntwo\n[link to file:///b.txt]"


async def test_standard_error_goes_to_a_rotated_file(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(stderr=3_000_000)):
        log = tmp_path / "raw.log"
        await until(lambda: log.with_suffix(".log.1").exists())
        kept = log.with_suffix(".log.1").stat()
        assert (kept.st_size < 1_100_000, oct(kept.st_mode)) == (True, "0o100600")


async def test_standard_error_without_end_fills_no_disk_and_holds_up_no_call(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(chatter=True)) as host:
        await until(lambda: (tmp_path / "raw.log.1").exists())
        sizes = [0]
        for _ in range(20):
            assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"
            sizes.append(size_of_logs(tmp_path))
        assert max(sizes) < 2_200_000


def size_of_logs(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("raw.log*"))


def test_standard_error_that_the_disk_refuses_is_dropped(tmp_path: Path) -> None:
    (tmp_path / "raw.log").mkdir()
    ErrorLog(tmp_path / "raw.log").write(b"lost")
    ErrorLog(tmp_path / "other.log", limit=4).write(b"kept")
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["other.log.1", "raw.log"]


@pytest.mark.slow
async def test_a_busy_server_is_not_restarted(tmp_path: Path) -> None:
    timeouts = Timeouts(health_check=0.1, listing=0.2, first_retry=0.05)
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace)), timeouts=timeouts) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("raw", "hang", b"{}", 1.0)
        assert trace.read_text().count("pid") == 1
