"""WatchedTransport: what it records of a call, how many requests it admits, and how fast it reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx2
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from tests.tools.transport_fakes import MemoryTransport, RecordedThrottle
from tools.http_bounds import OwnTurns
from tools.mcp.http_client import WatchedClient, _LimitedBody
from tools.mcp.limits import PARSE_BURST, PARSE_SHARE, PER_REQUEST, TOO_LONG, ParseThrottle
from tools.mcp.server_config import ServerConfig
from tools.mcp.session import (
    CURRENT_CALL,
    LONGEST_ID,
    MAX_OPEN_REQUESTS,
    MOST_CALLS,
    CallTrace,
    WatchedTransport,
)
from tools.mcp.stdio import _receive
from tools.mcp.transport import Connector


def request(method: str = "tools/call") -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=7, method=method))


async def test_a_call_that_the_transport_accepts_counts_as_sent() -> None:
    memory, call = MemoryTransport(), CallTrace()
    async with WatchedTransport(memory.transport(), lambda: None) as (_, write):
        CURRENT_CALL.set(call)
        await write.send(request())
        await write.send(request("tools/list"))
    assert call.sent == 1


async def test_a_call_that_the_transport_refuses_does_not_count_as_sent() -> None:
    memory, call = MemoryTransport(), CallTrace()
    async with WatchedTransport(memory.transport(), lambda: None) as (_, write):
        CURRENT_CALL.set(call)
        memory.to_server.close()
        with pytest.raises(anyio.BrokenResourceError):
            await write.send(request())
    assert call.sent == 0


async def test_an_error_response_is_recorded_on_the_call_with_its_id() -> None:
    memory, call = MemoryTransport(), CallTrace()
    async with WatchedTransport(memory.transport(), lambda: None) as (read, write):
        CURRENT_CALL.set(call)
        await write.send(request())
        error = ErrorData(code=-32000, message="no")
        await memory.from_server.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=8, error=error)))
        await memory.from_server.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=7, error=error)))
        await read.receive()
        assert not call.has_answer
        await read.receive()
        assert call.has_answer


async def test_the_close_callback_is_called_at_the_end_and_invalid_lines_pass_through() -> None:
    memory, closed = MemoryTransport(), [False]
    async with WatchedTransport(memory.transport(), lambda: closed.__setitem__(0, True)) as (read, _):
        noise = ValueError("not JSON")
        await memory.from_server.send(noise)
        await memory.from_server.send(
            SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"content": []}))
        )
        memory.from_server.close()
        items = [item async for item in read]
        assert len(items) == 2
        assert items[0] is noise
    assert closed == [True]


def ping(number: int) -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=f"p{number}", method="ping"))


async def test_a_server_that_takes_no_answers_has_a_bounded_number_of_open_requests() -> None:
    """Each of its requests is a task and a waiting answer: without a bound they fill the memory."""
    memory = MemoryTransport()
    async with (
        WatchedTransport(memory.transport(), lambda: None) as (read, write),
        anyio.create_task_group() as group,
    ):
        group.start_soon(_send_requests, memory, 3 * MAX_OPEN_REQUESTS)
        items = [item async for item in read]
        assert len(items) == MAX_OPEN_REQUESTS
        assert len({_id(item) for item in items}) == MAX_OPEN_REQUESTS
        with anyio.move_on_after(0.01):
            await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id="p0", result={})))


def _id(item: Any) -> str:
    return str(item.message.id)


async def _send_requests(memory: MemoryTransport, times: int) -> None:
    for number in range(times):
        await memory.from_server.send(ping(number % (2 * MAX_OPEN_REQUESTS)))
    memory.from_server.close()


async def test_a_request_with_a_long_id_which_would_be_kept_is_dropped() -> None:
    memory = MemoryTransport()
    async with WatchedTransport(memory.transport(), lambda: None) as (read, _):
        long = JSONRPCRequest(jsonrpc="2.0", id="i" * (LONGEST_ID + 1), method="ping")
        for message in (SessionMessage(long), ping(1)):
            await memory.from_server.send(message)
        assert _id(await read.receive()) == "p1"


async def test_an_answered_or_cancelled_request_admits_another() -> None:
    memory = MemoryTransport()
    async with WatchedTransport(memory.transport(), lambda: None) as (read, write):
        for number in range(3 * MAX_OPEN_REQUESTS):
            await memory.from_server.send(ping(number))
            assert _id(await read.receive()) == f"p{number}"
            if number % 2:
                await write.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=f"p{number}", result={})))
                await memory.to_server.receive()
            else:
                params = {"requestId": f"p{number}"}
                await memory.from_server.send(
                    SessionMessage(
                        JSONRPCNotification(jsonrpc="2.0", method="notifications/cancelled", params=params)
                    )
                )
                await read.receive()


async def test_a_request_of_a_server_counts_for_its_share_with_what_its_answer_takes() -> None:
    """A server that asks without end over HTTP is answered over a connection each time."""
    memory, throttle = MemoryTransport(), RecordedThrottle()
    watched = WatchedTransport(memory.transport(), lambda: None, throttle=throttle, per_answer=1000.0)
    answer = SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"content": []}))
    async with watched as (read, _):
        for sent in (ping(1), answer, ping(2), ping(2)):
            await memory.from_server.send(sent)
        memory.from_server.close()
        assert len([item async for item in read]) == 3
    assert [seconds >= 1000 for seconds in throttle.charged] == [True, False, True, False]


@pytest.mark.parametrize(
    ("config", "per_answer"),
    [
        (ServerConfig(name="s", url="http://server.example/mcp"), PER_REQUEST),
        (ServerConfig(name="s", command="server"), 0.0),
    ],
    ids=["over HTTP", "over its input"],
)
async def test_only_an_answer_over_http_takes_a_request(
    config: ServerConfig, per_answer: float, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        watched = await Connector(config, tmp_path)._watched(stack, lambda: None)
    assert watched.per_answer == per_answer


def test_messages_of_a_server_take_their_share_of_loop_time_after_a_burst() -> None:
    throttle = ParseThrottle()
    assert throttle.charge(100.0, PARSE_BURST) == 0
    assert throttle.charge(100.0, 0.1) == pytest.approx(0.1 / PARSE_SHARE)
    assert throttle.charge(100.0 + 0.1 / PARSE_SHARE, 0.2) == pytest.approx(0.2 / PARSE_SHARE)
    assert throttle.charge(1000.0, PARSE_BURST) == 0


class SmallChunks(httpx2.AsyncByteStream):
    """A body that has arrived completely, in very small chunks."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"\n"


