"""Thanks in Slack, with phrases for a planner: they settle what is done, and nothing is proposed because of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gate.rules.action import Session
from gate.rules.ports import Limits
from gate.rules.task_states import TaskState
from tests.handlers.test_budgets_of_planners import left, over, press, said
from tests.product import OPS, Product, running_product
from tests.slack_app import AGES, ANN
from tests.views.samples import shown

THANKS = (
    "Great, thanks a lot!",
    "ok",
    "ok, thanks",
    "👍",
    "lgtm",
    "looks good to me",
    "no further changes",
    "yes it does",
)


@pytest_asyncio.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    async with running_product(tmp_path / "home", limits=Limits(decision=AGES)) as running:
        yield running


async def states(product: Product, ts: str) -> list[TaskState]:
    return [task.state for task in await product.parts.world.ledger.tasks_of(Session("T1", OPS, ts))]


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("mention", ["", "<@UBOT> "], ids=["not-mentioned", "mentioned"])
async def test_thanks_below_a_written_file_leave_its_one_message(product: Product, mention: str) -> None:
    threads = {}
    for number, words in enumerate(THANKS):
        threads[words] = ts = await said(product, f"write 'x' to file{number}.md")
        await press(product, ts, "confirm")
        await over(product, ts, count=1)
    names = product.names()
    for words, ts in threads.items():
        await product.ws.as_(ANN).say(OPS, mention + words, ts)
    for words, ts in threads.items():

        def is_settled(ts: str = ts) -> bool:
            return "needs?" not in shown(left(product, ts)[0].blocks)

        await product.ws.wait_for(is_settled, AGES)
        (card,) = left(product, ts)
        assert card.text.startswith("Wrote 1 B to file"), words
        assert await states(product, ts) == [TaskState.DONE], words
    assert await product.parts.world.ledger.pending("T1") == ()
    assert product.names() == names


@pytest.mark.slow
async def test_bare_thanks_in_a_new_thread_have_no_reply(product: Product) -> None:
    bare = [await said(product, words) for words in ("thanks", "thanks a lot!", "👍")]
    ts = await said(product, "what is in reports")  # what one person writes is taken in one after the other
    await product.ws.wait_for(lambda: left(product, ts), AGES)
    for one in bare:
        assert product.ws.by_app(OPS, one) == []
        assert await states(product, one) == []
    assert [m for m in product.ws.by_app(OPS) if m.visible_to] == []
