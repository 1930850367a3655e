"""The line's notes on a call: what left, what never did, and who answered."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCRequest, JSONRPCResponse

from tools.line import FLIGHT, Flight, Line


class Pipes:
    """Both ends of a transport in memory."""

    def __init__(self) -> None:
        self.to_us, self.ours = anyio.create_memory_object_stream[Any](5)
        self.outward, self.taken = anyio.create_memory_object_stream[Any](5)

    @asynccontextmanager
    async def transport(self) -> AsyncIterator[tuple[Any, Any]]:
        try:
            yield self.ours, self.outward
        finally:
            for stream in (self.to_us, self.ours, self.outward, self.taken):
                stream.close()


def request(method: str = "tools/call") -> SessionMessage:
    return SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=7, method=method))


async def test_a_call_that_the_transport_takes_has_left() -> None:
    pipes, flight = Pipes(), Flight()
    async with Line(pipes.transport(), lambda: None) as (_, write):
        FLIGHT.set(flight)
        await write.send(request())
        await write.send(request("tools/list"))
    assert flight.sent == 1


async def test_a_call_that_the_transport_does_not_take_has_not_left() -> None:
    pipes, flight = Pipes(), Flight()
    async with Line(pipes.transport(), lambda: None) as (_, write):
        FLIGHT.set(flight)
        pipes.taken.close()
        with pytest.raises(anyio.BrokenResourceError):
            await write.send(request())
    assert flight.sent == 0


async def test_an_error_is_noted_on_the_flight_that_asked() -> None:
    pipes, flight = Pipes(), Flight()
    async with Line(pipes.transport(), lambda: None) as (read, write):
        FLIGHT.set(flight)
        await write.send(request())
        error = ErrorData(code=-32000, message="no")
        await pipes.to_us.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=8, error=error)))
        await pipes.to_us.send(SessionMessage(JSONRPCError(jsonrpc="2.0", id=7, error=error)))
        await read.receive()
        assert not flight.answered
        await read.receive()
        assert flight.answered


async def test_the_end_is_told_once_it_comes_and_noise_passes_through() -> None:
    pipes, ended = Pipes(), [False]
    async with Line(pipes.transport(), lambda: ended.__setitem__(0, True)) as (read, _):
        noise = ValueError("not JSON")
        await pipes.to_us.send(noise)
        await pipes.to_us.send(SessionMessage(JSONRPCResponse(jsonrpc="2.0", id=1, result={"content": []})))
        pipes.to_us.close()
        items = [item async for item in read]
        assert len(items) == 2
        assert items[0] is noise
    assert ended == [True]
