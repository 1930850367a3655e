"""Servers over HTTP: crashed, restarted, gone, or without our credentials."""

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

from gate.rules.tool import AnswerTooLong, OutcomeUnknown, ServerUnavailable
from tests.tools.mcp_hosts import hosting, state, until
from tools.mcp.connection import Timeouts
from tools.mcp.server_config import ServerConfig

SCRIPT = Path(__file__).with_name("http_server.py")
ADD = b'{"a":1,"b":2}'


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def accepts_connections(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
        return True
    return False


class HttpServerProcess:
    """An MCP server in a child process that can be killed and started again on the same port."""

    def __init__(self, trace: Path) -> None:
        self.port, self.trace = free_port(), trace
        self.child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.child = subprocess.Popen([sys.executable, str(SCRIPT), str(self.port), str(self.trace)])
        deadline = time.monotonic() + 40
        while not accepts_connections(self.port):
            assert time.monotonic() < deadline, "the HTTP server did not come up"
            time.sleep(0.02)

    def kill(self) -> None:
        if self.child:
            self.child.kill()
            self.child.wait()

    def config(self, mode: str = "auto") -> ServerConfig:
        return ServerConfig(name="web", url=f"http://127.0.0.1:{self.port}/mcp", mode=mode)


@pytest.fixture
def server_process(tmp_path: Path) -> Iterator[HttpServerProcess]:
    server = HttpServerProcess(tmp_path / "trace")
    server.start()
    yield server
    server.kill()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_restarted_server_is_reconnected(
    mode: str, server_process: HttpServerProcess, tmp_path: Path
) -> None:
    async with hosting(tmp_path, server_process.config(mode)) as host:
        assert (await host.call("web", "add", ADD, 10)).structured == {"result": 3}
        await asyncio.to_thread(server_process.kill)
        await asyncio.to_thread(server_process.start)
        # The first call may use the old session, which the server does not know. Then it is reported as not run.
        with contextlib.suppress(ServerUnavailable):
            await host.call("web", "add", ADD, 10)
        before = server_process.trace.read_text().count("add")
        assert (await host.call("web", "add", ADD, 20)).text == "3"
        assert server_process.trace.read_text().count("add") == before + 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_crash_during_a_call_makes_it_unknown(
    mode: str, server_process: HttpServerProcess, tmp_path: Path
) -> None:
    timeouts = Timeouts(reconnect=0.3, first_retry=0.05, longest_retry=0.2)
    async with hosting(tmp_path, server_process.config(mode), timeouts=timeouts) as host:
        began = time.monotonic()
        with pytest.raises(OutcomeUnknown):
            await host.call("web", "die", b"{}", 30)
        assert time.monotonic() - began < 15
        await until(lambda: state(host, "web") == "backoff")
        with pytest.raises(ServerUnavailable):
            await host.call("web", "add", ADD, 1)


@pytest.mark.slow
async def test_calls_to_a_killed_server_do_not_run_once_its_end_is_seen(
    server_process: HttpServerProcess, tmp_path: Path
) -> None:
    timeouts = Timeouts(reconnect=0.5, first_retry=0.05, longest_retry=0.2)
    async with hosting(tmp_path, server_process.config(), timeouts=timeouts) as host:
        await asyncio.to_thread(server_process.kill)
        # The first call may be written to a connection whose end has not arrived yet: then its outcome is unknown.
        with pytest.raises((ServerUnavailable, OutcomeUnknown)):
            await host.call("web", "add", ADD, 5)
        with pytest.raises(ServerUnavailable):
            await host.call("web", "add", ADD, 5)


@pytest.mark.slow
async def test_a_hanging_http_call_is_unknown_at_its_limit_and_the_connection_stays(
    server_process: HttpServerProcess, tmp_path: Path
) -> None:
    async with hosting(tmp_path, server_process.config()) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("web", "hang", b"{}", 0.5)
        assert (await host.call("web", "add", ADD, 10)).text == "3"


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_answer_of_20_megabytes_over_http_is_refused(
    mode: str, server_process: HttpServerProcess, tmp_path: Path
) -> None:
    async with hosting(tmp_path, server_process.config(mode)) as host:
        with pytest.raises(AnswerTooLong, match="4 MiB"):
            await host.call("web", "flood", b"{}", 30)
        assert (await host.call("web", "add", ADD, 20)).text == "3"


class Unauthorized(http.server.BaseHTTPRequestHandler):
    """Answers every request with 401."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        return


async def test_a_server_that_requires_authentication_is_in_backoff_with_a_reason(tmp_path: Path) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Unauthorized) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        config = ServerConfig(name="web", url=f"http://127.0.0.1:{server.server_address[1]}/mcp")
        async with hosting(tmp_path, config, timeouts=Timeouts(first_retry=0.05, reconnect=0.2)) as host:
            assert state(host, "web") == "backoff"
            with pytest.raises(ServerUnavailable):
                await host.call("web", "add", ADD, 1)
            assert host.servers()[0].detail
        server.shutdown()
