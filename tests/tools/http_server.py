"""An MCP server over HTTP, made with the SDK: `http_server.py PORT [trace file]`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import anyio
from mcp.server import MCPServer

server = MCPServer("over-http", version="1", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """The sum."""
    if len(sys.argv) > 2:
        with Path(sys.argv[2]).open("a") as trace:
            trace.write("add\n")
    return a + b


@server.tool()
async def die() -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return ""


@server.tool()
async def hang() -> str:
    await anyio.sleep(60)
    return ""


@server.tool(structured_output=False)
async def flood() -> str:
    return "x" * 20_000_000


if __name__ == "__main__":
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
