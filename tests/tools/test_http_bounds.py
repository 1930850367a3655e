"""Bounds on what is read of one answer over HTTP."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from tools.http_bounds import MAX_HEAD_LINES, keep_bounds, reading_head

HEADER = b"a:b\r\n"  # short, so that many are within the bytes


@pytest.mark.parametrize(("lines", "is_read"), [(100, True), (MAX_HEAD_LINES + 1, False)])
async def test_a_head_has_so_many_lines_and_no_more(lines: int, is_read: bool) -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + HEADER * lines + b"\r\n")
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server, httpx2.AsyncClient() as client:
        keep_bounds(client)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        with reading_head() as bound:
            if is_read:
                assert (await client.get(url)).status_code == httpx2.codes.OK
            else:
                with pytest.raises(httpx2.RemoteProtocolError, match="2,000 lines"):
                    await client.get(url)
        assert bound.exceeded != is_read
