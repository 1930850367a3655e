"""The demo as `make run` starts it, by mouse: its examples do what they say, and its messages survive a restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from bot.demo import EXAMPLES
from tests.browser.browser_pages import Window
from tests.browser.page_fake import OpenPage
from tests.browser.take_screenshots import demo

pytestmark = pytest.mark.browser


async def chosen(open_page: OpenPage, url: str, user: str, example: str) -> Window:
    """This person, who has written nothing yet, clicks an example; the thread of its answer opens by itself."""
    window = Window(await open_page(url))
    await window.page.get_by_test_id(f"person-{user}").click()
    offered = window.page.get_by_test_id("examples").get_by_role("button")
    await expect(offered).to_have_text([f"@Countersign {text}" for text in EXAMPLES])
    await offered.filter(has_text=example).click()
    await window.sees(example)
    return window


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_each_example_that_the_demo_offers_is_a_click_and_does_what_it_says(
    tmp_path: Path, open_page: OpenPage
) -> None:
    read, move, plan = EXAMPLES
    files = tmp_path / "demo" / "files"
    async with demo(tmp_path) as url:
        ann = await chosen(open_page, url, "U_ANN", read)
        await ann.sees("reports/q3-figures.csv", "reports/q3-summary.md")

        ben = await chosen(open_page, url, "U_BEN", move)
        await ben.is_asked("Move reports/q3-summary.md to archive")
        await ben.press("confirm")
        await ben.sees("Moved reports/q3-summary.md")
        assert (files / "archive" / "q3-summary.md").exists()
        await ben.press("undo")
        await ben.sees("Undone")
        assert (files / "reports" / "q3-summary.md").exists()

        cleo = await chosen(open_page, url, "U_CLEO", plan)
        await cleo.press("plan_approve")
        await cleo.sees("Waiting for a decision on step 5 of 5")
        assert (files / "documents" / "minutes.txt").exists()
        await cleo.press("review")
        phrase = await cleo.modal.locator("pre").last.inner_text()
        await cleo.page.get_by_label("The phrase").fill(phrase.strip())
        await cleo.submit()
        await cleo.sees("5 of 5 steps done", "Does this meet your needs?")
        assert not list((files / "downloads").glob("*(1)*"))


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_a_demo_that_is_started_again_shows_its_messages_and_opens_their_threads(
    tmp_path: Path, open_page: OpenPage
) -> None:
    move = EXAMPLES[1]
    async with demo(tmp_path) as url:
        ann = await chosen(open_page, url, "U_ANN", move)
        await ann.press("confirm")
        await ann.sees("Moved reports/q3-summary.md")
        await ann.page.close()
    async with demo(tmp_path) as url:
        ann = Window(await open_page(url))
        await expect(ann.channel).to_contain_text(move)
        await expect(ann.page.get_by_test_id("examples")).to_have_count(0)
        await expect(ann.thread).to_have_count(0)
        await ann.open(move)
        await ann.sees("Moved reports/q3-summary.md")
        await ann.press("undo")
        await ann.sees("Undone")
        await ann.ask("what is in reports")
        await ann.sees("reports/q3-summary.md")
