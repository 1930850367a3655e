"""What strangers have the bot hold in memory goes back to the system, or never comes."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from bot import slack_app
from bot.connections import Connection
from tests.bot.test_connections import opened, served
from tests.bot.test_engine_runs import until

# Bodies of a megabyte that grow between small things which stay
CROWD = """
from bot.memory import return_large_blocks
{}
def held():
    return int(next(l for l in open("/proc/self/status") if l.startswith("VmRSS")).split()[1]) // 1024
before, kept = held(), []
for _ in range(20):
    bodies = [bytearray() for _ in range(48)]
    for _ in range(16):
        for body in bodies:
            body += bytes(65_536)
            kept.append(bytes(600))
    bodies.clear()
print(held() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="of glibc")
def test_what_many_bodies_took_is_given_back() -> None:
    by_itself, told = (
        int(subprocess.check_output([sys.executable, "-c", CROWD.format(call)], text=True))
        for call in ("", "return_large_blocks()")
    )
    assert told < 40  # MB: of what is kept there are 9
    assert told < by_itself / 2


async def test_of_a_body_that_no_handler_reads_little_is_taken_off_the_socket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken, real, most = 0, Connection.buffer_updated, 100_000

    def noted(self: Connection, nbytes: int) -> None:
        nonlocal taken
        taken += nbytes
        real(self, nbytes)

    async def unread(self: web.Request) -> bytes:
        await until(lambda: self.protocol._reading_paused)
        for _ in range(50):
            await asyncio.sleep(0)
        return b""

    monkeypatch.setattr(Connection, "buffer_updated", noted)
    monkeypatch.setattr(web.Request, "read", unread)
    sent = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 1048576\r\n\r\n" + b"a" * 1_048_575
    async with served() as port, opened(port, 1, sent) as [(reader, _)]:
        async with asyncio.timeout(10):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        assert 0 < taken < most


async def test_an_unfinished_body_is_not_kept_with_its_error() -> None:
    class Broken:
        async def iter_any(self) -> Any:
            yield b"a" * 1_000_000
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError) as error:
        await slack_app._read(cast(web.Request, SimpleNamespace(content=Broken())), lambda _: None)
    [found] = [one.frame.f_locals["found"] for one in error.traceback if "found" in one.frame.f_locals]
    assert len(found) == 0
