"""What an HTTP status says about a call: certainly not run, answered, or unknown. Never the wrong one of these."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from gate.tool import OutcomeUnknown, ServerUnavailable
from tests.tools.hosts import hosting
from tools.servers import ServerConfig


class Scripted(http.server.BaseHTTPRequestHandler):
    """An MCP server of the older era that answers `tools/call` as its name says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, params = message.get("method"), message.get("params") or {}
        if self.path == "/elsewhere":
            self.hang_up()
        elif method == "initialize":
            about = {"name": "scripted", "version": "1"}
            self.result(
                message, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": about}
            )
        elif method == "tools/list":
            empty = {"type": "object"}
            names = [name.removeprefix("call_") for name in dir(self) if name.startswith("call_")]
            self.result(message, {"tools": [{"name": name, "inputSchema": empty} for name in names]})
        elif method == "tools/call":
            getattr(self, f"call_{params['name']}")(message)
        elif method == "notifications/cancelled":
            self.status(HTTPStatus.UNAUTHORIZED)
        else:
            self.status(HTTPStatus.ACCEPTED if "id" not in message else HTTPStatus.NOT_FOUND)

    def call_fine(self, message: Any) -> None:
        self.result(message, {"content": [{"type": "text", "text": "fine"}]})

    def call_forbidden(self, message: Any) -> None:
        self.status(HTTPStatus.FORBIDDEN)

    def call_limited(self, message: Any) -> None:
        self.status(HTTPStatus.TOO_MANY_REQUESTS)

    def call_foreign(self, message: Any) -> None:
        self.status(HTTPStatus.TEMPORARY_REDIRECT, Location="http://127.0.0.1:1/other")

    def call_moved(self, message: Any) -> None:
        self.status(HTTPStatus.TEMPORARY_REDIRECT, Location="/elsewhere")

    def call_broken(self, message: Any) -> None:
        self.status(HTTPStatus.INTERNAL_SERVER_ERROR)

    def call_gateway(self, message: Any) -> None:
        self.body(HTTPStatus.BAD_GATEWAY, {"error": "bad gateway"})

    def call_accepted(self, message: Any) -> None:
        self.status(HTTPStatus.ACCEPTED)

    def call_html(self, message: Any) -> None:
        self.body(HTTPStatus.OK, "<html>", kind="text/html")

    def call_nonsense(self, message: Any) -> None:
        self.body(HTTPStatus.OK, {"hello": "world"})

    def call_protest(self, message: Any) -> None:
        error = {"code": -32603, "message": "the backend said no"}
        self.body(HTTPStatus.INTERNAL_SERVER_ERROR, {"jsonrpc": "2.0", "id": message["id"], "error": error})

    def call_silence(self, message: Any) -> None:
        time.sleep(1.5)
        self.hang_up()

    def call_vanish(self, message: Any) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        self.close_connection = True
        self.connection.close()

    def result(self, message: Any, result: Any) -> None:
        self.body(HTTPStatus.OK, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def body(self, status: HTTPStatus, value: Any, kind: str = "application/json") -> None:
        data = json.dumps(value).encode()
        self.status(status, data, **{"Content-Type": kind})

    def status(self, status: HTTPStatus, data: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.status(HTTPStatus.METHOD_NOT_ALLOWED)

    def log_message(self, format: str, *args: object) -> None:
        return


class Quiet(http.server.ThreadingHTTPServer):
    """Clients that go away are part of these tests."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


@pytest.fixture
def scripted() -> Iterator[ServerConfig]:
    with Quiet(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        yield ServerConfig(name="web", url=url, mode="legacy")
        server.shutdown()


@pytest.mark.parametrize("tool", ["forbidden", "limited", "foreign"])
async def test_a_call_that_was_turned_away_did_not_run(
    tool: str, scripted: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted) as host:
        with pytest.raises(ServerUnavailable, match="turned it away: HTTP"):
            await host.call("web", tool, b"{}", 5)
        assert (await host.call("web", "fine", b"{}", 5)).text == "fine"


@pytest.mark.parametrize("tool", ["broken", "gateway", "accepted", "html", "nonsense", "vanish", "moved"])
async def test_a_call_that_reached_something_and_got_no_answer_is_unknown(
    tool: str, scripted: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("web", tool, b"{}", 5)
        assert (await host.call("web", "fine", b"{}", 20)).text == "fine"


async def test_a_late_call_stays_unknown_though_its_cancellation_is_turned_away(
    scripted: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("web", "silence", b"{}", 0.5)


async def test_an_error_in_the_body_is_an_answer_whatever_the_status(
    scripted: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted) as host:
        answer = await host.call("web", "protest", b"{}", 5)
        assert answer.is_error
        assert "the backend said no" in answer.text
