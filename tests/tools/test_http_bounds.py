"""Bounds on what is read of one answer over HTTP."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext

import httpcore2
import httpx2
import pytest

from tools.http_bounds import MAX_HEAD_LINES, OwnTurns, keep_bounds, reading_head
from tools.name_lookups import NameLookups

HEADER = b"a:b\r\n"  # short, so that many are within the bytes


@pytest.mark.parametrize(("lines", "is_read"), [(100, True), (MAX_HEAD_LINES + 1, False)])
async def test_a_head_has_so_many_lines_and_no_more(lines: int, is_read: bool) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + HEADER * lines + b"\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server, httpx2.AsyncClient() as client:
        keep_bounds(client, OwnTurns(), NameLookups())
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with reading_head() as bound:
            if is_read:
                assert (await client.get(url)).status_code == httpx2.codes.OK
            else:
                with pytest.raises(httpx2.RemoteProtocolError, match="2,000 lines"):
                    await client.get(url)
        assert bound.exceeded != is_read


class Arrived(httpcore2.AsyncNetworkStream):
    """A connection on which something has arrived."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return b"x" * max_bytes


class Connecting(httpcore2.AsyncNetworkBackend):
    """Connects to that."""

    async def connect_tcp(self, *args: object, **more: object) -> httpcore2.AsyncNetworkStream:
        return Arrived()


@pytest.mark.parametrize("is_bounded", [True, False])
async def test_what_arrives_on_many_connections_is_given_out_in_turns_of_the_loop_of_their_own(
    is_bounded: bool,
) -> None:
    turn, read = 0, list[int]()

    async def count() -> None:
        nonlocal turn
        while True:
            await asyncio.sleep(0)
            turn += 1

    async def one(client: httpx2.AsyncClient) -> None:
        assert isinstance(client._transport, httpx2.AsyncHTTPTransport)
        stream = await client._transport._pool._network_backend.connect_tcp("192.0.2.1", 80)
        assert await stream.read(10)
        read.append(turn)

    counting = asyncio.create_task(count())
    async with httpx2.AsyncClient() as client:
        assert isinstance(client._transport, httpx2.AsyncHTTPTransport)
        client._transport._pool._network_backend = Connecting()
        keep_bounds(client, OwnTurns(), NameLookups())
        with reading_head() if is_bounded else nullcontext():
            await asyncio.gather(*(one(client) for _ in range(20)))
    counting.cancel()
    assert len(read) == len(set(read)) == 20
