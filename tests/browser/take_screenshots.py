"""Takes the screenshots of docs/images: `python -m tests.browser.take_screenshots [FOLDER]`.

It starts the demo with a home of its own, and plays the stories of the README as Ann by mouse and keyboard: in light and
dark, on a desktop and on a phone. Needs Chromium.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.async_api import Locator, Page, ViewportSize, async_playwright, expect

from tests.conftest import BROWSERS

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PLAN = "write 'agenda' to drafts/agenda.md then write 'todo' to drafts/todo.md then what is in drafts"
SECONDS = 60_000  # milliseconds, for one answer


@asynccontextmanager
async def demo(home: Path) -> AsyncIterator[str]:
    """The demo in a process of its own; gives the URL of its page."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot", "demo",
        env={**os.environ, "COUNTERSIGN_HOME": str(home)}, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        while line := (await process.stdout.readline()).decode():
            if found := re.search(r"http://\S+", line):
                yield found[0]
                return
        raise RuntimeError("the demo ended before it was ready")
    finally:
        process.terminate()
        await process.wait()


async def say(page: Page, text: str) -> Locator:
    """Writes to the bot in the channel; returns the thread that opens with its answer. On a phone a thread lies over the
    channel."""
    if await page.get_by_test_id("thread-close").count():
        await page.get_by_test_id("thread-close").click()
    await page.get_by_test_id("composer").fill(f"@Countersign {text}")
    await page.get_by_test_id("composer").press("Enter")
    thread = page.get_by_test_id("thread")
    await expect(thread).to_contain_text(text, timeout=SECONDS)
    return thread


async def press(thread: Locator, name: str) -> None:
    await thread.get_by_role("button", name=name, exact=True).click(timeout=SECONDS)


async def picture(page: Page, place: Path) -> None:
    """A third of the size that Chromium gives it, and looks the same."""
    image = Image.open(io.BytesIO(await page.screenshot()))
    image.quantize(256).save(place, optimize=True)


async def look_at_modal(page: Page, name: str, shot: Callable[[str], Awaitable[None]]) -> None:
    """Once the modal that was asked for is whole: `shot`, then close it."""
    modal = page.get_by_test_id("modal")
    await expect(modal).to_contain_text("reports/q3-summary.md", timeout=SECONDS)
    await shot(name)
    await page.get_by_test_id("modal-close").click()
    await expect(modal).to_have_count(0, timeout=SECONDS)


async def play(page: Page, shot: Callable[[str], Awaitable[None]]) -> None:
    """The stories; `shot` is called, with a name, for each thing that people see."""
    await expect(page.get_by_test_id("examples")).to_be_visible(timeout=SECONDS)
    await shot("first-page")
    thread = await say(page, "what is in reports")
    await expect(thread).to_contain_text("q3-summary.md", timeout=SECONDS)
    await shot("read")
    thread = await say(page, "move the Q3 summary to the archive")
    await expect(thread.get_by_role("button", name="Confirm", exact=True)).to_be_visible(timeout=SECONDS)
    await shot("workspace")
    await press(thread, "Edit")
    await look_at_modal(page, "edit", shot)
    await thread.locator("[data-action-id=more]").click(timeout=SECONDS)
    await page.get_by_role("menuitem", name="Show everything").click(timeout=SECONDS)
    await look_at_modal(page, "everything", shot)
    await press(thread, "Confirm")
    await expect(thread.get_by_role("button", name="Undo", exact=True)).to_be_visible(timeout=SECONDS)
    await shot("done")
    thread = await say(page, "delete drafts/q3-draft.md")
    await press(thread, "Review…")
    await expect(page.get_by_test_id("modal")).to_be_visible(timeout=SECONDS)
    phrase = page.get_by_label("The phrase")
    await expect(phrase).to_be_visible(timeout=SECONDS)
    await shot("destructive")
    await phrase.fill((await page.get_by_test_id("modal").locator("pre").last.inner_text()).strip())
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal")).to_be_hidden(timeout=SECONDS)
    await press(thread, "Undo")
    await expect(thread).to_contain_text("Undone", timeout=SECONDS)
    await shot("undone")
    thread = await say(page, PLAN)
    await expect(thread.get_by_role("button", name="Approve all", exact=True)).to_be_visible(timeout=SECONDS)
    await shot("plan")
    await press(thread, "Approve all")
    await expect(thread.get_by_role("button", name="Undo all", exact=True)).to_be_visible(timeout=SECONDS)
    await shot("plan-done")
    thread = await say(page, "move reports/q3-figures.csv to archive")
    await expect(thread.get_by_role("button", name="Confirm", exact=True)).to_be_visible(timeout=SECONDS)
    await page.get_by_test_id("thread-close").click()
    await page.get_by_test_id("composer").fill("/pending")
    await page.get_by_test_id("composer").press("Enter")
    listed = page.get_by_test_id("channel").locator(".ephemeral").last
    await expect(listed).to_contain_text("Waiting for a decision", timeout=SECONDS)
    await shot("pending")


async def main(folder: Path) -> None:
    async with async_playwright() as playwright:
        program = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = await playwright.chromium.launch(executable_path=program)
        for (size, (width, height)), scheme in itertools.product(SIZES.items(), SCHEMES):
            place = folder if (size, scheme) == ("desktop", "light") else folder / f"{size}-{scheme}"
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory() as home:
                async with demo(Path(home)) as url:
                    viewport: ViewportSize = {"width": width, "height": height}
                    page = await browser.new_page(viewport=viewport, color_scheme=scheme)
                    await page.goto(url)
                    await play(
                        page, lambda name, page=page, place=place: picture(page, place / f"{name}.png")
                    )
                    await page.close()
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES))
