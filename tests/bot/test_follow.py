"""A watch on a folder, with the real server, engine and local Slack: what changes is told in the thread that asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from gate.rules.ports import Limits
from tests.product import OPS, Product, running_product
from views import buttons
from workspace.state import Message

LIMITS = Limits(follow=0.2, decision=30)
SECONDS = 40.0


@pytest.fixture
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    async with running_product(tmp_path, limits=LIMITS) as running:
        yield running


async def confirmed(product: Product, root: Message, told: str) -> Message:
    """The card with these words in a thread, once it has been confirmed and has run."""

    def card() -> Message | None:
        found = [one for one in product.ws.by_app(OPS, root.ts) if told in str(one.blocks)]
        return found[-1] if found else None

    shown = await product.ws.wait_for(card, timeout=SECONDS)
    await product.ws.as_("U_ANN").click(shown, buttons.CONFIRM)
    await product.ws.wait_for(lambda: "Undo" in str(shown.blocks) or None, timeout=SECONDS)
    return shown


async def watching(product: Product, folder: str = "reports") -> Message:
    root = await mention(product, f"watch {folder}")
    await confirmed(product, root, f"Start watching {folder}: for 8 hours, what changes is told here")
    return root


async def mention(product: Product, text: str) -> Message:
    ann = product.ws.as_("U_ANN")
    return await ann.say(OPS, f"<@{ann._state.app.bot_user}> {text}")


def news(product: Product, root: Message) -> list[str]:
    """What was told in a thread of what changed."""
    texts = [str(one.blocks) for one in product.ws.by_app(OPS, root.ts)]
    return [text for text in texts if "Changes in " in text]


async def comes(product: Product, found: Callable[[], bool]) -> None:
    await product.ws.wait_for(lambda: found() or None, timeout=SECONDS)


@pytest.mark.slow
async def test_a_change_of_a_watched_folder_is_told_in_the_thread_that_asked(product: Product) -> None:
    root, other = await watching(product), await mention(product, "list drafts")
    (product.files / "reports" / "q4 <b>.md").write_text("new\n")
    (product.files / "reports" / "q3-summary.md").unlink()
    (product.files / "drafts" / "else.md").write_text("elsewhere\n")
    await comes(product, lambda: "q3-summary.md (removed)" in str(news(product, root)))
    await comes(product, lambda: "q4 <b>.md (added)" in str(news(product, root)))
    assert "else.md" not in str(news(product, root))
    assert news(product, other) == []
    (product.files / "reports" / "q4 <b>.md").write_text("newer and longer\n")
    await comes(product, lambda: str(news(product, root)).count("q4 <b>.md (added)") == 2)
    assert len(news(product, root)) <= 3


@pytest.mark.slow
async def test_undo_of_the_watch_ends_it_and_unwatching_says_so(product: Product) -> None:
    root = await watching(product)
    stop = await mention(product, "stop watching reports")
    await confirmed(product, stop, "Stop watching reports")
    await comes(
        product,
        lambda: "No more of this is told here. It is not watched any more." in str(news(product, root)),
    )
    (product.files / "reports" / "late.md").write_text("late\n")
    again = await watching(product)
    (product.files / "reports" / "later.md").write_text("later\n")
    await comes(product, lambda: "later.md (added)" in str(news(product, again)))
    assert "late" not in str(news(product, root)).replace("No more of this", "")


@pytest.mark.slow
async def test_a_folder_that_is_gone_ends_its_watch_with_the_reason(product: Product) -> None:
    root = await watching(product, "drafts")
    (product.files / "drafts").rename(product.files / "elsewhere")
    await comes(product, lambda: "No more of this is told here." in str(news(product, root)))
    assert "does not exist" in str(news(product, root)[-1])


@pytest.mark.slow
async def test_a_second_watch_of_the_folder_takes_over_and_the_first_says_so(product: Product) -> None:
    first = await watching(product)
    second = await watching(product)
    await comes(product, lambda: "Somebody has begun to watch it anew." in str(news(product, first)))
    (product.files / "reports" / "q5.md").write_text("new\n")
    await comes(product, lambda: "q5.md (added)" in str(news(product, second)))
    assert "q5.md" not in str(news(product, first))


@pytest.mark.slow
async def test_a_watch_goes_on_after_a_restart(tmp_path: Path) -> None:
    async with running_product(tmp_path, limits=LIMITS) as product:
        await watching(product)
    (tmp_path / "files" / "reports" / "q6.md").write_text("while it was away\n")
    async with running_product(tmp_path, limits=LIMITS) as product:
        found: list[str] = []
        while not found:  # the local Slack is a new one, which does not have the thread
            lines = await product.parts.world.ledger.audit_tail(team="T1", limit=20)
            found = [line.entry.result for line in lines if line.entry.event == "news"]
            await asyncio.sleep(0.05)
    assert found == ["reports/q6.md (added)"]
