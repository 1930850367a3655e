"""The listening socket under attack: unfinished requests, too many connections and readers that do not read."""

from __future__ import annotations

import asyncio
import gc
import gzip
import logging
import math
import resource
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest
from aiohttp import http_parser, web
from aiohttp.web_protocol import RequestHandler

from bot import connections
from bot.connections import BUSY, PIECE_BYTES, SOON, Connection, Connections, listening
from bot.http_limits import RESERVED, HttpLimits, fitted, network_of
from bot.http_refusals import HEAD_BYTES
from bot.parse_queue import ParseQueue
from handlers.api.request import SLACK, identify
from tests.bot.test_engine_runs import until

UNFINISHED = b"POST /slack/events HTTP/1.1\r\nHost: x\r\nX-Slack-Signature: v0="
LARGE = 64 * 1024 * 1024
BUSY_SECONDS = 0.1  # many times what a request takes otherwise
Line = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _health(_: web.Request) -> web.Response:
    return web.json_response({"ok": True})


async def _signed(request: web.Request) -> web.Response:
    identify(request, SLACK)
    return web.json_response({"ok": True})


async def _token(request: web.Request) -> web.Response:
    identify(request, "agent")
    return web.json_response({"ok": True})


async def _unread(_: web.Request) -> web.Response:
    return web.Response(body=b"x" * LARGE)


async def _broken(_: web.Request) -> web.Response:
    raise ConnectionRefusedError


async def _body(request: web.Request) -> web.Response:
    await request.read()
    return web.Response()


async def _busy(request: web.Request) -> web.Response:
    """Computes, before it knows who asks or after it."""
    if request.query:
        identify(request, SLACK)
    await asyncio.sleep(0)
    end = time.thread_time() + BUSY_SECONDS
    while time.thread_time() < end:
        pass
    return web.Response()


@asynccontextmanager
async def served(**limits: float) -> AsyncIterator[int]:
    app = web.Application()
    app.router.add_get("/healthz", _health)
    app.router.add_get("/signed", _signed)
    app.router.add_route("*", "/token", _token)
    app.router.add_get("/unread", _unread)
    app.router.add_get("/broken", _broken)
    app.router.add_post("/body", _body)
    app.router.add_get("/busy", _busy)
    async with listening(app, "127.0.0.1", 0, HttpLimits(**limits), grace=0.1) as port:  # type: ignore[arg-type]
        yield port


@asynccontextmanager
async def opened(port: int, count: int, sent: bytes = UNFINISHED) -> AsyncIterator[list[Line]]:
    """Connections that have sent this and nothing more."""
    lines: list[Line] = []
    async with AsyncExitStack() as stack:
        for _ in range(count):
            line = await asyncio.open_connection("127.0.0.1", port)
            stack.callback(line[1].transport.abort)
            line[1].write(sent)
            lines.append(line)
        yield lines


async def get(port: int, path: str) -> str:
    """The first line of the answer to a request on a new connection."""
    async with opened(port, 1, request(path)) as [(reader, _)]:
        async with asyncio.timeout(10):
            return (await reader.readline()).decode().strip()


def request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def gone(line: Line) -> None:
    """Wait until the other side has ended this connection."""
    async with asyncio.timeout(20):
        with suppress(ConnectionResetError):
            await line[0].read()


async def test_connections_with_unfinished_headers_do_not_keep_a_request_from_its_answer() -> None:
    async with served(connections=64, per_address=1000) as port, opened(port, 300) as lines:
        assert await get(port, "/healthz") == "HTTP/1.1 200 OK"
        await gone(lines[0])


async def test_one_address_does_not_use_up_the_connections_of_the_others() -> None:
    async with served(connections=1000, per_address=10) as port, opened(port, 30) as lines:
        await asyncio.gather(*(gone(line) for line in lines[:20]))
        assert not any(line[0].at_eof() for line in lines[20:])
        assert await get(port, "/healthz") == "HTTP/1.1 200 OK"


