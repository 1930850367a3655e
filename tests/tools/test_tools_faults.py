"""Servers that die, hang, lie, flood and change: what a caller is told, and who else suffers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from mcp.server import MCPServer

from gate.tool import OutcomeUnknown, ServerUnavailable
from tests.tools.hosts import hosting, raw, state, until
from tools.connection import Times
from tools.servers import ServerConfig


def ran(trace: Path, word: str) -> int:
    return trace.read_text().split("\n").count(word)


async def test_a_server_killed_in_the_middle_of_a_call_leaves_it_unknown_and_comes_back(
    tmp_path: Path,
) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace))) as host:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown, match="broke before it answered"):
            await host.call("raw", "die", b"{}", 20)
        assert time.monotonic() - began < 2
        assert ran(trace, "die") == 1
        assert (await host.call("raw", "echo", b'{"a":1}', 20)).text == '{"a": 1}'


async def test_a_call_that_hangs_is_unknown_at_its_limit_and_blocks_nobody_else(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(), raw("other")) as host:
        began = time.monotonic()
        hanging = asyncio.create_task(host.call("raw", "hang", b"{}", 0.5))
        assert (await host.call("other", "echo", b"{}", 5)).text == "{}"
        with pytest.raises(OutcomeUnknown, match="did not answer in time"):
            await hanging
        assert 0.4 < time.monotonic() - began < 4


async def test_the_server_s_own_limit_holds_below_the_caller_s(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(timeout=0.3)) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("raw", "hang", b"{}", 60)


async def test_an_in_process_tool_that_blocks_its_thread_is_given_up_at_its_limit(tmp_path: Path) -> None:
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


async def test_a_server_that_stopped_answering_is_found_out_and_replaced(tmp_path: Path) -> None:
    times = Times(connect=20, listing=0.5, health=60, wait=20, delay=0.05)
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace)), times=times) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("raw", "hang", b"{}", 0.2)
        await until(lambda: trace.read_text().count("pid") == 2)
        assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"


async def test_the_death_of_an_idle_server_is_noticed_at_once(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace))) as host:
        os.kill(int(trace.read_text().split()[1]), 9)
        await until(lambda: state(host) != "ready", 5)
        assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"
        assert ran(trace, "echo") == 1


async def test_a_call_while_the_server_is_away_did_not_run(tmp_path: Path) -> None:
    gone = ServerConfig(name="gone", command="/nonexistent/program")
    times = Times(wait=0.2, delay=0.05, longest_delay=0.1)
    async with hosting(tmp_path, gone, times=times) as host:
        with pytest.raises(ServerUnavailable, match="no program or folder"):
            await host.call("gone", "anything", b"{}", 5)
        with pytest.raises(ServerUnavailable, match="there is no server"):
            await host.call("nobody", "anything", b"{}", 5)


async def test_too_many_calls_at_once_wait_their_turn_and_then_did_not_run(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(concurrency=1, trace=str(trace))) as host:
        first = asyncio.create_task(host.call("raw", "hang", b"{}", 2))
        await until(lambda: ran(trace, "hang") == 1)
        with pytest.raises(ServerUnavailable, match="busy"):
            await host.call("raw", "echo", b"{}", 0.2)
        with pytest.raises(OutcomeUnknown):
            await first
        assert ran(trace, "echo") == 0


async def test_a_banner_on_stdout_does_no_harm(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(banner=True)) as host:
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_a_server_that_exits_on_the_modern_question_is_asked_the_old_way(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(mode="auto", on_discover="exit")) as host:
        assert state(host) == "ready"
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_one_silent_server_delays_nobody(tmp_path: Path) -> None:
    times = Times(connect=1.0, wait=0.2, delay=0.05)
    began = time.monotonic()
    async with hosting(tmp_path, raw("mute", silent=True), raw("fine"), wait=0, times=times) as host:
        await until(lambda: state(host, "fine") == "ready")
        assert state(host, "mute") == "connecting"
        assert (await host.call("fine", "echo", b"{}", 5)).text == "{}"
        await until(lambda: state(host, "mute") == "backoff")
        assert "no answer within 1 seconds" in str(host.servers()[0].detail)
        began = time.monotonic()
    assert time.monotonic() - began < 6


async def test_stopping_does_not_wait_for_a_connection_that_never_comes(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(silent=True, trace=str(trace)), wait=0) as host:
        await until(trace.exists)
        began = time.monotonic()
        await host.stop()
        assert time.monotonic() - began < 4
        assert state(host) == "stopped"


async def test_servers_that_ignore_the_end_are_stopped_side_by_side(tmp_path: Path) -> None:
    traces = [tmp_path / "one", tmp_path / "two"]
    servers = [raw(t.name, stubborn=True, trace=str(t)) for t in traces]
    async with hosting(tmp_path, *servers) as host:
        pids = [int(trace.read_text().split()[1]) for trace in traces]
        began = time.monotonic()
        await host.stop()
        assert time.monotonic() - began < 7  # 2 s of patience and 2 s after SIGTERM, once and not twice
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


async def test_a_bad_tool_is_named_and_left_out_while_the_others_live(tmp_path: Path) -> None:
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
        told = "\n".join(host.problems_found)
        for name in (
            "raw.no_schema",
            "raw.not_a_schema",
            "raw.far",
            r"'two\nlines'",
            "'a tool without a name'",
        ):
            assert name in told
        assert (await host.call("raw", "echo", b"{}", 5)).text == "{}"


async def test_a_page_is_asked_for_until_there_are_no_more(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(page=3)) as host:
        assert len(host.specs()) == 10


async def test_a_tool_s_own_error_is_an_answer(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        refused = await host.call("raw", "refuse", b"{}", 5)
        assert (refused.is_error, refused.text) == (True, "the disk is full")


async def test_an_error_of_the_server_is_an_answer_even_under_the_code_of_a_broken_line(
    tmp_path: Path,
) -> None:
    async with hosting(tmp_path, raw()) as host:
        protest = await host.call("raw", "protest", b"{}", 5)
        assert protest.is_error
        assert "backend busy" in protest.text


@pytest.mark.parametrize("tool", ["broken_promise", "garbage"])
async def test_a_result_that_breaks_its_promise_is_unknown_because_the_tool_ran(
    tool: str, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace))) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("raw", tool, b"{}", 5)
        assert ran(trace, tool) == 1


async def test_twenty_megabytes_are_clipped_and_others_still_answer(tmp_path: Path) -> None:
    """What is measured on two loaded cores: others wait up to 0.5 s each while the SDK reads (10 s in all)."""
    async with hosting(tmp_path, raw(), raw("other")) as host:
        flood = asyncio.create_task(host.call("raw", "flood", b"{}", 60))
        waits = []
        while not flood.done():
            began = time.monotonic()
            await host.call("other", "echo", b"{}", 20)
            waits.append(time.monotonic() - began)
        answer = await flood
        assert answer.clipped
        assert len(answer.text) == 256 * 1024
        assert max(waits) < 4


async def test_parts_that_are_no_text_are_named(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw()) as host:
        answer = await host.call("raw", "mixed", b"{}", 5)
        assert answer.text == "one\n[image, image/png, about 3 bytes]\ntwo\n[link to file:///b.txt]"


async def test_standard_error_goes_to_a_file_that_stays_small(tmp_path: Path) -> None:
    times = Times(health=0.2, delay=0.05)
    async with hosting(tmp_path, raw(stderr=3_000_000), times=times):
        log = tmp_path / "raw.log"
        await until(lambda: log.with_suffix(".log.1").exists())
        assert log.stat().st_size < 3_000_000
        assert log.with_suffix(".log.1").stat().st_size == 1_000_000


async def test_a_busy_server_is_not_taken_for_dead(tmp_path: Path) -> None:
    times = Times(health=0.1, listing=0.2, delay=0.05)
    trace = tmp_path / "trace"
    async with hosting(tmp_path, raw(trace=str(trace)), times=times) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("raw", "hang", b"{}", 1.0)
        assert trace.read_text().count("pid") == 1
