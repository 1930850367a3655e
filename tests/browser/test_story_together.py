"""Two files in one sentence, by mouse: one card, one press for both, one of them taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from gate.rules.ports import Limits
from tests.browser.browser_pages import OpenWindow, Window
from tests.browser.loops import on_one_loop
from tests.browser.page_fake import OpenPage
from tests.product import Product, running_product

pytestmark = pytest.mark.browser

FILES = ("reports/q3-summary.md", "reports/q3-figures.csv")  # three would be a plan
ASKED = f"move {FILES[0]} and {FILES[1]} to archive"


@on_one_loop
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    async with running_product(tmp_path, limits=Limits(proceed=0.5)) as running:
        yield running


@on_one_loop
async def open_window(product: Product, open_page: OpenPage) -> OpenWindow:
    async def open_as(user: str) -> Window:
        return Window(await open_page(f"{product.ws.url}/?as={user}"))

    return open_as


@pytest.mark.slow
async def test_two_files_on_one_card_are_decided_by_one_press_and_taken_back_one_by_one(
    product: Product, open_window: OpenWindow
):
    ann, ben = await open_window("U_ANN"), await open_window("U_BEN")
    before = {name: product.text(name) for name in FILES}
    await ann.ask(ASKED)
    await ann.sees("2 changes prepared", "1. Move", "2. Move", "yes to all 2")
    await expect(ann.thread.locator("[data-action-id=confirm]")).to_have_count(2)

    await ben.open(ASKED)
    await ben.press("confirm_all")
    await ben.is_told("Only @Ann can confirm this.")
    assert {name: product.text(name) for name in FILES} == before

    await ann.press("confirm_all")
    await ann.sees("2 changes done", "1. Moved", "2. Moved")
    assert product.text("archive/q3-summary.md") == before[FILES[0]]
    assert product.text("archive/q3-figures.csv") == before[FILES[1]]

    await ann.press("undo")  # the newest that can be
    await ann.sees("2. Undone: Move")
    assert product.text(FILES[1]) == before[FILES[1]]
    assert product.text("archive/q3-summary.md") == before[FILES[0]]
