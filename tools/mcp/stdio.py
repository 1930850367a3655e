"""A server as a child process, over stdin and stdout: bounds on its messages and on its standard error."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections.abc import AsyncIterable, AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from anyio.abc import Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import StdioServerParameters
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError

from gate.rules.message_size import MAX_MESSAGE_BYTES, PIECE, MessageSize
from tools.mcp.child_output import Child, started
from tools.mcp.limits import (
    PER_BYTE,
    PER_MESSAGE,
    TOO_LONG,
    LoopTime,
    NoMessage,
    ParseThrottle,
    message_of,
    parse_seconds,
)
from tools.mcp.rare_warnings import RareWarnings
from tools.mcp.session import Item

LOG_BYTES = 1_000_000  # of each of the two files; one read from the pipe may come on top
# Seconds for ParseThrottle: for a turn of the loop that reads what is there, and for one that writes it to the log
PER_READ, PER_WRITE = 1e-4, 1e-4
LOG_PER_BYTE = 1 / 8_000_000  # seconds for ParseThrottle: 4 MB at once, then 0.8 MB a second
log = logging.getLogger(__name__)
FLUSH_SECONDS = 0.5  # for messages that were handed over before stdin is closed
EXIT_SECONDS = 2.0  # for each step: exit by itself, by SIGTERM, by SIGKILL
EDGE_BYTES = 256  # kept of both ends of a message that is too long: its id is in one of them
CLOSED_ERRORS = (anyio.ClosedResourceError, anyio.BrokenResourceError)
# Where servers write the id of a response: before everything else, or after it.
LEADING_ID = re.compile(rb'\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,')
TRAILING_ID = re.compile(rb',\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


@dataclass(frozen=True, slots=True)
class ErrorLog:
    """The file at `path`, and the one before it, which ends in `.1`."""

    path: Path
    limit: int = LOG_BYTES
    warnings: RareWarnings = field(default_factory=lambda: RareWarnings(log))

    def write(self, data: bytes) -> None:
        """Append, and begin anew after `limit` bytes. A disk that refuses costs these bytes; the server goes on."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(self.path, "ab", opener=_for_owner) as file:
                file.write(data)
                full = file.tell() >= self.limit
            if full:
                os.replace(self.path, self.path.with_suffix(".log.1"))
        except OSError as error:
            with suppress(OSError):
                self.path.unlink()  # a part of a full disk may be ours
            self.warnings.say("what an MCP server wrote to its standard error could not be kept: %s", error)


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@asynccontextmanager
async def stdio(
    server: StdioServerParameters, stderr: ErrorLog, max_bytes: int = MAX_MESSAGE_BYTES
) -> AsyncIterator[tuple[Any, Any]]:
    """The streams of a new child process, as the SDK's stdio_client gives them; on exit the child is stopped.

    The SDK's reader has no limit: it copies all it has of a line for each 64 KiB that arrive, on the event loop. Here
    a message longer than `max_bytes` is dropped, and its caller gets an error at once. Raises OSError when the child
    cannot be started.
    """
    child = await started(server)
    incoming, read = anyio.create_memory_object_stream[Item](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    flushed = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_receive, child, incoming, max_bytes, ParseThrottle())
        group.start_soon(_record, child, stderr, ParseThrottle())
        group.start_soon(_send, child.process, outgoing, incoming, flushed)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):
                read.close()
                write.close()
                await _whole(_stop(child, flushed))
            group.cancel_scope.cancel()


async def _receive(
    child: Child, incoming: MemoryObjectSendStream[Item], max_bytes: int, throttle: ParseThrottle
) -> None:
    warnings = RareWarnings(log)
    with incoming, suppress(*CLOSED_ERRORS, ConnectionError):
        async for line in lines(_charged(child.stdout, throttle), max_bytes):
            taken = LoopTime()
            too_large = await _is_too_large(line, taken)
            with taken.part():
                item = _parse_line(line, too_large, warnings)
                estimated = PER_MESSAGE + parse_seconds(line)
            if item is not None:
                await incoming.send(item)
            await anyio.sleep(throttle.charge(anyio.current_time(), max(taken.seconds, estimated)))
    # Read until the end: a server that is blocked in a write does not see that its stdin is closed.
    with anyio.CancelScope(shield=True), suppress(*CLOSED_ERRORS, anyio.EndOfStream, OSError):
        while True:
            await child.stdout.receive()


