"""Messages of servers that are made to take time: none within the bounds holds the event loop up."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import (
    CallToolResult,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    Tool,
    jsonrpc_message_adapter,
    methods,
)
from pydantic import ValidationError
from pydantic_core import from_json

from gate.rules.message_size import MAX_DEPTH, MAX_DIGITS, MAX_MESSAGE_BYTES, MessageSize
from gate.rules.tool import AnswerTooLong, OutcomeUnknown
from tests.cpu_time import seconds
from tests.tools.mcp_hosts import hosting, raw
from tests.tools.transport_fakes import MemoryTransport, RecordedThrottle
from tools.mcp import rare_warnings
from tools.mcp.child_output import ChildOutput
from tools.mcp.http_client import WatchedClient
from tools.mcp.limits import MAX_LINE, MAX_PART_VALUES, MAX_PARTS, MAX_TOOLS, TOO_MANY_PARTS, LoopTime
from tools.mcp.rare_warnings import RareWarnings
from tools.mcp.results import classify_error, to_answer
from tools.mcp.server_config import ServerConfig
from tools.mcp.session import (
    ELICITATION_METHOD,
    SAMPLING_METHOD,
    CallTrace,
    Item,
    WatchedTransport,
)
from tools.mcp.stdio import ErrorLog, _is_too_large, _parse_line, _receive, _record

LIMIT = 0.3  # seconds of this thread for one message, as in tests/test_hostile_sizes.py
VERSION = "2025-11-25"


def deep(text: str, depth: int, name: str = "") -> str:
    opened, closed = ('{"%s":' % name, "}") if name else ("[", "]")  # noqa: UP031
    return opened * depth + text + closed * depth


def listed(text: str, count: int) -> str:
    return "[" + ",".join([text] * count) + "]"


def structured(text: str) -> str:
    return '{"content":[],"structuredContent":{"a":' + text + "}}"


def parts(text: str, count: int) -> str:
    return '{"content":' + listed(text, count) + "}"


SMALL = listed('{"":1}', 24_000)
TEXT, WRONG_TEXT = '{"type":"text","text":""}', '{"type":"text","text":1}'
LINK = '{"type":"resource_link","name":"a","uri":"a:b","icons":%s}'
ROLES = '{"type":"text","text":"","annotations":{"audience":%s}}'
RESULTS = {
    "small objects as deep as a message may be": structured(deep(SMALL, MAX_DEPTH - 6)),
    "small objects deeper than that": structured(deep(SMALL, 196)),
    "small objects in named objects": structured(deep(SMALL, MAX_DEPTH - 6, "a")),
    "numbers as deep as a message may be": structured(deep(listed("1", 90_000), MAX_DEPTH - 6)),
    "one long text": structured('"' + "\\u0001" * 600_000 + '"'),
    **{
        f"{count:,} parts: {part}": parts(part, count)
        for part in (TEXT, WRONG_TEXT, "{}", "1", "[]", LINK % "[]", ROLES % "[1,1,1,1]", '{"type":"image"}')
        for count in (MAX_PARTS, 24_000 // max(1, part.count("{") + part.count("[")))
    },
    "one part with many roles": parts(ROLES % listed("1", MAX_PART_VALUES // 2 - 10), 1),
    "one part with all roles": parts(ROLES % listed("1", 99_000), 1),
    "a part with many icons": parts(LINK % listed("{}", MAX_PART_VALUES // 2 - 10), 1),
    "questions": '{"resultType":"input_required","inputRequests":{"a":'
    + '{"method":"sampling/createMessage","params":{"maxTokens":1,"messages":%s}}}}' % listed("{}", 24_000),  # noqa: UP031
    "many questions": '{"resultType":"input_required","inputRequests":{%s}}'  # noqa: UP031
    % ",".join(f'"{n}":{{"method":"roots/list"}}' for n in range(20_000)),
    "icons of the server": '{"serverInfo":{"name":"a","version":"1","icons":%s}}' % listed("{}", 24_000),  # noqa: UP031
}


@pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)
@pytest.mark.parametrize("version", [VERSION, "2026-07-28"])
def test_no_result_of_a_server_takes_long_to_become_an_answer_or_to_be_refused(
    result: str, version: str
) -> None:
    text = f'{{"jsonrpc":"2.0","id":7,"result":{result}}}'
    assert seconds(lambda: answered(text, version), 3, LIMIT) < LIMIT


def answered(text: str, version: str) -> None:
    """All that is done with the result of a call on the event loop."""
    message = received(text, WatchedTransport(None, lambda: None, version=version))  # type: ignore[arg-type]
    if isinstance(message, JSONRPCResponse):
        try:
            methods.validate_server_result("tools/call", version, message.result)
            to_answer(CallToolResult.model_validate(message.result, by_name=False))
        except ValidationError as error:
            classify_error(error, CallTrace(sent=1), "s", observed=True)


def received(text: str, transport: WatchedTransport) -> JSONRPCMessage | None:
    """The message as the SDK gets it; None where it does not."""
    size = MessageSize()
    size.feed(text.encode())
    if size.too_large:
        return None
    item = SessionMessage(jsonrpc_message_adapter.validate_python(from_json(text), by_name=False))
    passed = transport.inspect(item) if transport.admit(item) else None
    return passed.message if isinstance(passed, SessionMessage) else None


def asked(content: str) -> str:
    return '{"maxTokens":5,"messages":[{"role":"user","content":%s}]}' % content  # noqa: UP031


USES = '[{"type":"tool_result","toolUseId":"a","content":%s}]'
REQUESTS = {
    **{f"{n:,} wrong parts": (SAMPLING_METHOD, asked(listed("{}", n))) for n in (1_490, 24_000)},
    **{f"{n:,} wrong texts": (SAMPLING_METHOD, asked(listed(WRONG_TEXT, n))) for n in (490, 24_000)},
    **{f"{n:,} texts": (SAMPLING_METHOD, asked(listed(TEXT, n))) for n in (490, 24_000)},
    **{f"{n:,} wrong results": (SAMPLING_METHOD, asked(USES % listed("{}", n))) for n in (1_480, 24_000)},
    "wrong messages": (SAMPLING_METHOD, '{"maxTokens":5,"messages":%s}' % listed("{}", 24_000)),  # noqa: UP031
    "choices": (
        ELICITATION_METHOD,
        '{"message":"","requestedSchema":{"type":"object","properties":{"a":{"enum":%s}}}}'  # noqa: UP031
        % listed("{}", 24_000),
    ),
    "notices": (
        "notifications/subscriptions/acknowledged",
        '{"notifications":{"resourceSubscriptions":%s}}' % listed("1", 99_000),  # noqa: UP031
    ),
}


@pytest.mark.parametrize(("method", "params"), REQUESTS.values(), ids=REQUESTS)
@pytest.mark.parametrize("announced", [frozenset[str](), frozenset([SAMPLING_METHOD, ELICITATION_METHOD])])
def test_no_request_of_a_server_takes_long_to_be_read_or_to_be_refused(
    method: str, params: str, announced: frozenset[str]
) -> None:
    number = "" if method.startswith("notifications/") else '"id":7,'
    text = f'{{"jsonrpc":"2.0",{number}"method":"{method}","params":{params}}}'

    def read() -> None:
        transport = WatchedTransport(None, lambda: None, announced, VERSION)  # type: ignore[arg-type]
        message = received(text, transport)
        if isinstance(message, JSONRPCRequest):
            with suppress(ValidationError):
                methods.parse_server_request(method, VERSION, message.params)

    assert seconds(read, 3, LIMIT) < LIMIT


LISTINGS = {
    "wrong icons": (10, '{"name":"a","inputSchema":{"type":"object"},"icons":%s}' % listed("1", 4_900)),  # noqa: UP031
    "some wrong icons": (450, '{"name":"a","inputSchema":{"type":"object"},"icons":%s}' % listed("1", 50)),  # noqa: UP031
    "wrong schemas": (490, '{"name":"a","inputSchema":%s}' % listed("{}", 49)),  # noqa: UP031
    "tools": (
        490,
        '{"name":"a","inputSchema":{"type":"object","properties":{%s}}}'  # noqa: UP031
        % ",".join(f'"{n}":{{}}' for n in range(48)),
    ),
    "nothing": (24_000, "{}"),
}


@pytest.mark.parametrize(("count", "tool"), LISTINGS.values(), ids=LISTINGS)
def test_no_listing_of_a_server_takes_long_to_be_looked_at(count: int, tool: str) -> None:
    text = f'{{"jsonrpc":"2.0","id":1,"result":{{"tools":{listed(tool, count)}}}}}'
    transport = WatchedTransport(None, lambda: None, version=VERSION)  # type: ignore[arg-type]
    assert received(text, transport) is not None
    assert seconds(lambda: received(text, transport), 3, LIMIT) < LIMIT


def test_the_text_of_a_validation_error_says_the_first_of_few_and_the_number_of_many() -> None:
    for wrong, said in (
        (1, "icons: Input should be a valid dictionary or instance of Icon"),
        (5_000, "5,000 things"),
    ):
        with pytest.raises(ValidationError) as caught:
            Tool.model_validate({"name": "a", "inputSchema": {}, "icons": [1] * wrong})
        failure = classify_error(caught.value, CallTrace(sent=1), "s", observed=True)
        assert f"s answered something that is no answer: {said}" in str(failure.outcome)


async def test_an_answer_with_too_many_parts_is_too_long(tmp_path: Path) -> None:
    """The stall check of the suite fails this test where the loop blocks."""
    for part in ({"type": "text", "text": ""}, {"type": "text", "text": 1}):
        async with hosting(tmp_path, raw(part=part, parts=14_000)) as host:
            with pytest.raises(AnswerTooLong, match="can have 500 parts") as caught:
                await host.call("raw", "flood", b"{}", 20)
            assert str(caught.value) == f"the answer of raw is too long to be read ({TOO_MANY_PARTS})"
            assert (await host.call("raw", "echo", b"{}", 20)).text == "{}"


async def test_an_answer_with_an_invalid_part_is_told_by_the_first_one(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(part={"type": "text", "text": 1}, parts=MAX_PARTS)) as host:
        with pytest.raises(
            OutcomeUnknown, match=r"no usable answer: part 1 of its content is invalid: content\.Text"
        ):
            await host.call("raw", "flood", b"{}", 20)


async def test_an_answer_with_as_many_parts_as_may_be_is_read(tmp_path: Path) -> None:
    async with hosting(tmp_path, raw(part={"type": "text", "text": "a"}, parts=MAX_PARTS)) as host:
        assert (await host.call("raw", "flood", b"{}", 20)).text == "\n".join(["a"] * MAX_PARTS)


@pytest.mark.slow
@pytest.mark.parametrize("method", [SAMPLING_METHOD, ELICITATION_METHOD, "roots/list", "ping"])
@pytest.mark.parametrize("sampling", [False, True])
async def test_what_a_server_sends_unasked_holds_nobody_up(
    tmp_path: Path, method: str, sampling: bool
) -> None:
    """The stall check of the suite fails this test where the loop blocks."""
    part = {"type": "text", "text": 1}
    config = replace(raw(part=part, parts=24_000, method=method, unasked=3), sampling=sampling)
    async with hosting(tmp_path, config, raw("other")) as host:
        for server in ("raw", "other", "raw"):
            assert (await host.call(server, "echo", b"{}", 20)).text == "{}"


async def test_a_server_is_charged_for_what_its_messages_take_to_validate() -> None:
    texts = [
        f'{{"jsonrpc":"2.0","id":{n},"method":"{SAMPLING_METHOD}","params":{asked(listed("{}", count))}}}'
        for n, count in enumerate((1, 1_480))
    ]
    charges, items = (
        RecordedThrottle(),
        [
            SessionMessage(jsonrpc_message_adapter.validate_python(from_json(text), by_name=False))
            for text in texts
        ],
    )
    memory = MemoryTransport()
    watched = WatchedTransport(
        memory.transport(), lambda: None, frozenset([SAMPLING_METHOD]), VERSION, throttle=charges
    )
    async with watched as (read, _):
        for item in items:
            await memory.from_server.send(item)
            await read.receive()
    little, much = charges.charged
    assert much > 20 * little


LONG = listed("1" * 4290, 970)
UNREADABLE = {
    "long numbers": LONG,
    "numbers of as many digits as may be": listed("1" * MAX_DIGITS, 10_000),
    "decimals": listed("0.1234567890123e-5", 99_000),
    "characters that turn the direction": '"' + "\u202e" * 1_390_000 + '"',
}
JSON_BODY, EVENTS = "application/json", "text/event-stream"


class HttpServer:
    """An MCP server over HTTP that answers each call with the same text, and sets a new cookie with each answer."""

    def __init__(self, answer: str, kind: str) -> None:
        self.answer, self.kind = answer, kind
        self.answers = 0
        self.heads = list[bytes]()
        self.tasks = set[asyncio.Task[None]]()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head.lower())
                lengths = [
                    line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
                ]
                body = await reader.readexactly(int(lengths[0]) if lengths else 0)
                writer.write(self._said(json.loads(body) if head.startswith(b"POST") else {}))
                await writer.drain()
        writer.close()

    def _said(self, message: dict[str, object]) -> bytes:
        results: dict[object, dict[str, object]] = {
            "initialize": {
                "protocolVersion": VERSION,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "read", "inputSchema": {"type": "object"}}]},
        }
        method, kind = message.get("method"), JSON_BODY
        if "id" not in message:
            return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        text = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results.get(method, {})})
        if method == "tools/call":
            text, kind = self.answer.replace("ID", json.dumps(message["id"])), self.kind
        data = (text if kind == JSON_BODY else f"data: {text}\n\n").encode()
        self.answers += 1
        fields = f"Content-Type: {kind}\r\nSet-Cookie: c{self.answers}=1\r\nContent-Length: {len(data)}"
        return f"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n".encode() + data


@asynccontextmanager
async def answering(answer: str, kind: str) -> AsyncIterator[tuple[HttpServer, ServerConfig]]:
    server = HttpServer(answer, kind)
    listener = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    try:
        url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/mcp"
        yield server, ServerConfig(name="web", url=url, mode="legacy")
    finally:
        listener.close()
        await asyncio.gather(*server.tasks)


async def longest_step(taken: list[float]) -> None:
    """Note the longest CPU time between two turns of this task."""
    while True:
        one = LoopTime()
        with one.part():
            await asyncio.sleep(0)
        taken[0] = max(taken[0], one.seconds)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", [JSON_BODY, EVENTS])
@pytest.mark.parametrize("inside", UNREADABLE.values(), ids=UNREADABLE)
async def test_an_answer_over_http_that_is_no_message_takes_little_time(
    kind: str, inside: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with answering('{"foo":[' + inside + "]}", kind) as (_, config), hosting(tmp_path, config) as host:
        taken = [0.0]
        watch = asyncio.create_task(longest_step(taken))
        with pytest.raises((AnswerTooLong, OutcomeUnknown)):
            await host.call("web", "read", b"{}", 30)
        watch.cancel()
    assert taken[0] < LIMIT
    assert sum(len(record.getMessage()) for record in caplog.records) < 20_000


@pytest.mark.parametrize("kind", [JSON_BODY, EVENTS])
async def test_an_answer_over_http_that_is_no_message_is_not_quoted(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    answer = '{"jsonrpc":"2.0","id":ID,"result":"salary of Ann Lee: 81,400"}'
    async with answering(answer, kind) as (_, config), hosting(tmp_path, config) as host:
        with pytest.raises(OutcomeUnknown, match="no usable answer: Failed to parse") as caught:
            await host.call("web", "read", b"{}", 30)
    assert "salary" not in str(caught.value)
    assert "Failed" in caplog.text or "Error parsing" in caplog.text
    assert "salary" not in caplog.text


async def test_an_event_is_measured_whatever_quotation_marks_are_in_the_lines_before_it(
    tmp_path: Path,
) -> None:
    answer = f'1\n: "\ndata: {listed("[]", 300_000)}'
    async with answering(answer, EVENTS) as (_, config), hosting(tmp_path, config) as host:
        with pytest.raises(AnswerTooLong):
            await host.call("web", "read", b"{}", 30)


async def test_no_cookie_of_a_server_is_kept_or_sent_back(tmp_path: Path) -> None:
    answer = '{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}'
    async with answering(answer, JSON_BODY) as (server, config):
        async with hosting(tmp_path, config) as host:
            for _ in range(3):
                await host.call("web", "read", b"{}", 30)
        async with WatchedClient() as client:
            await client.post(config.url, json={"id": 1, "method": "ping"})
            assert not client.cookies.jar
    assert server.answers > 3
    assert not [head for head in server.heads if b"\r\ncookie:" in head]


@pytest.mark.parametrize("inside", UNREADABLE.values(), ids=UNREADABLE)
async def test_a_line_of_a_server_that_is_no_message_takes_little_time(inside: str) -> None:
    line, taken = ('{"foo":[' + inside + "]}").encode(), LoopTime()
    too_large = await _is_too_large(line, taken)
    with taken.part():
        said = str(_parse_line(line, too_large, RareWarnings(logging.getLogger())))
    assert taken.seconds < LIMIT
    assert len(said) < 1000


@pytest.mark.parametrize(
    ("text", "too_large"),
    [
        ("1" * MAX_DIGITS, False),
        ("1" * (MAX_DIGITS + 1), True),
        ("0." + "1" * 500, True),
        ('"' + "1" * 500 + '"', False),
        (listed("1" * 300, 10), False),
    ],
    ids=["as many as may be", "one more", "decimals", "in a text", "in several numbers"],
)
@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_the_digits_of_a_number_are_counted_wherever_a_message_is_cut(
    text: str, too_large: bool, piece: int
) -> None:
    size = MessageSize()
    for start in range(0, len(text), piece):
        size.feed(text[start : start + piece].encode())
    assert size.too_large is too_large


@pytest.mark.parametrize("inside", [LONG, listed("1" * MAX_DIGITS, 1_490)])
def test_an_invalid_notification_is_dropped_with_a_short_line(
    inside: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"foo":%s}}' % inside  # noqa: UP031
    item = SessionMessage(jsonrpc_message_adapter.validate_python(from_json(text), by_name=False))
    transport = WatchedTransport(None, lambda: None)  # type: ignore[arg-type]
    with caplog.at_level(logging.WARNING):
        assert seconds(lambda: transport.admit(item), 1) < LIMIT
    assert not transport.admit(item)
    assert set(caplog.messages) == {"an MCP server sent an invalid notifications/progress; it was dropped"}


def test_valid_and_unknown_notifications_are_passed_on() -> None:
    transport = WatchedTransport(None, lambda: None)  # type: ignore[arg-type]
    for method, params in (
        ("notifications/progress", '{"progressToken":1,"progress":0.5}'),
        ("notifications/tools/list_changed", "{}"),
        ("notifications/other", '{"foo":1}'),
    ):
        assert received(f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}', transport) is not None


class Output:
    """A child process and its standard output, or its standard error."""

    def __init__(self, *chunks: bytes) -> None:
        self._chunks = list(chunks)
        self.stdout = self.stderr = self

    def __aiter__(self) -> Output:
        return self

    async def __anext__(self) -> bytes:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> bytes:
        if not self._chunks:
            raise anyio.EndOfStream
        return self._chunks.pop(0)


async def charged(*chunks: bytes) -> float:
    """The seconds that a server is charged for what it writes."""
    incoming, received = anyio.create_memory_object_stream[Item](1)
    with received:
        charges = RecordedThrottle()
        await _receive(Output(*chunks), incoming, MAX_MESSAGE_BYTES, charges)  # type: ignore[arg-type]
    return sum(charges.charged)


async def test_a_server_is_charged_for_each_turn_of_the_loop_that_its_single_bytes_take(
    tmp_path: Path,
) -> None:
    bytes_, charges = [b"x"] * 1_000, RecordedThrottle()
    await _record(Output(*bytes_), ErrorLog(tmp_path / "x.log"), charges)  # type: ignore[arg-type]
    assert sum(charges.charged) >= 0.2
    assert await charged(*bytes_) >= 0.1


def test_lines_that_are_wrong_are_warned_of_once_and_then_counted(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    warnings = RareWarnings(logging.getLogger("tools.mcp.stdio"))
    for _ in range(500):
        _parse_line(b"no message", False, warnings)
    assert caplog.messages == ["an MCP server wrote a line that is no message"]
    caplog.clear()
    (tmp_path / "x.log").mkdir()
    stderr = ErrorLog(tmp_path / "x.log")
    for _ in range(500):
        stderr.write(b"lost")
    assert len(caplog.messages) == 1
    monkeypatch.setattr(rare_warnings, "REPORT_SECONDS", 0.0)
    stderr.write(b"lost")
    assert caplog.messages[1].endswith("(499 more like this since the last one)")


async def test_a_child_that_writes_waits_while_nobody_reads_what_it_has_written() -> None:
    fd, of_child = os.pipe()
    output = ChildOutput(fd)
    os.set_blocking(of_child, False)
    written = os.write(of_child, b"x" * 1_000_000)
    for _ in range(10):
        await anyio.lowlevel.checkpoint()
    with pytest.raises(BlockingIOError):
        os.write(of_child, b"x")
    os.close(of_child)
    read = [len(chunk) async for chunk in output]
    assert sum(read) == written
    await output.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        await output.receive()


async def test_a_reader_that_waits_for_a_child_is_told_when_its_output_is_closed() -> None:
    fd, of_child = os.pipe()
    output, told = ChildOutput(fd), anyio.Event()

    async def wait() -> None:
        with pytest.raises(anyio.ClosedResourceError):
            await output.receive()
        told.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait)
        await anyio.lowlevel.checkpoint()
        await output.aclose()
        await told.wait()
    os.close(of_child)


async def test_a_server_is_charged_for_what_its_lines_take_to_read() -> None:
    escapes = b'"' + b"\\n" * 1_000_000 + b'"\n'
    taken = LoopTime()
    await _is_too_large(escapes, taken)
    assert await charged(escapes) > taken.seconds / 2


async def test_a_server_is_charged_for_a_line_that_does_not_end() -> None:
    assert await charged(*[b"x" * 65_536] * 100) > 0.02


def test_of_tools_that_are_left_out_a_bounded_number_of_short_reasons_is_kept() -> None:
    """378 reasons with names of 98,000 characters took 160 MB."""
    transport = WatchedTransport(None, lambda: None, version=VERSION)  # type: ignore[arg-type]
    wrong = {"type": "object", "properties": {"k" * 98_000: 5}}
    for page in range(3):
        tools = [{"name": f"t{page}-{number}", "inputSchema": wrong} for number in range(MAX_TOOLS)]
        answer = JSONRPCResponse(jsonrpc="2.0", id=page, result={"tools": tools})
        transport.inspect(SessionMessage(answer))
    assert len(transport.rejected) == MAX_TOOLS
    assert max(map(len, transport.rejected.values())) <= MAX_LINE
