"""The gateway with a client that is not ours, the official TypeScript SDK: each rung, approved and denied in Slack."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp.test_utils import TestServer

from gate.access import Kind
from storage.engine import open_engine
from tests.api.test_api_whole import told
from tests.api.test_gateway_whole import ANN, card
from tests.foreign.conftest import NODE
from tests.foreign.install import npm_servers
from tests.whole import Whole, whole
from views import buttons

pytestmark = [pytest.mark.node, pytest.mark.slow]
CLIENT = Path(__file__).with_name("gateway_client.mjs")
WRITE = "filesystem__write_file"
SECONDS = 60.0


class Other:
    """The other client, as it runs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def line(self) -> dict[str, Any]:
        """The next thing that it says."""
        assert self._process.stdout is not None
        async with asyncio.timeout(SECONDS):
            said = await self._process.stdout.readline()
        assert said, "it ended early"
        found: dict[str, Any] = json.loads(said)
        return found

    async def answer(self) -> dict[str, Any]:
        found: dict[str, Any] = (await self.line())["answer"]
        return found


@asynccontextmanager
async def other(**asked: Any) -> AsyncIterator[Other]:
    """Start it; at the end it must have ended well by itself."""
    process = await asyncio.create_subprocess_exec(
        NODE, str(CLIENT), str(npm_servers()), json.dumps(asked), stdout=asyncio.subprocess.PIPE
    )
    try:
        yield Other(process)
        async with asyncio.timeout(SECONDS):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def written(name: str, hold: float | None = None) -> list[Any]:
    return [WRITE, {"path": name, "content": "hello\n"}, hold]


@asynccontextmanager
async def house(home: Path) -> AsyncIterator[tuple[Whole, dict[str, str]]]:
    """The whole product, and what a client of its gateway has to know."""
    async with whole(home) as product:
        engine = open_engine(f"sqlite+aiosqlite:///{home / 'countersign.db'}")
        token = await told(engine, Kind.AGENT, 1)
        server = TestServer(product.parts.web)
        await server.start_server()
        yield product, {"url": str(server.make_url("/mcp")), "token": token}
        await server.close()
        await engine.dispose()


async def test_another_client_is_approved_and_denied_in_every_rung(tmp_path: Path) -> None:
    async with house(tmp_path) as (product, known):
        ann = product.ws.as_(ANN)
        for legacy in (False, True):
            era = "legacy" if legacy else "modern"
            for elicits in (True, False):
                yes, no = f"{era}-{elicits}-yes.md", f"{era}-{elicits}-no.md"
                async with other(
                    **known, legacy=legacy, elicits=elicits, calls=[written(yes), written(no)]
                ) as it:
                    for name, button, words in (
                        (yes, buttons.CONFIRM, "It ran"),
                        (no, buttons.CANCEL, "withdrawn by"),
                    ):
                        if elicits:
                            assert "/archives/" in (await it.line())["url"]
                        await ann.click(await card(product, name), button)
                        answer = await it.answer()
                        assert words in answer["text"], answer
                        assert answer["isError"] is (button == buttons.CANCEL)
            late = f"{era}-ticket.md"
            calls = [written(late, 0), ["gate_result", {}, None]]
            async with other(**known, legacy=legacy, elicits=False, calls=calls) as it:
                assert "gate_result" in (await it.answer())["text"]
                await ann.click(await card(product, late), buttons.CONFIRM)
                assert (await it.answer())["text"].startswith("It ran")
        kept = {
            f"{era}-{way}.md" for era in ("modern", "legacy") for way in ("True-yes", "False-yes", "ticket")
        }
        assert kept <= product.names()
        assert not {name for name in product.names() if name.endswith("-no.md")}
