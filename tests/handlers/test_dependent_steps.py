"""Plans of which one step changes what a later one is about: what their cards say of that, and when they ask."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gate.rules.ports import Limits
from tests.handlers.slack_task import begun, proposes, write
from tests.handlers.test_budgets_of_planners import left, over, press, said
from tests.product import Product, running_product
from tests.slack_app import Edge
from tests.views.samples import shown

SECONDS = 40.0
IN_ITS_TURN = "It is looked at when its turn comes, after step 1."


@pytest_asyncio.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    async with running_product(tmp_path / "home", limits=Limits(decision=30, proceed=0.5)) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "line", "made"),
    [
        (
            "make the folder invoices and move q3-figures.csv into it",
            "Move reports/q3-figures.csv to invoices",
            "invoices/q3-figures.csv",
        ),
        ("make the folder bills then write 'x' to bills/a.md", "Write 1 B to bills/a.md", "bills/a.md"),
        (
            "move drafts/q3-draft.md to archive then copy archive/q3-draft.md to reports",
            "Copy archive/q3-draft.md to reports",
            "reports/q3-draft.md",
        ),
    ],
)
async def test_a_step_that_an_earlier_one_makes_room_for_is_looked_at_in_its_turn(
    product: Product, text: str, line: str, made: str
) -> None:
    ts = await said(product, text)
    await product.ws.wait_for(lambda: left(product, ts), SECONDS)
    told = shown(left(product, ts)[0].blocks)
    assert f"2. {line}\n{IN_ITS_TURN}\n" in told
    assert "does not exist" not in told
    assert "yes to step 1, exactly as shown here. Step 2 still asks when its turn comes." in told
    await press(product, ts, "plan_approve")

    def card() -> str:
        return next((shown(m.blocks) for m in left(product, ts) if m.text == f"Prepared: {line}"), "")

    asked = await product.ws.wait_for(card, SECONDS)
    assert "you approved" not in asked
    assert product.text(made) is None
    await press(product, ts, "confirm")
    await over(product, ts, count=2)
    assert product.text(made) is not None


async def test_what_somebody_else_changed_after_the_approval_asks_and_says_so(edge: Edge) -> None:
    story = await begun(edge, proposes(write("a.md"), write("b.md")))
    edge.desk.notes["b.md"] = "somebody else was here"
    await story.click("plan", "plan_approve")
    (card,) = [m for m in edge.ws.by_app("C_OPS", story.said.ts) if m.text == "Prepared: Write b.md"]
    assert "b.md changed since you approved the plan, so please look again." in shown(card.blocks)
    assert edge.desk.notes["b.md"] == "somebody else was here"


@pytest.mark.slow
async def test_a_folder_that_somebody_else_made_after_the_approval_is_no_change_of_the_file(
    product: Product,
) -> None:
    calls = [
        "filesystem.create_folder path=trip",
        "filesystem.move_file source=README.md destination=readme",
        "filesystem.create_folder path=receipts",
    ]
    ts = await said(product, "\n".join(calls))
    await product.ws.wait_for(lambda: left(product, ts), SECONDS)
    (product.files / "readme").mkdir()
    await press(product, ts, "plan_approve")

    def card() -> str:
        return next((shown(m.blocks) for m in left(product, ts) if m.text.startswith("Prepared: Move")), "")

    asked = await product.ws.wait_for(card, SECONDS)
    assert "This would not do what it did when you approved the plan, so please look again." in asked
    assert product.text("README.md")


@pytest.mark.slow
async def test_texts_of_one_file_are_not_approved_as_if_only_the_last_were_written(product: Product) -> None:
    ts = await said(product, "write 'a' to n.md then write 'b' to n.md then write 'c' to m.md")
    await product.ws.wait_for(lambda: left(product, ts), SECONDS)
    told = shown(left(product, ts)[0].blocks)
    assert f"2. Write 1 B to n.md\n{IN_ITS_TURN}\n" in told
    assert "yes to steps 1 and 3, exactly as shown here. Step 2 still asks" in told
