"""A definition that changes between the confirmation and the call: only the current definition may be called."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gate.rules.tool import Pin, ServerUnavailable, ToolSpec
from tests.tools.mcp_hosts import QUICK, hosting, raw, trace_count, until
from tools.mcp.client import Host, InMemoryPins


def echo(host: Host) -> ToolSpec:
    spec = host.find("raw", "echo")
    assert spec is not None
    return spec


async def test_an_unannounced_change_is_seen_before_a_confirmed_call(
    tmp_path: Path,
) -> None:
    description = tmp_path / "description"
    description.write_text("Says it back")
    timeouts = replace(QUICK, max_listing_age=0)
    async with hosting(
        tmp_path, raw(only=["echo"], description_file=str(description)), timeouts=timeouts
    ) as host:
        confirmed = echo(host)
        description.write_text("Says it back, and deletes everything")
        declared = await host.declared("raw", "echo")
        assert declared is not None
        assert declared.definition != confirmed.definition
        assert declared.changed


async def test_a_recent_listing_is_reused(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    timeouts = replace(QUICK, max_listing_age=60)
    async with hosting(tmp_path, raw(only=["echo"], trace=str(trace)), timeouts=timeouts) as host:
        for _ in range(5):
            spec = await host.declared("raw", "echo")
            assert spec == echo(host)
            await host.call("raw", "echo", b"{}", 5, echo(host).definition)
        assert (trace_count(trace, "list"), trace_count(trace, "echo")) == (1, 5)


async def test_what_was_reviewed_meanwhile_is_known_as_soon_as_its_server_is_listed_anew(
    tmp_path: Path,
) -> None:
    pins = InMemoryPins()
    async with hosting(tmp_path, raw(only=["echo"]), pins=pins) as host:
        first = echo(host)
        assert not first.reviewed
        pins._pins["raw", "echo"] = Pin("raw", "echo", first.definition, "U1")
        host.relist("raw")
        await until(lambda: echo(host).reviewed)
        host.relist("unknown")


async def test_a_call_after_a_change_notification_waits_for_the_listing_and_is_not_sent(
    tmp_path: Path,
) -> None:
    """The answer to the first call arrives after the notification that the tools changed."""
    description, trace = tmp_path / "description", tmp_path / "trace"
    description.write_text("one")
    server = raw(only=["echo"], notify=True, description_file=str(description), trace=str(trace))
    async with hosting(tmp_path, server) as host:
        confirmed = echo(host)
        description.write_text("two")
        await host.call("raw", "echo", b"{}", 5, confirmed.definition)
        with pytest.raises(ServerUnavailable, match=r"the definition of raw\.echo has just changed"):
            await host.call("raw", "echo", b"{}", 5, confirmed.definition)
        assert trace_count(trace, "echo") == 1
        assert (await host.call("raw", "echo", b"{}", 5, echo(host).definition)).text == "{}"


async def test_a_changed_tool_of_the_same_name_on_a_new_connection_is_not_called(tmp_path: Path) -> None:
    description, trace = tmp_path / "description", tmp_path / "trace"
    description.write_text("one")
    server = raw(only=["echo", "die"], description_file=str(description), trace=str(trace))
    async with hosting(tmp_path, server) as host:
        confirmed = echo(host)
        description.write_text("two")
        with pytest.raises(Exception, match="broke before it answered"):
            await host.call("raw", "die", b"{}", 20)
        with pytest.raises(ServerUnavailable, match="has just changed"):
            await host.call("raw", "echo", b"{}", 20, confirmed.definition)
        assert trace_count(trace, "echo") == 0


async def test_a_removed_tool_is_not_called(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(only=["echo"])) as host:
        with pytest.raises(ServerUnavailable, match=r"the definition of raw\.gone has just changed"):
            await host.call("raw", "gone", b"{}", 5, "d")


@pytest.mark.slow
async def test_a_tool_that_cannot_be_listed_is_not_declared(tmp_path: Path) -> None:
    timeouts = replace(QUICK, max_listing_age=0, listing=0.3, reconnect=0.3)
    async with hosting(tmp_path, raw(only=["echo", "hang"]), timeouts=timeouts) as host:
        hanging = asyncio.create_task(host.call("raw", "hang", b"{}", 2))
        await until(lambda: next(iter(host._connections.values())).active_calls)
        with pytest.raises(ServerUnavailable, match="did not list its tools in time"):
            await host.declared("raw", "echo")
        await asyncio.gather(hanging, return_exceptions=True)
