"""The API of the whole product, beside a local Slack: what is proposed here is asked there, and follows both ways."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession
from aiohttp.test_utils import TestServer

from gate.rules.access import NOT_OPENED, Token, TokenKind, format_token
from storage.database import open_engine
from storage.row_macs import RowMacs, row_macs_of
from storage.tokens import TokenStore
from tests.product import OPS, Product, running_product
from views import buttons
from workspace.faults import NotPossible
from workspace.state import Message

TEAM, ANN = "T1", "U_ANN"


async def told(engine: Any, seals: RowMacs, kind: TokenKind, number: int) -> str:
    store = TokenStore(engine, seals)
    now = await store.now()
    made = Token(f"{number:016x}", kind, "nightly", TEAM, ANN, (OPS,), now, now + timedelta(days=1))
    await store.add(made, f"{number:064x}")
    return format_token(kind, made.id, f"{number:064x}")


def about(product: Product, thread: str, words: str) -> Message | None:
    """The newest message of ours in the thread that shows these words."""
    found = [one for one in product.ws.by_app(OPS, thread) if words in str(one.blocks)]
    return found[-1] if found else None


async def confirmed(product: Product, card: Message) -> None:
    """Ann presses Confirm; once more where the bot could not say in time that it was recorded."""
    button = f"'action_id': '{buttons.CONFIRM}'"
    while button in str(card.blocks):
        with contextlib.suppress(NotPossible, TimeoutError):
            await product.ws.as_(ANN).click(card, buttons.CONFIRM)
            await product.ws.wait_for(lambda: button not in str(card.blocks), timeout=5)


@pytest.mark.slow
async def test_a_proposal_over_http_is_asked_in_slack_and_its_card_follows(tmp_path: Path) -> None:
    async with running_product(tmp_path) as product:
        engine = open_engine(f"sqlite+aiosqlite:///{tmp_path / 'countersign.db'}")
        seals = row_macs_of((tmp_path / "audit.key").read_bytes())
        agent = {"Authorization": f"Bearer {await told(engine, seals, TokenKind.AGENT, 1)}"}
        ann = {"Authorization": f"Bearer {await told(engine, seals, TokenKind.PERSON, 2)}"}
        server = TestServer(product.parts.web)
        await server.start_server()
        base = str(server.make_url("")).rstrip("/")
        async with ClientSession() as session:

            async def ask(who: dict[str, str], method: str, path: str, sent: Any = None) -> Any:
                async with session.request(method, base + path, json=sent, headers=who) as response:
                    found = await response.json()
                    assert response.status < 300, found
                    return found

            call = {"tool": "filesystem.write_file", "arguments": {"path": "new.md", "content": "hello\n"}}
            made = (await ask(agent, "POST", "/actions", call))["action"]
            assert made["receipt"] == ""  # that is for people
            action = await ask(ann, "GET", f"/actions/{made['id']}")
            root = await product.ws.wait_for(lambda: next(iter(product.ws.by_app(OPS)), None), timeout=60)
            assert "nightly" in str(root.blocks)
            thread = root.ts
            await product.ws.wait_for(lambda: about(product, thread, "new.md"), timeout=60)
            sent = {"version": action["version"], "receipt": action["receipt"], "wait": 30}
            done = await ask(ann, "POST", f"/actions/{action['id']}/confirm", sent)
            assert done["status"] == "success", done
            assert product.text("new.md") == "hello\n"
            await product.ws.wait_for(lambda: about(product, thread, "Undo"), timeout=60)
            other = {
                **call,
                "arguments": {"path": "other.md", "content": "x"},
                "session_id": made["session_id"],
            }
            elsewhere = {**other, "session_id": f"{TEAM}:{OPS}:1700000000.000000"}
            async with session.post(f"{base}/actions", json=elsewhere, headers=agent) as refused:
                assert (await refused.json())["detail"] == NOT_OPENED  # people may have begun that thread
            second = (await ask(agent, "POST", "/actions", other))["action"]
            card = await product.ws.wait_for(lambda: about(product, thread, "other.md"), timeout=60)
            await confirmed(product, card)
            await product.ws.wait_for(lambda: about(product, thread, "Undo") is card or None, timeout=60)
            assert (await ask(agent, "GET", f"/actions/{second['id']}"))["status"] == "success"
        await server.close()
        await engine.dispose()
