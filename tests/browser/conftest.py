"""A window of headless Chromium for tests, and a page that fails its test when the browser complains."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from dbos._event_loop import BackgroundEventLoop
from playwright.async_api import Browser, Page, async_playwright, expect

from tests.browser.loops import on_one_loop
from tests.browser.page_fake import FakeWorkspace, OpenPage, serve

HERE = Path(__file__).parent
PATIENCE_MS = 60_000  # long enough for a machine that does much else; nothing waits for it in vain
expect.set_options(timeout=PATIENCE_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        asynchronous = iscoroutinefunction(getattr(item, "function", None))
        if asynchronous and item.path.parent == HERE:
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.fixture(scope="session", autouse=True)
def runs_stay_on_the_loop() -> Iterator[None]:
    """The shared loop stands still between a test and its fixtures' end. DBOS would begin a run on a loop of its own
    then, whose connections nobody can close; here the run waits until the shared loop goes on."""

    def main(loop: Any) -> Any:
        return loop._main_loop or loop._loop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BackgroundEventLoop, "target_loop", main)
        yield


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium_path: str) -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path)
        yield browser
        await browser.close()


@on_one_loop
async def open_page(browser: Browser) -> AsyncIterator[OpenPage]:
    """Opens an address in a window of its own; script errors and refused content fail the test at its end."""
    complaints: list[str] = []

    async def open_one(url: str) -> Page:
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda entry: complaints.append(entry.text) if entry.type == "error" else None)
        await page.goto(url)
        return page

    yield open_one
    for context in browser.contexts:
        await context.close()
    assert complaints == []


@on_one_loop
async def fake() -> AsyncIterator[FakeWorkspace]:
    """The page's contract without a Slack behind it; serves workspace/page/ itself."""
    fake = FakeWorkspace()
    runner = await serve(fake)
    yield fake
    await runner.cleanup()
