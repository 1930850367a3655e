"""Runbooks that have nothing to do, or whose files are not there, in Slack: one message with what to do next."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gate.rules.ports import Limits
from gate.rules.tool import Trust
from tests.handlers.test_budgets_of_planners import having, left, over, said
from tests.product import Product, running_product
from tests.slack_app import AGES, ANN
from tests.views.samples import buttons, shown
from tools.mcp.server_config import ServerConfig


@pytest_asyncio.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    limits = Limits(decision=AGES, proceed=0.5)
    root = ("--root", str(tmp_path / "files"), "--key-file", str(tmp_path / "key.txt"))
    security = ServerConfig(
        name="security", inproc="servers.security:configured", args=root, trust=Trust.BUNDLED
    )
    async with running_product(tmp_path, limits=limits, servers=[security]) as running:
        yield running


async def answer(product: Product, text: str) -> str:
    """The one message that comes of a sentence, once its task is over."""
    ts = await said(product, text)
    await product.task(ts)
    await product.ws.wait_for(lambda: left(product, ts), 40)
    (only,) = left(product, ts)
    assert buttons(only.blocks) == []
    return shown(only.blocks)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "run tidy-drafts keep=drafts/none.md, remove=drafts/gone.md",
            "There is no file or folder “drafts/none.md”. Did you mean drafts/meeting-notes.md or "
            "drafts/q3-draft.md? Nothing was done.",
        ),
        (
            "run tidy-drafts keep=drafts/meeting-notes.md, remove=drafts/zebra.md",
            "There is no file or folder “drafts/zebra.md”.",
        ),
        ("run archive-quarter for q4", "There is no file or folder “reports/q4-figures.csv”. Did you mean"),
    ],
)
async def test_a_runbook_whose_file_is_not_there_is_one_sentence(
    product: Product, text: str, told: str
) -> None:
    before = product.names()
    assert told in await answer(product, text)
    assert product.names() == before


@pytest.mark.slow
async def test_a_runbook_that_finds_nothing_is_one_sentence(product: Product) -> None:
    assert "nothing was found, so there is nothing to do." in await answer(
        product, "run clean-up-secrets for reports"
    )


@pytest.mark.slow
async def test_a_runbook_whose_files_are_there_is_a_plan(product: Product) -> None:
    ts = await said(product, "run archive-quarter for q3")
    await product.ws.wait_for(having(product, ts, "plan_approve"), 40)
    await product.ws.as_(ANN).click(left(product, ts)[0], "plan_approve")
    await over(product, ts, count=2)
    assert product.text("archive/q3-summary.md") is not None