async def test_a_body_in_small_chunks_lets_other_tasks_run_between_them() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    async with anyio.create_task_group() as group:
        group.start_soon(others)
        async for _ in _LimitedBody(
            SmallChunks(), httpx2.Headers({"content-type": "text/event-stream"}), ParseThrottle(), OwnTurns()
        ):
            pass
        group.cancel_scope.cancel()
    assert turns >= 150


class Chunks(httpx2.AsyncByteStream):
    """A body in these chunks."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            yield chunk


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: {}\n\ndata: " + b"9" * 4_000 + b"\n\ndata: {}"],
        [b"data: " + b"9" * 300, b"9" * 300 + b"\n\ndata: {}"],
        [b"data: {}\n\ndata: " + b"9" * 300, b"9" * 300 + b"\n\n"],
    ],
    ids=["whole in one chunk", "ends in the next", "begins behind another"],
)
async def test_each_event_of_a_stream_is_measured_wherever_it_is_cut(chunks: list[bytes]) -> None:
    headers = httpx2.Headers({"content-type": "text/event-stream"})
    with pytest.raises(httpx2.SSEError, match=TOO_LONG):
        [chunk async for chunk in _LimitedBody(Chunks(*chunks), headers, ParseThrottle(), OwnTurns())]


async def test_the_events_of_a_stream_are_measured_apart() -> None:
    events = [b'data: {"a": ' + b"9" * 300 + b"}\n\n"] * 3
    headers = httpx2.Headers({"content-type": "text/event-stream"})
    found = [chunk async for chunk in _LimitedBody(Chunks(*events), headers, ParseThrottle(), OwnTurns())]
    assert found == events


class Turns(httpx2.AsyncByteStream):
    """A body of two chunks that have arrived, which remembers the turns of the loop in which the second is taken."""

    def __init__(self, turn: list[int], taken: list[int]) -> None:
        self._turn, self._taken = turn, taken

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b"1"
        self._taken.append(self._turn[0])
        yield b"1"


async def test_what_is_behind_the_chunks_of_many_bodies_is_parsed_in_turns_of_their_own() -> None:
    turn, taken, turns, throttle = [0], list[int](), OwnTurns(), ParseThrottle()

    async def count() -> None:
        while True:
            await anyio.lowlevel.checkpoint()
            turn[0] += 1

    async def read() -> None:
        async for _ in _LimitedBody(Turns(turn, taken), httpx2.Headers(), throttle, turns):
            pass

    counting = asyncio.create_task(count())
    await asyncio.gather(*(read() for _ in range(20)))
    counting.cancel()
    assert len(taken) == len(set(taken)) == 20


class Empty(httpx2.AsyncBaseTransport):
    """Answers each request at once, with nothing."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, request=request)


async def test_there_is_a_gap_between_two_gets_of_a_server() -> None:
    async with WatchedClient(get_gap=0.1, transport=Empty()) as client:
        began = anyio.current_time()
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(client.get, "http://server.example/")
        assert anyio.current_time() - began >= 0.2


async def test_a_post_does_not_wait_for_the_gap_between_gets() -> None:
    async with WatchedClient(get_gap=1000, transport=Empty()) as client:
        with anyio.fail_after(20):
            await client.get("http://server.example/")
            await client.post("http://server.example/", json={})


async def test_gets_of_a_server_count_for_its_share_of_loop_time() -> None:
    async with WatchedClient(transport=Empty()) as client:
        began, level = anyio.current_time(), PARSE_BURST + 0.1 * PARSE_SHARE
        client._throttle.charge(began, level - PER_REQUEST)
        await client.post("http://server.example/", json={})  # what is sent to it is ours
        await client.get("http://server.example/")
        assert anyio.current_time() - began >= 0.1


class ChattyProcess:
    """A child process that writes messages as fast as they are read."""

    def __init__(self) -> None:
        self.stdout = self._lines()

    async def _lines(self) -> AsyncIterator[bytes]:
        while True:
            yield b'{"jsonrpc":"2.0","method":"notifications/progress"}\n' * 100


@pytest.mark.slow
async def test_a_chatty_server_is_read_at_a_limited_rate() -> None:
    incoming, read = anyio.create_memory_object_stream[Any](0)
    received = 0
    with anyio.move_on_after(4):
        async with anyio.create_task_group() as group, read:
            child: Any = ChattyProcess()
            group.start_soon(_receive, child, incoming, 1000, ParseThrottle())
            async for _ in read:
                received += 1
                if received == 10_000:  # without the throttle this takes about a second
                    break
            group.cancel_scope.cancel()
    assert received < 10_000


def test_of_calls_that_are_never_answered_the_newest_are_remembered() -> None:
    watched = WatchedTransport(None, lambda: None)  # type: ignore[arg-type]
    for number in range(MOST_CALLS + 50):
        watched.note(number, CallTrace())
    assert [*watched.calls] == [*range(50, MOST_CALLS + 50)]