async def test_bodies_that_never_end_do_not_keep_a_request_from_its_answer() -> None:
    stalled = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"
    async with served(connections=32, per_address=1000) as port, opened(port, 100, stalled):
        assert await get(port, "/healthz") == "HTTP/1.1 200 OK"


async def test_an_authenticated_connection_stays_while_strangers_come_and_go() -> None:
    async with served(connections=32, per_address=4) as port, opened(port, 1, request("/signed")) as [known]:
        assert (await known[0].readline()).startswith(b"HTTP/1.1 200")
        await known[0].readuntil(b"}")
        async with opened(port, 100):
            assert await get(port, "/healthz") == "HTTP/1.1 200 OK"
            known[1].write(request("/signed"))
            assert (await known[0].readline()).startswith(b"HTTP/1.1 200")


async def test_headers_have_to_arrive_in_time_for_the_first_request_and_for_the_next() -> None:
    async with served(headers=0.2) as port:
        async with opened(port, 1) as [first]:
            await gone(first)
        async with opened(port, 1, request("/healthz")) as [second]:
            await second[0].readuntil(b"}")
            second[1].write(UNFINISHED)
            await gone(second)


async def test_a_connection_that_only_waits_between_requests_is_not_late() -> None:
    async with served(headers=0.1) as port, opened(port, 1, request("/token")) as [line]:
        await line[0].readuntil(b"}")
        async with opened(port, 1) as [late]:
            await gone(late)  # its time began later, and is over
        line[1].write(request("/token"))
        assert (await line[0].readline()).startswith(b"HTTP/1.1 200")


@pytest.mark.slow
async def test_a_reader_that_does_not_read_is_hung_up_on() -> None:
    slow, clock = 1.5, asyncio.get_running_loop().time  # long enough for a reader that shares a busy core
    async with served(slow=slow) as port, opened(port, 1, request("/unread")) as [line]:
        line[1].transport.pause_reading()  # type: ignore[attr-defined]
        began = clock()
        async with opened(port, 1, request("/unread")) as [(reader, _)]:
            async with asyncio.timeout(30):
                await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(LARGE)
        await asyncio.sleep(began + 2 * slow - clock())  # until the one that does not read is hung up on
        line[1].transport.resume_reading()  # type: ignore[attr-defined]
        try:
            got = await line[0].read()
        except ConnectionResetError:
            got = b""
        assert len(got) < LARGE


