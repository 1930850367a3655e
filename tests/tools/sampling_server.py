"""An MCP server over stdio that asks the client's model, made with the SDK: `sampling_server.py`; with a port, over HTTP."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated, Any

from mcp import MCPError
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.resolve import Resolve, Sample
from mcp_types import CreateMessageResult, ImageContent, SamplingMessage, TextContent

server = MCPServer("sampling", version="1", log_level="ERROR")


def words(text: str) -> list[SamplingMessage]:
    return [SamplingMessage(role="user", content=TextContent(type="text", text=text))]


def asked(prompt: str) -> Sample:
    return Sample(words(prompt), max_tokens=50, system_prompt="Be short.")


@server.tool(structured_output=False)
async def think(prompt: str, answer: Annotated[CreateMessageResult, Resolve(asked)]) -> str:
    """Works with every version of the protocol."""
    assert isinstance(answer.content, TextContent)
    return f"The model said: {answer.content.text}"


def asked_about(files: list[str]) -> Sample:
    return Sample(words("What is in them?"), max_tokens=50, metadata={"countersign.files": files})


@server.tool(structured_output=False)
async def read(files: list[str], answer: Annotated[CreateMessageResult, Resolve(asked_about)]) -> str:
    """Names files whose content is in its question."""
    assert isinstance(answer.content, TextContent)
    return answer.content.text


@server.tool(structured_output=False)
async def announced(ctx: Context[Any, Any]) -> str:
    """Whether the client says that it samples."""
    found = ctx.client_capabilities
    return "yes" if found and found.sampling is not None else "no"


async def _ask(ctx: Context[Any, Any], number: int, **more: Any) -> str:
    messages = more.pop("messages", None) or words(f"question {number}")
    try:
        told = await ctx.session.create_message(messages, max_tokens=50, **more)
    except MCPError as error:
        return f"refused: {error.message}"
    assert isinstance(told.content, TextContent)
    return told.content.text


@server.tool(structured_output=False)
async def ask_often(times: int, ctx: Context[Any, Any]) -> str:
    """Asks during the call, one after the other; of the versions before 2026-07-28."""
    told = [await _ask(ctx, number) for number in range(times)]
    refused = [each for each in told if each.startswith("refused: ")]
    return f"{len(told) - len(refused)} answers, {len(refused)} refused, the last: {told[-1]}"


@server.tool(structured_output=False)
async def ask_oddly(how: str, ctx: Context[Any, Any]) -> str:
    """Asks for what is not answered."""
    if how == "context":
        return await _ask(ctx, 0, include_context="allServers")
    if how == "image":
        image = ImageContent(type="image", data="AAAA", mime_type="image/png")
        return await _ask(ctx, 0, messages=[SamplingMessage(role="user", content=image)])
    return await _ask(ctx, 0, messages=words("x" * int(how)))


told_later: list[str] = []
later: set[asyncio.Task[None]] = set()
go = asyncio.Event()


@server.tool(structured_output=False)
async def ask_later(ctx: Context[Any, Any]) -> str:
    """Begins a task that asks after the call has ended."""

    async def ask() -> None:
        await go.wait()
        told_later.append(await _ask(ctx, 0))

    later.add(asyncio.create_task(ask()))
    return "later"


@server.tool(structured_output=False)
async def ask_however_late(ctx: Context[Any, Any]) -> str:
    """Asks once somebody lets it, also where nobody waits for its call any more."""

    async def ask() -> None:
        await go.wait()
        told_later.append(await _ask(ctx, 0))

    late = asyncio.create_task(ask())
    later.add(late)
    await asyncio.shield(late)
    return "asked"


@server.tool(structured_output=False)
async def let_it_ask() -> str:
    """What came of it, in a call of its own."""
    go.set()
    await asyncio.gather(*later)
    return "; ".join(told_later)


@server.tool(structured_output=False)
async def what_was_told() -> str:
    return "; ".join(told_later) or "nothing yet"


@server.resource("go://now")
async def release() -> str:
    """Lets the task of ask_later ask, outside of any call."""
    go.set()
    await asyncio.gather(*later)
    return "done"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    server.run("stdio")
