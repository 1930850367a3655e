"""The turns of people before the sandbox: many files of one do not keep those of another waiting."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server import MCPServer

from gate.rules.jobs import OWNER, for_owner
from gate.rules.tool import Trust
from servers.sandbox import calling
from servers.sandbox.calling import AT_ONCE, PER_OWNER, Job, Limits, Sandbox
from servers.sandbox.task_queue import Turns
from tests.servers.test_sandbox import children
from tests.tools.mcp_hosts import hosting, until
from tools.mcp.client import Host
from tools.mcp.server_config import ServerConfig

SHORT = Limits(seconds=0)


def test_an_owner_who_asks_beside_a_busy_one_has_a_turn_at_once() -> None:
    turns = Turns(8, 3)
    with ExitStack() as stack:
        of_ann = [stack.enter_context(turns.queued("ann")) for _ in range(20)]
        assert [turn.is_set() for turn in of_ann] == [True] * 3 + [False] * 17
        assert stack.enter_context(turns.queued("ben")).is_set()


def test_a_place_that_becomes_free_goes_to_whoever_has_waited_the_longest_for_a_turn() -> None:
    turns, order = Turns(1, 1), list[str]()
    waiting = [(owner, turns.queued(owner)) for owner in ("ann", "ann", "ann", "ben", "carl", "ben")]
    queued = [(owner, turn, turn.__enter__()) for owner, turn in waiting]
    while queued:
        ((owner, turn, _),) = ours = [one for one in queued if one[2].is_set()]
        queued.remove(*ours)
        turn.__exit__(None, None, None)
        order.append(owner)
    assert order == ["ann", "ann", "ben", "carl", "ann", "ben"]


def test_who_no_longer_waits_leaves_the_queue() -> None:
    turns = Turns(1, 1)
    with turns.queued("ann") as first:
        with turns.queued("ann") as given_up:
            assert first.is_set()
            assert not given_up.is_set()
        with turns.queued("ben") as next_one:
            assert not next_one.is_set()
    with turns.queued("carl") as alone:
        assert alone.is_set()


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(0, 9)), max_size=40))
def test_no_more_run_than_may_and_nobody_waits_who_may_run(steps: list[tuple[str, bool, int]]) -> None:
    turns, held = Turns(4, 2), list[tuple[str, ExitStack, threading.Event]]()
    for owner, comes, number in steps:
        if comes or not held:
            stack = ExitStack()
            held.append((owner, stack, stack.enter_context(turns.queued(owner))))
        else:
            held.pop(number % len(held))[1].close()
        running = [owner for owner, _, turn in held if turn.is_set()]
        assert len(running) <= 4
        assert all(running.count(each) <= 2 for each in "abc")
        waiting = {owner for owner, _, turn in held if not turn.is_set()}
        assert all(len(running) == 4 or running.count(each) == 2 for each in waiting)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = Sandbox("tests.servers")
    made.tell_apart(OWNER.get)
    yield made
    made.stop()
    while (
        made._turns._taken
    ):  # what had waited for a turn has begun since, in a thread that outlives its call
        made.stop()
        threading.Event().wait(0.02)


@pytest.fixture
async def host(sandbox: Sandbox, tmp_path: Path) -> AsyncIterator[Host]:
    """Two servers of ours with the same two tools, over one sandbox."""
    made = {name: opener(name, sandbox) for name in ("data", "document")}
    configs = [ServerConfig(name=name, inproc=f"servers.{name}:server", trust=Trust.BUNDLED) for name in made]
    async with hosting(tmp_path, *configs, inproc=made) as host:
        yield host


def opener(name: str, sandbox: Sandbox) -> MCPServer:
    server = MCPServer(name, version="1", log_level="ERROR")

    @server.tool()
    def hang() -> str:
        return sandbox.call(Job("sandboxed.hang", limits=Limits(seconds=600))).refused

    @server.tool()
    def echo() -> str:
        return sandbox.call(Job("sandboxed.echo", [b"small"])).data.decode()

    return server


@pytest.mark.slow
async def test_the_files_of_one_person_over_all_servers_leave_room_for_those_of_another(
    host: Host, sandbox: Sandbox
) -> None:
    with for_owner("ann"):
        await host.call("data", "echo", b"{}", 50)  # the fork server is there
        hanging = [
            asyncio.create_task(host.call(server, "hang", b"{}", 50))
            for server in ("data", "document")
            for _ in range(AT_ONCE)
        ]
    try:
        await until(lambda: len(children(sandbox)) == PER_OWNER)
        with for_owner("ben"):
            for server in ("data", "document"):
                assert (await host.call(server, "echo", b"{}", 50)).text == "small"
        await until(lambda: len(children(sandbox)) == PER_OWNER)
        assert not any(task.done() for task in hanging)
    finally:
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


def test_nobody_is_told_apart_where_nobody_says_for_whom_a_file_is_opened() -> None:
    with ExitStack() as stack:
        sandbox = Sandbox("tests.servers")
        turns = [stack.enter_context(sandbox._turns.queued(sandbox._owner())) for _ in range(AT_ONCE)]
        assert all(turn.is_set() for turn in turns)


def test_a_call_without_a_turn_says_that_it_was_not_opened(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "WAIT_SECONDS", 0.0)
    with ExitStack() as stack, for_owner("ann"):
        for _ in range(PER_OWNER):
            stack.enter_context(sandbox._turns.queued("ann"))
        result = sandbox.call(Job("sandboxed.echo", limits=Limits(seconds=0)))
    assert (result.refused, result.stopped, result.seconds) == (calling.BUSY, True, 0.0)


def test_a_wait_for_a_turn_is_longer_than_an_ordinary_task_may_run() -> None:
    assert calling.LIMITS.seconds < calling.WAIT_SECONDS


def in_another_thread(do: Callable[[], object]) -> None:
    thread = threading.Thread(target=do)
    thread.start()
    thread.join()


def test_the_calls_within_a_turn_wait_for_no_other_one(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def echoed() -> None:
        said.append(sandbox.call(Job("sandboxed.echo", [b"small"])).data)

    said = list[bytes]()
    monkeypatch.setattr(calling, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(sandbox, "_turns", Turns(1, 1))
    with sandbox.turn() as came, sandbox.turn() as again:
        assert came
        assert again
        echoed()
        echoed()
        in_another_thread(
            lambda: said.append(sandbox.call(Job("sandboxed.echo", limits=SHORT)).refused.encode())
        )
    in_another_thread(echoed)
    echoed()
    assert said == [b"small", b"small", calling.BUSY.encode(), b"small", b"small"]


def test_a_turn_that_does_not_come_is_not_held(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calling, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(sandbox, "_turns", turns := Turns(1, 1))
    with turns.queued(""):
        with sandbox.turn() as came:
            assert not came
        assert sandbox.call(Job("sandboxed.echo", limits=SHORT)).refused == calling.BUSY
