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


BEGUN, LET = asyncio.Event(), asyncio.Event()
LATE: list[asyncio.Task[object]] = []


@server.tool()
async def ask_late(path: str, ctx: Context) -> str:
    """Never ends, and asks when it is let, also after its client has called it off."""

    async def late() -> object:
        await LET.wait()
        found = await ctx.session.elicit_form("Which one?", SCHEMA)
        return {"action": found.action, "meta": found.meta}

    LATE.append(asyncio.create_task(late()))
    BEGUN.set()
    await asyncio.Event().wait()
    return path


@server.tool()
async def begun(path: str) -> str:
    """Answers when `ask_late` has begun."""
    await BEGUN.wait()
    return path


@server.tool()
async def let_it_ask(path: str) -> str:
    """What the call before it heard."""
    LET.set()
    return json.dumps(await LATE[0])


@server.tool()
async def hang(path: str) -> str:
    """Never ends."""
    await asyncio.Event().wait()
    return path


if __name__ == "__main__":
    server.run("stdio")
