"""Servers over HTTP: crashed, restarted, gone, or not willing to let us in."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gate.tool import OutcomeUnknown, ServerUnavailable
from tests.tools.hosts import hosting, state, until
from tools.connection import Times
from tools.servers import ServerConfig

SCRIPT = Path(__file__).with_name("http_server.py")
ADD = b'{"a":1,"b":2}'


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False


class Served:
    """A child process that can be killed and started again on the same port."""

    def __init__(self, trace: Path) -> None:
        self.port, self.trace = free_port(), trace
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.child = subprocess.Popen([sys.executable, str(SCRIPT), str(self.port), str(self.trace)])
        deadline = time.monotonic() + 40
        while not answers(self.port):
            assert time.monotonic() < deadline, "the HTTP server did not come up"
            time.sleep(0.02)

    def kill(self) -> None:
        if self.child:
            self.child.kill()
            self.child.wait()

    def config(self, mode: str = "auto") -> ServerConfig:
        return ServerConfig(name="web", url=f"http://127.0.0.1:{self.port}/mcp", mode=mode)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    server = Served(tmp_path / "trace")
    server.start()
    yield server
    server.kill()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_restarted_server_is_found_again(mode: str, served: Served, tmp_path: Path) -> None:
    async with hosting(tmp_path, served.config(mode)) as host:
        assert (await host.call("web", "add", ADD, 10)).structured == {"result": 3}
        await asyncio.to_thread(served.kill)
        await asyncio.to_thread(served.start)
        # The first call may find the old session forgotten. It must then say that it did not run.
        with contextlib.suppress(ServerUnavailable):
            await host.call("web", "add", ADD, 10)
        before = served.trace.read_text().count("add")
        assert (await host.call("web", "add", ADD, 20)).text == "3"
        assert served.trace.read_text().count("add") == before + 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_crash_in_the_middle_of_a_call_is_unknown(mode: str, served: Served, tmp_path: Path) -> None:
    times = Times(wait=0.3, delay=0.05, longest_delay=0.2)
    async with hosting(tmp_path, served.config(mode), times=times) as host:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            await host.call("web", "die", b"{}", 30)
        assert time.monotonic() - began < 15
        await until(lambda: state(host, "web") == "backoff")
        with pytest.raises(ServerUnavailable):
            await host.call("web", "add", ADD, 1)


async def test_calls_to_a_server_that_went_away_did_not_run_once_that_is_known(
    served: Served, tmp_path: Path
) -> None:
    times = Times(wait=0.5, delay=0.05, longest_delay=0.2)
    async with hosting(tmp_path, served.config(), times=times) as host:
        await asyncio.to_thread(served.kill)
        # The first may go into a connection whose end has not arrived yet: then nobody can know.
        with pytest.raises((ServerUnavailable, OutcomeUnknown)):
            await host.call("web", "add", ADD, 5)
        with pytest.raises(ServerUnavailable):
            await host.call("web", "add", ADD, 5)


async def test_a_hanging_call_is_unknown_at_its_limit_and_the_connection_lives(
    served: Served, tmp_path: Path
) -> None:
    async with hosting(tmp_path, served.config()) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("web", "hang", b"{}", 0.5)
        assert (await host.call("web", "add", ADD, 10)).text == "3"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_twenty_megabytes_over_http_are_clipped(mode: str, served: Served, tmp_path: Path) -> None:
    async with hosting(tmp_path, served.config(mode)) as host:
        assert (await host.call("web", "flood", b"{}", 30)).clipped
        assert (await host.call("web", "add", ADD, 20)).text == "3"


class Doorkeeper(http.server.BaseHTTPRequestHandler):
    """Lets nobody in."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


async def test_a_server_that_wants_a_login_is_in_backoff_and_says_so(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Doorkeeper) as door:
        threading.Thread(target=door.serve_forever, daemon=True).start()
        config = ServerConfig(name="web", url=f"http://127.0.0.1:{door.server_address[1]}/mcp")
        async with hosting(tmp_path, config, times=Times(delay=0.05, wait=0.2)) as host:
            assert state(host, "web") == "backoff"
            with pytest.raises(ServerUnavailable):
                await host.call("web", "add", ADD, 1)
            assert host.servers()[0].detail
        door.shutdown()