async def test_the_log_has_one_line_for_all_the_connections_that_were_ended(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with served(connections=32, per_address=1000) as port, opened(port, 200) as lines:
        await asyncio.gather(*(gone(line) for line in lines[:150]))
        async with opened(port, 20, b"\x16\x03\x01 no HTTP\r\n\r\n") as others:
            await asyncio.gather(*(gone(line) for line in others))
    told = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "made way for a newer connection" in told[0].getMessage()
    assert "is not HTTP" in told[0].getMessage()
    assert not any(one.exc_info for one in told)


BROKEN_OFF = {
    "a body": b"Content-Length: 5\r\n\r\nab",
    "a body that was to be asked for": b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
    "a chunk": b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
    "an upgrade": b"Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 5\r\n\r\n",
}


@pytest.mark.parametrize("sent", BROKEN_OFF.values(), ids=BROKEN_OFF)
async def test_the_log_has_one_line_for_all_the_requests_that_were_broken_off(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with served() as port:
        for _ in range(20):
            async with opened(port, 1, b"POST /body HTTP/1.1\r\nHost: x\r\n" + sent) as [(_, writer)]:
                await writer.drain()
        assert await get(port, "/healthz") == "HTTP/1.1 200 OK"
    told = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert not any(one.exc_info for one in told)
    assert len(told) <= 1
    assert all("went away before they were answered" in one.getMessage() for one in told)


TOO_LONG = {"a header": b"GET /body HTTP/1.1\r\nX: " + b"a" * 40_000, "a path": b"GET /" + b"a" * 40_000}


@pytest.mark.parametrize("sent", TOO_LONG.values(), ids=TOO_LONG)
async def test_the_log_has_one_line_for_all_the_requests_with_a_line_that_is_too_long(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    """aiohttp has an answer to them as well, and tries to write it behind ours."""
    async with served() as port:
        for _ in range(20):
            async with opened(port, 1, sent) as [(reader, _)], asyncio.timeout(10):
                assert (await reader.readline()).startswith(b"HTTP/1.1 4")
        assert await get(port, "/healthz") == "HTTP/1.1 200 OK"
    told = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert not any(one.exc_info for one in told)
    assert len(told) == 1
    assert "20 asked for no path, or sent something that is not HTTP" in told[0].getMessage()


class Fake(asyncio.Transport):
    """A transport that takes whatever is written."""

    def write(self, data: Any) -> None:
        """Dropped."""

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        """Nothing is open."""


def told_of_tasks(caplog: pytest.LogCaptureFixture) -> list[str]:
    gc.collect()  # what a task ended with is told when the task is deleted
    return [one.getMessage() for one in caplog.records if one.name == "asyncio"]


async def test_requests_of_connections_that_are_lost_before_their_turn_are_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runner = web.AppRunner(web.Application())
    await runner.setup()
    assert runner.server is not None
    async with served():
        for _ in range(3):
            handler = runner.server()
            handler.connection_made(Fake())
            await asyncio.sleep(0)
            handler.data_received(request("/healthz"))
            handler.connection_lost(None)
            del handler
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        assert not told_of_tasks(caplog)
    await runner.cleanup()
    assert "3 went away before they were answered" in caplog.text


def not_callable(what: Any = None) -> None:
    what()


def another_text() -> None:
    raise TypeError("'int' object is not callable")


@pytest.mark.slow
@pytest.mark.parametrize("fails", [not_callable, another_text])
async def test_other_errors_of_tasks_are_logged(
    fails: Callable[[], None], caplog: pytest.LogCaptureFixture
) -> None:
    async def start() -> None:
        fails()

    async with served():
        task = asyncio.create_task(start())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert task.done()
        del task
        assert len(told_of_tasks(caplog)) == 1
    logging.getLogger("asyncio").error("a text alone")
    assert len(told_of_tasks(caplog)) == 2


async def test_a_defect_of_a_handler_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as port:
        assert "500" in await get(port, "/broken")
    assert [type(one.exc_info[1]) for one in caplog.records if one.exc_info] == [ConnectionRefusedError]


class Open(Connection):
    """A connection that is open, and notes that it was ended."""

    def __init__(self, address: str, idle: bool = True, waits: bool = False, fresh: bool = False) -> None:
        super().__init__(Connections(HttpLimits()), asyncio.Protocol, address)
        self.ended, self._idle, self._waits = False, idle, waits
        self.active = math.inf if fresh else -math.inf

    @property
    def idle(self) -> bool:
        return self._idle

    @property
    def waits(self) -> bool:
        return self._waits

    def abort(self) -> None:
        self.ended = True


async def test_a_connection_is_refused_where_all_others_are_in_use() -> None:
    every = Connections(HttpLimits(connections=2, per_address=9))

    for _ in range(2):
        used = Open("10.0.0.1", idle=False)
        assert every.admit(used)
        every.know(used, SLACK)
    assert not every.admit(Open("10.0.0.1"))
    assert len(every) == 2
    every.report()


async def test_an_idle_known_connection_makes_way_before_a_new_one_is_refused() -> None:
    every = Connections(HttpLimits(connections=2, per_address=9))
    ones = [Open("10.0.0.1") for _ in range(3)]
    for one in ones:
        assert every.admit(one)
        every.know(one, "agent")
    assert [one.ended for one in ones] == [True, False, False]
    every.report()


async def test_one_token_has_so_many_connections_and_the_one_that_is_idle_the_longest_makes_way() -> None:
    every = Connections(HttpLimits(per_token=3))
    streams = [Open("10.0.0.1", idle=False) for _ in range(2)]
    idle = [Open(f"10.0.0.{number}") for number in range(3)]
    for one in (*streams, *idle):
        assert every.admit(one)
        every.know(one, "agent")
    assert [one.ended for one in (*streams, *idle)] == [False, False, True, True, False]
    every.know(streams[0], "agent")  # with one more request
    assert len(every) == 3
    every.report()


async def test_slack_and_every_token_have_connections_of_their_own() -> None:
    every = Connections(HttpLimits(per_token=3))
    ones = {sender: [Open("10.0.0.1") for _ in range(4)] for sender in (SLACK, "agent", "other")}
    for number in range(4):
        for sender, those in ones.items():
            assert every.admit(those[number])
            every.know(those[number], sender)
    assert [sum(one.ended for one in those) for those in ones.values()] == [0, 1, 1]
    every.report()


async def test_tokens_leave_a_quarter_of_all_connections_to_others() -> None:
    every = Connections(HttpLimits(connections=8, per_address=9))
    first, second = ([Open("10.0.0.1", idle=False) for _ in range(4)] for _ in range(2))
    for one in (*first, *second):
        assert every.admit(one)
        every.know(one, "first" if one in first else "second")
    assert [one.ended for one in first] == [True, False, False, False]
    assert [one.ended for one in second] == [True, False, False, False]
    assert every.admit(Open("10.0.0.2"))
    every.report()


async def test_a_connection_of_which_nothing_was_read_yet_makes_way_for_no_crowd() -> None:
    every = Connections(HttpLimits(connections=20, per_address=9))
    crowd = [Open(f"10.0.0.{number % 2}", idle=False, waits=True) for number in range(10)]
    for one in crowd:
        assert every.admit(one)
    click = Open("10.0.1.1", fresh=True)
    assert every.admit(click)
    assert [one.ended for one in crowd].count(True) == 1
    for number in range(2):  # one of them has fewer now; it is no click's place that it gets
        every.admit(Open(f"10.0.0.{number}", idle=False, waits=True))
    assert not click.ended
    assert every.admit(Open("10.0.1.2", fresh=True))
    assert not click.ended
    every.report()


async def test_of_connections_that_nobody_uses_the_oldest_makes_way_and_else_the_oldest_of_its_address() -> (
    None
):
    every = Connections(HttpLimits(connections=40, per_address=3))
    fresh, idle, newer = Open("10.0.0.1", fresh=True), Open("10.0.0.1"), Open("10.0.0.1", fresh=True)
    for one in (fresh, idle, newer, Open("10.0.0.1", fresh=True)):
        assert every.admit(one)
    assert [one.ended for one in (fresh, idle, newer)] == [False, True, False]
    assert every.admit(Open("10.0.0.1", fresh=True))
    assert [one.ended for one in (fresh, idle, newer)] == [True, True, False]
    every.report()


async def test_room_is_made_among_many_that_are_in_use_without_a_look_at_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks, real = list[Open](), Open.waits
    monkeypatch.setattr(Open, "waits", property(lambda self: looks.append(self) or real.__get__(self)))
    every = Connections(HttpLimits(connections=1000))
    for number in range(1000):
        assert every.admit(Open(f"10.0.0.{number % 100}", fresh=True))
    assert len(every) == 500
    assert len(looks) <= 1000
    every.report()


async def test_a_crowd_that_waits_makes_way_for_an_address_that_has_few() -> None:
    every = Connections(HttpLimits(connections=10, per_address=9))
    crowd = [Open("10.0.0.1", idle=False, waits=True) for _ in range(3)]
    other = [Open("10.0.0.2", idle=False, waits=True) for _ in range(2)]
    for one in (*crowd, *other):
        assert every.admit(one)
    assert not every.admit(Open("10.0.0.1"))
    assert every.admit(Open("10.0.0.3", idle=False, waits=True))
    assert [one.ended for one in (*crowd, *other)] == [False, False, True, False, False]
    assert not every.admit(Open("10.0.0.2"))
    every.report()


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%lo", "fe80::"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("", ""),
    ],
)
def test_what_counts_as_one_address_is_a_network_of_ipv6(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("soft", "hard", "then", "connections"),
    [
        (20_000, 20_000, 20_000, 1000),
        (1024, 20_000, 1000 + RESERVED, 1000),
        (1024, resource.RLIM_INFINITY, 1000 + RESERVED, 1000),
        (512, 1024, 1024, 1024 - RESERVED),
        (100, 100, 100, 16),
    ],
)
def test_there_are_no_more_connections_than_the_process_may_have_descriptors_for(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    soft: int,
    hard: int,
    then: int,
    connections: int,
) -> None:
    now = [soft, hard]
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(now))
    monkeypatch.setattr(resource, "setrlimit", lambda _, to: now.__setitem__(slice(0, 2), list(to)))
    assert fitted(HttpLimits(connections=1000)).connections == connections
    assert now == [then, hard]
    assert ("LimitNOFILE" in caplog.text) == (connections < 1000)


