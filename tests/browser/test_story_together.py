"""Two files in one sentence, by mouse: one card, one press for both, one of them taken back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from gate.world import Limits
from tests.browser.loops import on_one_loop
from tests.browser.page_fake import OpenPage
from tests.browser.windows import Seat, Window
from tests.whole import Whole, whole

pytestmark = pytest.mark.browser

FILES = ("reports/q3-summary.md", "reports/q3-figures.csv")  # three would be a plan
ASKED = f"move {FILES[0]} and {FILES[1]} to archive"


@on_one_loop
async def house(tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole(tmp_path, limits=Limits(undo_bar=30, proceed=0.5)) as running:
        yield running


@on_one_loop
async def seat(house: Whole, open_page: OpenPage) -> Seat:
    async def take(user: str) -> Window:
        return Window(await open_page(f"{house.ws.url}/?as={user}"))

    return take


async def test_two_files_on_one_card_are_decided_by_one_press_and_taken_back_one_by_one(
    house: Whole, seat: Seat
):
    ann, ben = await seat("U_ANN"), await seat("U_BEN")
    before = {name: house.text(name) for name in FILES}
    await ann.ask(ASKED)
    await ann.sees("2 changes prepared", "1. Prepared: Move", "2. Prepared: Move", "yes to all 2")
    await expect(ann.thread.locator("[data-action-id=confirm]")).to_have_count(2)

    await ben.open(ASKED)
    await ben.press("confirm_all")
    await ben.is_told("Only @Ann can confirm this.")
    assert {name: house.text(name) for name in FILES} == before

    await ann.press("confirm_all")
    await ann.sees("2 changes done", "1. Done: Move", "2. Done: Move")
    assert house.text("archive/q3-summary.md") == before[FILES[0]]
    assert house.text("archive/q3-figures.csv") == before[FILES[1]]

    await ann.press("undo")  # the newest that can be
    await ann.sees("2. Undone: Move")
    assert house.text(FILES[1]) == before[FILES[1]]
    assert house.text("archive/q3-summary.md") == before[FILES[0]]
