"""What a tool without annotations or a recipe says of itself, through Slack: the SDK wraps its text as `result`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gate.rules.ports import Limits
from gate.rules.task import PauseReason
from gate.rules.task_states import TaskState
from tests.browser.unannotated_server import SAID
from tests.handlers.test_budgets_of_planners import having, left, over, press, said
from tests.product import Product, running_product
from tests.slack_app import AGES
from tests.views.samples import shown
from tools.mcp.server_config import ServerConfig

pytestmark = pytest.mark.slow


@pytest_asyncio.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    """Its tool has gone well once, which counts as experience with it."""
    strange = ServerConfig(
        name="strange", inproc="tests.browser.unannotated_server:server", args=(str(tmp_path),)
    )
    limits = Limits(decision=AGES, proceed=0.5)
    async with running_product(tmp_path / "home", limits=limits, servers=[strange]) as running:
        ts = await exported(running, 0)
        await over(running, ts, count=1)
        yield running


async def exported(product: Product, number: int) -> str:
    """The tool was confirmed that says the words of this number."""
    ts = await said(product, f"strange.export number={number}")
    await press(product, ts, "confirm")
    return ts


@pytest.mark.parametrize("number", [1, 2, 3])
async def test_words_that_admit_a_failure_pause_on_the_second_use_of_a_tool(
    product: Product, number: int
) -> None:
    ts = await exported(product, number)
    pause = await product.ws.wait_for(having(product, ts, "step_retry"), AGES)
    assert "I do not trust its result. Its result says that it failed" in shown(pause.blocks)
    assert (await product.task(ts, TaskState.PAUSED)).why is PauseReason.DOUBT
    assert not [m for m in left(product, ts) if "needs?" in shown(m.blocks)]


async def test_a_sentence_that_begins_with_failed_is_no_failure(product: Product) -> None:
    ts = await exported(product, SAID.index("Failed logins were exported"))
    await over(product, ts, count=1)
    assert (await product.task(ts, TaskState.SATISFACTION)).outcome
