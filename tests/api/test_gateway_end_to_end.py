"""The gateway of the whole product over standard input, beside a local Slack where people decide."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer
from mcp import Client as Mcp
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import CallToolResult

from bot.cli.main import CommandError
from bot.gateway import gateway
from bot.settings import Settings
from gate.rules.access import TokenKind
from storage.database import open_engine
from storage.row_macs import row_macs_of
from tests.api.test_api_end_to_end import about, told
from tests.api.test_gateway import AT_ONCE, Shown, words
from tests.product import OPS, Product, running_product
from views import buttons
from workspace.state import Message

ROOT = Path(__file__).parents[2]
ANN = "U_ANN"
SECONDS = 60.0


@asynccontextmanager
async def line(home: Path, env: dict[str, str], mode: str = "auto", **more: Any) -> AsyncIterator[Mcp]:
    """`python -m bot gateway` as an MCP client starts it: with its own environment, in some other folder."""
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bot", "gateway"],
        env={**env, "PYTHONPATH": str(ROOT)},
        cwd=str(home),
    )
    with (home / "gateway.log").open("a") as errors:
        async with Mcp(stdio_client(command, errlog=errors), mode=mode, **more) as mcp:
            yield mcp


def writing(mcp: Mcp, name: str, **more: Any) -> asyncio.Task[CallToolResult]:
    args = {"path": name, "content": "hello\n"}
    return asyncio.create_task(mcp.call_tool("filesystem__write_file", args, **more))


async def card(product: Product, words: str) -> Message:
    """The card that shows these words, in the thread of this token."""

    def find() -> Message | None:
        threads = product.ws.by_app(OPS)
        return about(product, threads[0].ts, words) if threads else None

    return await product.ws.wait_for(find, SECONDS)


# promise: API-16, API-17
@pytest.mark.slow
async def test_clients_on_standard_input_climb_the_ladder_and_people_decide_in_slack(tmp_path: Path) -> None:
    async with running_product(tmp_path) as product:
        engine = open_engine(f"sqlite+aiosqlite:///{tmp_path / 'countersign.db'}")
        token = await told(engine, row_macs_of((tmp_path / "audit.key").read_bytes()), TokenKind.AGENT, 1)
        server = TestServer(product.parts.web)
        await server.start_server()
        env = {"COUNTERSIGN_URL": str(server.make_url("")), "COUNTERSIGN_TOKEN": token}
        ann, shown = product.ws.as_(ANN), Shown()
        async with line(tmp_path, env) as mcp:
            names = {tool.name for tool in (await mcp.list_tools()).tools}
            assert {"filesystem__write_file", "gate_result"} <= names
            assert not (await mcp.call_tool("filesystem__list_dir", {"path": "."})).is_error
            held = writing(mcp, "held.md")
            await ann.click(await card(product, "held.md"), buttons.CONFIRM)
            assert words(await held).startswith(f"It ran, confirmed by {ANN}.")
            assert product.text("held.md") == "hello\n"
            ticket = (await writing(mcp, "ticket.md", meta=AT_ONCE)).structured_content
            assert ticket is not None
            await ann.click(await card(product, "ticket.md"), buttons.CANCEL)
            denied = await mcp.call_tool("gate_result", {"ticket": ticket["ticket"]})
            assert denied.is_error
            assert f"withdrawn by {ANN}" in words(denied)
            left = writing(mcp, "left.md")
            await card(product, "left.md")
            left.cancel()
            await product.ws.wait_for(lambda: gone(product, "left.md"), SECONDS)
        for mode in ("auto", "legacy"):
            async with line(tmp_path, env, mode, elicitation_callback=shown.callback) as mcp:
                call = writing(mcp, f"{mode}.md")
                await ann.click(await card(product, f"{mode}.md"), buttons.CONFIRM)
                assert words(await call).startswith("It ran"), mode
        root = product.ws.by_app(OPS)[0].ts
        assert [url.rpartition("/")[2] for url in shown.urls] == [f"p{root.replace('.', '')}"] * 2
        assert {"held.md", "auto.md", "legacy.md"} <= product.names()
        assert not {"ticket.md", "left.md"} & product.names()
        await server.close()
        await engine.dispose()


def gone(product: Product, name: str) -> Message | None:
    """The card once it says that its client has withdrawn it."""
    found = about(product, product.ws.by_app(OPS)[0].ts, name)
    return found if found and "went away" in str(found.blocks) else None


@pytest.mark.parametrize(
    ("token", "url", "says"),
    [
        (None, "http://127.0.0.1:9", "COUNTERSIGN_TOKEN is not set"),
        ("cs_agent_1", "http://127.0.0.1:9", "does not answer at http://127.0.0.1:9 (ConnectError)"),
    ],
)
async def test_without_a_token_or_a_service_the_gateway_says_what_to_do(
    tmp_path: Path, token: str | None, url: str, says: str
) -> None:
    given = {"COUNTERSIGN_URL": url, **({"COUNTERSIGN_TOKEN": token} if token else {})}
    settings = Settings.load(given, tmp_path)
    with pytest.raises(CommandError) as error:
        await gateway(settings)
    assert says in str(error.value)


async def test_a_token_that_does_not_count_is_told_to_whoever_starts_the_gateway(api: Any) -> None:
    settings = Settings.load({"COUNTERSIGN_URL": api.base, "COUNTERSIGN_TOKEN": "cs_agent_1"}, Path("/"))
    with pytest.raises(CommandError) as error:
        await gateway(settings)
    assert "did not let this token in" in str(error.value)