async def _charged(chunks: AsyncIterable[bytes], throttle: ParseThrottle) -> AsyncIterator[bytes]:
    """The chunks; reading them counts too, also those of a line that does not end."""
    async for chunk in chunks:
        yield chunk
        await anyio.sleep(throttle.charge(anyio.current_time(), PER_READ + len(chunk) * PER_BYTE))


async def _record(child: Child, stderr: ErrorLog, throttle: ParseThrottle) -> None:
    """Write the child's standard error to its log. A child that writes more than its share waits on its own pipe."""
    with suppress(*CLOSED_ERRORS, ConnectionError):
        async for chunk in child.stderr:
            stderr.write(chunk)
            seconds = PER_READ + PER_WRITE + len(chunk) * LOG_PER_BYTE
            await anyio.sleep(throttle.charge(anyio.current_time(), seconds))


async def _send(
    process: Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    incoming: MemoryObjectSendStream[Item],
    flushed: anyio.Event,
) -> None:
    assert process.stdin is not None
    try:
        async with outgoing:
            async for message in outgoing:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(text.encode() + b"\n")
    except (*CLOSED_ERRORS, OSError):
        incoming.close()  # the server reads nothing more: callers that wait for an answer get an error
    finally:
        flushed.set()


class OversizedLine(bytes):
    """The first and the last bytes of a line that was too long."""


async def lines(chunks: AsyncIterable[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """The lines in a stream of bytes, without their line ends; one of more than `max_bytes` as an OversizedLine.
    Bytes after the last line end are not a line."""
    buffer, head = bytearray(), b""
    async for chunk in chunks:
        *complete, rest = chunk.split(b"\n")
        for part in complete:
            buffer += part
            if len(buffer) > max_bytes:
                head = head or bytes(buffer[:EDGE_BYTES])
            yield OversizedLine(head + buffer[-EDGE_BYTES:]) if head else bytes(buffer)
            buffer, head = bytearray(), b""
        buffer += rest
        if len(buffer) > max_bytes:
            head = head or bytes(buffer[:EDGE_BYTES])
            buffer = buffer[-EDGE_BYTES:]


async def _is_too_large(line: bytes, taken: LoopTime) -> bool:
    """Whether parsing a line would hold up the event loop. Counts in pieces, between which other work goes on."""
    if isinstance(line, OversizedLine):
        return True
    size = MessageSize()
    for start in range(0, len(line), PIECE):
        with taken.part():
            size.feed(line[start : start + PIECE])
        await anyio.lowlevel.checkpoint()
    return size.too_large


def _parse_line(line: bytes, too_large: bool, warnings: RareWarnings) -> Item | None:
    """The message in a line, or the error of its validation. For a message that is too long: an error response with
    its id, or None where no id is found."""
    if too_large:
        match = LEADING_ID.match(line[:EDGE_BYTES]) or TRAILING_ID.search(line[-EDGE_BYTES:])
        warnings.say("an MCP server sent a message that is too long; it was dropped")
        if match is None:
            return None
        error = ErrorData(code=INTERNAL_ERROR, message=TOO_LONG)
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(match[1]), error=error))
    try:
        return SessionMessage(message_of(line.decode("utf-8", "replace")))
    except NoMessage as error:
        warnings.say("an MCP server wrote a line that is no message")
        return error


async def _whole(work: Coroutine[Any, Any, None]) -> None:
    """Run this to its end in a task of its own, and only then raise a cancellation: that of a limit of asyncio, or of
    the shutdown, passes the shields of anyio."""
    task, cancelled = asyncio.create_task(work), None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    await task


async def _stop(child: Child, flushed: anyio.Event) -> None:
    """Close stdin, wait for the exit, then terminate the process and its children. Cancelled, it kills them at once."""
    process = child.process
    assert process.stdin is not None
    try:
        with anyio.move_on_after(FLUSH_SECONDS):
            await flushed.wait()
        with suppress(*CLOSED_ERRORS, OSError):
            await process.stdin.aclose()
        if not await _exited(process):
            await terminate_posix_process_tree(process, EXIT_SECONDS)
            await _exited(process)
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        await child.stdout.aclose()
        await child.stderr.aclose()
        transport = getattr(getattr(process, "_process", None), "_transport", None)
        if transport is not None:  # else it stays open while a grandchild holds the other end of a pipe
            with suppress(PermissionError):
                transport.close()


async def _exited(process: Process) -> bool:
    """Whether the process exits in time. `process.wait` is not used: it also waits for pipes that other processes
    hold."""
    with anyio.move_on_after(EXIT_SECONDS):
        while process.returncode is None:  # noqa: ASYNC110
            await anyio.sleep(0.01)
    return process.returncode is not None