async def test_the_counted_ends_are_logged_after_a_while(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "REPORT_SECONDS", 0.01)
    every = Connections(HttpLimits())
    for _ in range(1100):
        every.count(BUSY)
    await until(lambda: bool(caplog.records))
    assert [one.getMessage().partition(": ")[2] for one in caplog.records] == [f"1,100 {BUSY}"]


ENCODINGS = ("gzip", "deflate", "br", "zstd", "GZIP", "identity, gzip", "identity\r\nContent-Encoding: gzip")


def encoded(encoding: str, body: bytes, path: str = "/body") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def answer(port: int, sent: bytes) -> str:
    async with opened(port, 1, sent) as [(reader, _)], asyncio.timeout(10):
        return (await reader.read()).decode()


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("path", ["/body", "/slack/events", "/mcp", "/actions", "/nowhere"])
async def test_a_compressed_body_is_refused_in_words_on_every_path(encoding: str, path: str) -> None:
    async with served() as port:
        said = await answer(port, encoded(encoding, gzip.compress(b"{}"), path))
    assert said.startswith("HTTP/1.1 415")
    assert "send the body as it is" in said
    assert ("application/json" if path == "/mcp" else "application/problem+json") in said


@pytest.mark.parametrize("expected", [b"x", b"\xe9", b"200-ok", b""])
@pytest.mark.parametrize("path", [b"/body", b"/nothing", b"/mcp"])
async def test_a_header_that_expects_something_else_is_refused_in_words(
    path: bytes, expected: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    sent = b"POST " + path + b" HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nExpect: " + expected + b"\r\n\r\n"
    async with served() as port:
        said = await answer(port, sent)
    assert said.startswith("HTTP/1.1 417")
    assert "Expect: 100-continue" in said
    assert not caplog.records


async def test_a_body_that_waits_to_be_asked_for_is_taken() -> None:
    async with served() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-Continue\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
        writer.write(b"ab")
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()


def chunked(path: str, chunks: int) -> bytes:
    """A request whose body comes in chunks of one byte, and has no end."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head.encode() + b"1\r\nx\r\n" * chunks


@pytest.mark.parametrize("path", ["/body", "/slack/events", "/mcp", "/actions", "/nowhere"])
async def test_a_body_in_chunks_is_refused_in_words_on_every_path(path: str) -> None:
    async with served() as port, opened(port, 1, chunked(path, 1)) as [(reader, _)], asyncio.timeout(10):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        said = (await reader.readuntil(b"}")).decode()
    assert head.startswith("HTTP/1.1 411")
    assert "connection: close" in head.lower()
    assert "Content-Length" in said
    assert ("application/json" if path == "/mcp" else "application/problem+json") in head


async def test_of_a_body_in_chunks_hardly_more_than_its_beginning_is_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parsed: list[int] = []
    real = RequestHandler.data_received

    def noted(self: RequestHandler[Any], data: bytes) -> None:
        parsed.append(len(data))
        real(self, data)

    monkeypatch.setattr(RequestHandler, "data_received", noted)
    async with served() as port, opened(port, 20, chunked("/nowhere", 100_000)) as lines:
        for reader, writer in lines:
            async with asyncio.timeout(20):
                assert (await reader.readline()).startswith(b"HTTP/1.1 411")
                await writer.drain()  # it is taken off the line all the same
    assert sum(parsed) < 20 * 200  # the headers


async def test_a_body_behind_its_headers_and_requests_behind_a_request_are_all_taken() -> None:
    sent = encoded("identity", b"{}" * 3_000, "/token") + request("/token") * 3
    async with served() as port, opened(port, 1, sent) as [(reader, _)], asyncio.timeout(10):
        found = [await reader.readuntil(b"HTTP/1.1 200 OK") for _ in range(4)]
    assert len(found) == 4


async def test_a_signed_request_does_not_wait_for_what_a_token_asks_for() -> None:
    async with served() as port, opened(port, 1, request("/signed")) as [slack]:
        await slack[0].readuntil(b"}")
        async with opened(port, 20, request("/token")) as crowd:
            for reader, writer in crowd:
                await reader.readuntil(b"}")
                writer.write(request("/token") * 1000)
            async with asyncio.timeout(10):
                await crowd[0][0].readuntil(b"}")
                slack[1].write(request("/signed"))
                await slack[0].readuntil(b"}")
            unread = [len(reader._buffer) for reader, _ in crowd]  # type: ignore[attr-defined]
    assert sum(unread) < 20 * 500 * len("HTTP/1.1 200 OK")


async def test_headers_that_come_in_pieces_are_taken() -> None:
    async with served() as port, opened(port, 1, b"") as [(reader, writer)], asyncio.timeout(10):
        for number in range(len(request("/healthz"))):
            writer.write(request("/healthz")[number : number + 1])
            await writer.drain()
            await asyncio.sleep(0)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("path", ["/healthz", "/nowhere", "/broken"])
async def test_whoever_is_not_authenticated_gets_one_answer_on_a_connection(path: str) -> None:
    async with served() as port:
        said = await answer(port, request(path) * 20)
        known = await answer(port, request("/token") * 2 + request(path) * 20 + request("/token"))
    assert said.count("HTTP/1.1 ") == 1
    assert known.count("HTTP/1.1 ") == 3
    assert "connection: close" in said.lower()


async def test_what_asks_for_an_upgrade_gets_one_answer_on_its_connection() -> None:
    upgrade = request("/token")[:-2] + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with served() as port:
        said = await answer(port, upgrade + request("/token"))
    assert said.count("HTTP/1.1 200") == 1


@pytest.mark.parametrize("path", ["/token", "/signed"])
async def test_requests_behind_one_another_are_given_to_aiohttp_one_at_a_time(
    monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    given: list[int] = []
    real = RequestHandler.data_received

    def noted(self: RequestHandler[Any], data: bytes) -> None:
        given.append(data.count(b"\r\n\r\n"))
        real(self, data)

    monkeypatch.setattr(RequestHandler, "data_received", noted)
    async with served() as port, opened(port, 1, request(path) * 20) as [(reader, _)], asyncio.timeout(10):
        for _ in range(20):
            await reader.readuntil(b"}")
    assert given == [1] * 20


async def test_nothing_behind_the_request_of_a_stranger_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[bytes] = []
    real = RequestHandler.data_received

    def noted(self: RequestHandler[Any], data: bytes) -> None:
        given.append(data)
        real(self, data)

    monkeypatch.setattr(RequestHandler, "data_received", noted)
    first = encoded("identity", b"x", "/nowhere")
    async with served() as port:
        said = await answer(port, first + chunked("/nowhere", 1_000))
    assert said.count("HTTP/1.1 404") == 1
    assert b"".join(given) == first


async def test_a_connection_that_waits_for_its_answer_makes_way_for_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turns: list[Callable[[], None]] = []
    monkeypatch.setattr(connections.ParseQueue, "run", lambda _, __, parse: turns.append(parse))
    async with served(connections=64, per_address=3) as port:
        async with opened(port, 3, request("/signed")) as waiting:
            await until(lambda: len(turns) == 3)
            async with opened(port, 1, request("/signed")) as [newer]:
                await gone(newer)
            for parse in turns:
                parse()
            async with asyncio.timeout(10):
                for reader, _ in waiting:
                    assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_a_body_that_comes_after_its_answer_is_not_taken_for_a_late_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected: list[Connection] = []
    real = Connection._expect_request
    monkeypatch.setattr(Connection, "_expect_request", lambda self: (expected.append(self), real(self)))
    head, body = encoded("identity", bytes(20_000), "/token").split(b"\r\n\r\n", 1)
    async with served() as port, opened(port, 1, head + b"\r\n\r\n") as [(reader, writer)]:
        async with asyncio.timeout(10):
            await reader.readuntil(b"}")
            writer.write(body)
            writer.write(request("/token"))
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
    assert len(expected) == 2  # of a new connection, and of the request behind the body


async def test_what_is_known_is_parsed_beside_a_crowd_of_strangers() -> None:
    async with served() as port, opened(port, 1, request("/signed")) as [known]:
        await known[0].readuntil(b"}")
        async with opened(port, 50, chunked("/nowhere", 10_000)):
            known[1].write(request("/signed"))
            async with asyncio.timeout(10):
                assert (await known[0].readline()).startswith(b"HTTP/1.1 200")


async def test_a_body_that_says_identity_is_taken() -> None:
    async with served() as port, opened(port, 1, encoded("identity", b"{}")) as [(reader, _)]:
        async with asyncio.timeout(10):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_nothing_of_a_compressed_body_is_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    unpackers: list[object] = []
    real = http_parser.DeflateBuffer.__init__

    def noted(self: http_parser.DeflateBuffer, *args: Any, **more: Any) -> None:
        unpackers.append(self)
        real(self, *args, **more)

    monkeypatch.setattr(http_parser.DeflateBuffer, "__init__", noted)
    bomb = encoded("gzip", gzip.compress(bytes(16 * 1024 * 1024)))
    async with served() as port:
        # Sent whole: the parser chooses how to unpack it before any code of ours hears of the request.
        said = await asyncio.gather(*(answer(port, bomb) for _ in range(20)))
    assert all(one.startswith("HTTP/1.1 415") for one in said)
    assert unpackers == []


async def test_a_path_of_many_parts_is_refused_before_the_router_looks_for_it() -> None:
    async with served() as port:
        for path in ("/" * 100, "/" + "a" * 2_001):
            assert "414" in await get(port, path)
        assert "404" in await get(port, "/a" * 20 + "?" + "/" * 4_000)


@pytest.mark.parametrize(
    "line",
    [
        "GET http://" + "xn--a." * 1_300 + "/signed",
        "CONNECT xn--a:443",
        "connect xn--a:443",
        "GET xn--a/signed",
        "OPTIONS *",
        "GET\thttp://xn--a",
        "A" * 40,
    ],
)
async def test_what_asks_for_no_path_is_refused_before_anything_looks_for_a_host_in_it(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = list[str]()
    monkeypatch.setattr(RequestHandler, "data_received", lambda self, data: hosts.append(data.decode()))
    whole = f"{line} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    for piece in (len(whole), 1 if len(whole) < 100 else 1_000):
        async with served() as port, opened(port, 1, b"") as [(reader, writer)]:
            async with asyncio.timeout(10):
                for at in range(0, len(whole), piece):
                    writer.write(whole[at : at + piece])
                    await writer.drain()
                    await asyncio.sleep(0)
                said = (await reader.read()).decode()
        assert said.startswith("HTTP/1.1 400 Bad Request")
        assert "no_path" in said
    assert not any("xn--" in one for one in hosts)


@pytest.fixture
def turns(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that ask for a turn, each time."""
    asked, real = list[str](), ParseQueue.run

    def noted(self: ParseQueue, address: str, parse: Callable[[], None]) -> bool:
        asked.append(address)
        return real(self, address, parse)

    monkeypatch.setattr(ParseQueue, "run", noted)
    return asked


@pytest.mark.parametrize(("size", "most"), [(60_000, 1), (250_000, 2)])
async def test_a_body_waits_for_one_turn_for_each_of_its_large_parts(
    size: int, most: int, turns: list[str]
) -> None:
    """Where hundreds of addresses take turns, each of those that a click waits for takes long."""
    async with served() as port:
        assert "200" in await answer(port, encoded("identity", b"a" * size))
    assert len(turns) == most


@pytest.mark.parametrize(("size", "most"), [(1, 4), (PIECE_BYTES, 1)])
async def test_small_pieces_of_a_body_take_turns_while_strangers_are_ahead_of_their_time(
    size: int, most: int, turns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ParseQueue, "is_overdrawn", True)
    await send_in_pieces(size, 4, monkeypatch)
    assert len(turns) == most  # one for the headers; what is left of a body is never small


async def test_a_body_that_comes_a_byte_at_a_time_waits_for_as_many_turns_as_a_large_one(
    turns: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.connections.WITHOUT_TURN", 2 * PIECE_BYTES)
    await send_in_pieces(1, 5, monkeypatch)
    assert len(turns) == 3


async def send_in_pieces(size: int, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Send a body in so many pieces of this size, each once the one before it was parsed; it is answered."""
    begun, real = list[Connection](), Connection.begin
    monkeypatch.setattr(Connection, "begin", lambda self, asked: (begun.append(self), real(self, asked)))
    head = f"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: {size * count}\r\n\r\n".encode()
    async with served() as port, opened(port, 1, head) as [(reader, writer)]:
        await until(lambda: bool(begun))
        for left in reversed(range(count)):
            writer.write(b"a" * size)
            await until(lambda left=left: begun[0]._body == left * size)  # type: ignore[misc]
        async with asyncio.timeout(10):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_a_request_that_has_arrived_whole_waits_for_us_until_all_of_it_was_given_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, real = list[Connection](), Connection.begin
    monkeypatch.setattr(Connection, "begin", lambda self, asked: (begun.append(self), real(self, asked)))
    head = b"POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"
    async with served() as port, opened(port, 1, head) as [(reader, writer)]:
        await until(lambda: bool(begun))
        assert begun[0].active + SOON > asyncio.get_running_loop().time()
        assert not begun[0].waits
        begun[0]._held += b"a" * 9
        assert begun[0].waits
        begun[0]._held.clear()
        writer.write(b"a" * 9)
        async with asyncio.timeout(10):
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")


async def test_headers_of_more_than_some_bytes_together_are_refused_and_not_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given, real = list[bytes](), RequestHandler.data_received

    def noted(self: RequestHandler, data: bytes) -> None:
        given.append(data)
        real(self, data)

    monkeypatch.setattr(RequestHandler, "data_received", noted)
    lines = b"".join(b"a%d: %s\r\n" % (number, b"b" * 8_000) for number in range(100))
    async with served() as port, opened(port, 1, request("/signed")[:-2] + lines) as [(reader, _)]:
        async with asyncio.timeout(10):
            said = (await reader.read()).decode()
    assert said.startswith("HTTP/1.1 431 Request Header Fields Too Large")
    assert "large_headers" in said
    assert sum(map(len, given)) <= HEAD_BYTES


async def test_known_senders_have_the_same_bound_for_the_headers_of_each_request() -> None:
    field = b"a: " + b"b" * 8_000 + b"\r\n"
    large = request("/signed")[:-2] + field
    async with served() as port, opened(port, 1, (large + b"\r\n") * 5) as [(reader, writer)]:
        async with asyncio.timeout(10):
            for _ in range(5):
                assert (await reader.readuntil(b"}")).startswith(b"HTTP/1.1 200")
            writer.write(large + field * 2)
            assert (await reader.readline()).startswith(b"HTTP/1.1 431")


@pytest.mark.parametrize(("path", "charged"), [("/busy", True), ("/busy?first=1", False)])
async def test_what_a_request_costs_is_charged_to_strangers_until_its_sender_is_known(
    path: str, charged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds, real = list[float](), ParseQueue.charge

    def noted(self: ParseQueue, spent: float) -> None:
        seconds.append(spent)
        real(self, spent)

    monkeypatch.setattr(ParseQueue, "charge", noted)
    async with served() as port:
        assert "200" in await get(port, path)
    assert (max(seconds) >= BUSY_SECONDS) is charged
