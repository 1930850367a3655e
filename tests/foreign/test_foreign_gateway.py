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

from gate.rules.access import TokenKind
from storage.database import open_engine
from storage.row_macs import row_macs_of
from tests.api.test_api_end_to_end import told
from tests.api.test_gateway_end_to_end import ANN, card
from tests.foreign.conftest import NODE
from tests.foreign.install import npm_servers
from tests.product import Product, running_product
from views import buttons

pytestmark = [pytest.mark.node, pytest.mark.slow]
CLIENT = Path(__file__).with_name("gateway_client.mjs")
WRITE = "filesystem__write_file"
RESULT = ["gate_result", {}, None]  # asked with the ticket of the call before
YES = (buttons.CONFIRM, "It ran, confirmed by U_ANN.")
NO = (buttons.CANCEL, "It was withdrawn by U_ANN. It did not run, and nothing was changed.")
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
async def product_with_gateway(home: Path) -> AsyncIterator[tuple[Product, dict[str, str]]]:
    """The whole product, and what a client of its gateway has to know."""
    async with running_product(home) as product:
        engine = open_engine(f"sqlite+aiosqlite:///{home / 'countersign.db'}")
        seals = row_macs_of((home / "audit.key").read_bytes())
        token = await told(engine, seals, TokenKind.AGENT, 1)
        server = TestServer(product.parts.web)
        await server.start_server()
        yield product, {"url": str(server.make_url("/mcp")), "token": token}
        await server.close()
        await engine.dispose()


def assert_told(answer: dict[str, Any], button: str, words: str) -> None:
    """What the client is told after this button; a denial is an error to it."""
    assert answer["text"].startswith(words), answer
    assert answer["isError"] is (button == buttons.CANCEL)


async def test_another_client_is_approved_and_denied_in_every_rung(tmp_path: Path) -> None:
    async with product_with_gateway(tmp_path) as (product, known):
        ann = product.ws.as_(ANN)
        for legacy in (False, True):
            era = "legacy" if legacy else "modern"
            for elicits in (True, False):
                yes, no = f"{era}-{elicits}-yes.md", f"{era}-{elicits}-no.md"
                async with other(
                    **known, legacy=legacy, elicits=elicits, calls=[written(yes), written(no)]
                ) as it:
                    for name, button, words in ((yes, *YES), (no, *NO)):
                        if elicits:
                            assert "/archives/" in (await it.line())["url"]
                        await ann.click(await card(product, name), button)
                        assert_told(await it.answer(), button, words)
            late, never = f"{era}-ticket-yes.md", f"{era}-ticket-no.md"
            calls = [written(late, 0), RESULT, written(never, 0), RESULT]
            async with other(**known, legacy=legacy, elicits=False, calls=calls) as it:
                for name, button, words in ((late, *YES), (never, *NO)):
                    assert "gate_result" in (await it.answer())["text"]
                    await ann.click(await card(product, name), button)
                    assert_told(await it.answer(), button, words)
        ways = ("True-yes", "False-yes", "ticket-yes")
        kept = {f"{era}-{way}.md" for era in ("modern", "legacy") for way in ways}
        assert kept <= product.names()
        assert not {name for name in product.names() if name.endswith("-no.md")}
