"""What an HTTP status says about a call: certainly not run, answered, or unknown."""

from __future__ import annotations

import asyncio
import gzip
import http.server
import json
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from gate.rules.tool import AnswerTooLong, OutcomeUnknown, ServerUnavailable
from tests.cpu_time import within
from tests.tools.mcp_hosts import hosting
from tools.mcp.http_client import WatchedClient
from tools.mcp.server_config import ServerConfig


class ScriptedServer(http.server.BaseHTTPRequestHandler):
    """An MCP server of the legacy protocol that answers `tools/call` as the tool's name says."""

    protocol_version = "HTTP/1.1"
    server: QuietHttpServer

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

    def call_large(self, message: Any) -> None:
        self.result(message, {"content": [{"type": "text", "text": "x" * 6_000_000}]})

    def call_dense(self, message: Any) -> None:
        self.result(message, {"content": [], "structuredContent": {"all": [[]] * 300_000}})

    def call_dense_event(self, message: Any) -> None:
        self.event(message, {"content": [], "structuredContent": {"all": [[]] * 300_000}})

    def call_small_event(self, message: Any) -> None:
        self.event(message, {"content": [{"type": "text", "text": "fine"}]})

    def call_charset(self, message: Any) -> None:
        """What no bound finds among the bytes, if they are read as the header says."""
        result = {"content": [], "structuredContent": {"all": [[]] * 300_000}}
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result})
        data = f"event: message\ndata: {body}\n\n".encode("cp037")
        self.status(HTTPStatus.OK, data, **{"Content-Type": "text/event-stream; charset=cp037"})

    def call_long_type(self, message: Any) -> None:
        body = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": {"content": [{"type": "text", "text": "fine"}]},
        }
        data = f"event: message\ndata: {json.dumps(body)}\n\n".encode()
        self.status(HTTPStatus.OK, data, **{"Content-Type": 'text/event-stream; x="' + ";" * 60_000})

    def call_compressed(self, message: Any) -> None:
        body = {"jsonrpc": "2.0", "id": message["id"], "result": {"content": []}}
        kind = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        self.status(HTTPStatus.OK, gzip.compress(json.dumps(body).encode()), **kind)

    def event(self, message: Any, result: Any) -> None:
        body = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        data = f"event: message\r\ndata: {json.dumps(body)}\r\n\r\n".encode()
        self.status(HTTPStatus.OK, b": hello\r\n\r\n" * 9 + data, **{"Content-Type": "text/event-stream"})

    def call_resumed(self, message: Any) -> None:
        """Ends its stream before the answer, to be resumed at once; so does each GET that resumes it."""
        self.status(HTTPStatus.OK, b"id: 1\nretry: 0\ndata: \n\n", **{"Content-Type": "text/event-stream"})

    def call_resumptions(self, message: Any) -> None:
        self.result(message, {"content": [{"type": "text", "text": str(self.server.resumptions)}]})

    def call_silence(self, message: Any) -> None:
        time.sleep(1.5)
        self.hang_up()

    def call_vanish(self, message: Any) -> None:
        self.hang_up()

    def call_hints(self, message: Any) -> None:
        self.endless(b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")

    def call_headers(self, message: Any) -> None:
        self.endless(b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"a" * 50 + b"\r\n")

    def call_one_header(self, message: Any) -> None:
        self.endless(b"HTTP/1.1 200 OK\r\nX-A: ", b"a" * 100)

    def call_few_hints(self, message: Any) -> None:
        self.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100)
        self.call_fine(message)

    def endless(self, first: bytes, more: bytes) -> None:
        self.wfile.write(first)
        while True:  # until the client hangs up
            self.wfile.write(more * 1000)

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
        if "Last-Event-ID" not in self.headers:
            self.status(HTTPStatus.METHOD_NOT_ALLOWED)
            return
        self.server.resumptions += 1
        self.call_resumed({})

    def log_message(self, format: str, *args: object) -> None:
        return


class QuietHttpServer(http.server.ThreadingHTTPServer):
    """Does not log clients that disconnect."""

    daemon_threads = True
    resumptions = 0

    def handle_error(self, request: Any, client_address: Any) -> None:
        return


@pytest.fixture
def scripted_server() -> Iterator[ServerConfig]:
    with QuietHttpServer(("127.0.0.1", 0), ScriptedServer) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
        yield ServerConfig(name="web", url=url, mode="legacy")
        server.shutdown()


@pytest.mark.parametrize("tool", ["forbidden", "limited", "foreign"])
async def test_a_call_with_a_rejecting_status_did_not_run(
    tool: str, scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises(ServerUnavailable, match="turned it away: HTTP"):
            await host.call("web", tool, b"{}", 5)
        assert (await host.call("web", "fine", b"{}", 5)).text == "fine"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("tool", ["broken", "gateway", "accepted", "html", "nonsense", "vanish", "moved"])
async def test_a_call_that_was_sent_and_got_no_usable_answer_is_unknown(
    tool: str, scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises(OutcomeUnknown):
            await host.call("web", tool, b"{}", 5)
        assert (await host.call("web", "fine", b"{}", 20)).text == "fine"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("tool", ["large", "dense", "dense_event"])
async def test_an_answer_that_is_too_large_is_refused(
    tool: str, scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises(AnswerTooLong, match="4 MiB, 25,000 lists"):
            await host.call("web", tool, b"{}", 20)
        assert (await host.call("web", "small_event", b"{}", 20)).text == "fine"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("tool", ["hints", "headers", "one_header"])
async def test_an_answer_that_does_not_begin_ends_the_call_in_words(
    tool: str, scripted_server: ServerConfig, tmp_path: Path
) -> None:
    with within(10, time.process_time):
        async with hosting(tmp_path, scripted_server) as host:
            async with asyncio.timeout(20):
                with pytest.raises(OutcomeUnknown, match="the connection to web broke before it answered"):
                    await host.call("web", tool, b"{}", 60)
            assert (await host.call("web", "few_hints", b"{}", 20)).text == "fine"


def test_httpx_still_has_what_the_bound_on_heads_needs() -> None:
    """Private names: where one is gone or ignored, endless 1xx responses are endless again."""
    client = WatchedClient()
    transport: Any = client._transport
    assert type(transport._pool._network_backend).__module__ == "tools.http_bounds"
    assert isinstance(client._mounts, dict)


async def test_an_answer_is_read_as_it_is_counted_whatever_its_header_says(
    scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises((OutcomeUnknown, AnswerTooLong)):
            await host.call("web", "charset", b"{}", 20)
        with within(0.5):
            assert (await host.call("web", "long_type", b"{}", 20)).text == "fine"


async def test_a_compressed_answer_is_refused(scripted_server: ServerConfig, tmp_path: Path) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises(OutcomeUnknown, match="compressed"):
            await host.call("web", "compressed", b"{}", 20)


async def test_a_late_call_stays_unknown_when_its_cancellation_is_rejected(
    scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("web", "silence", b"{}", 0.5)


async def test_a_stream_that_ends_again_and_again_is_resumed_once_a_second(
    scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        with pytest.raises(OutcomeUnknown, match="in time"):
            await host.call("web", "resumed", b"{}", 0.5)
        assert (await host.call("web", "resumptions", b"{}", 20)).text == "1"


async def test_a_json_rpc_error_is_an_answer_whatever_the_status(
    scripted_server: ServerConfig, tmp_path: Path
) -> None:
    async with hosting(tmp_path, scripted_server) as host:
        answer = await host.call("web", "protest", b"{}", 5)
        assert answer.is_error
        assert "the backend said no" in answer.text
