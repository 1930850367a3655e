"""A server that asks in the middle of a call, in both eras: `python asking_server.py`. Each tool returns what it heard."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("asking")


class Which(BaseModel):
    """What is asked."""

    name: str
    size: Literal["s", "l"]


SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}, "required": ["name"]}


async def which() -> Elicit[Which]:
    return Elicit("Which one?", Which)


@server.tool()
async def choose(path: str, answer: Annotated[Which, Resolve(which)]) -> str:
    """Works in both eras, through the SDK's resolver."""
    return json.dumps({"path": path, "name": answer.name, "size": answer.size})


@server.tool()
async def ask(path: str, ctx: Context, times: int = 1) -> str:
    """Asks by `elicitation/create`, in a legacy session alone."""
    heard = [await _asked(ctx) for _ in range(times)]
    return json.dumps(heard)


async def _asked(ctx: Context) -> object:
    found = await ctx.session.elicit_form("Which one?", SCHEMA, ctx.request_id)
    return {"action": found.action, "content": found.content, "meta": found.meta}


@server.tool()
async def by_url(path: str, ctx: Context) -> str:
    """Asks for an address to be opened."""
    found = await ctx.session.elicit_url("Log in", "https://example.com/login", "e1", ctx.request_id)
    return json.dumps({"action": found.action, "meta": found.meta})


@server.tool()
async def hang(path: str) -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return path


if __name__ == "__main__":
    server.run("stdio")
