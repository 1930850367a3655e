"""What a child process writes, read only when it is asked for.

A stream of asyncio goes on reading while nobody asks, up to 128 KiB: a child that writes single bytes would take a turn
of the event loop for each of them, however long its reader waits.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import anyio
from anyio.abc import ByteReceiveStream, Process
from mcp.client.stdio import StdioServerParameters, get_default_environment

CHUNK = 65_536  # bytes


class ChildOutput(ByteReceiveStream):
    """The end of a pipe that a child writes to. What is not read waits there, and then the child does."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        while self._fd >= 0:
            await anyio.wait_readable(self._fd)
            try:
                data = os.read(self._fd, max_bytes)
            except BlockingIOError:
                continue
            if not data:
                raise anyio.EndOfStream
            return data
        raise anyio.ClosedResourceError

    async def aclose(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            anyio.notify_closing(fd)
            os.close(fd)


@dataclass(frozen=True, slots=True)
class Child:
    process: Process
    stdout: ChildOutput
    stderr: ChildOutput


async def started(server: StdioServerParameters) -> Child:
    """A new child process in a session of its own. Raises OSError when it cannot be started."""
    out, out_of_child = os.pipe()
    err, err_of_child = os.pipe()
    to_close = [out_of_child, err_of_child]
    try:
        process = await anyio.open_process(
            [server.command, *server.args],
            env=get_default_environment() | (server.env or {}),
            stdout=out_of_child,
            stderr=err_of_child,
            cwd=server.cwd,
            start_new_session=True,
        )
    except BaseException:
        to_close += (out, err)
        raise
    finally:
        for end in to_close:
            os.close(end)
    return Child(process, ChildOutput(out), ChildOutput(err))
