"""The story of the README by mouse, at two sizes, in light and dark: it fits, can be reached and can be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.page_fake import OpenPage
from tests.browser.take_screenshots import SCHEMES, SIZES, demo, play

pytestmark = pytest.mark.browser
SHOTS = ("first-page read workspace edit everything done destructive undone plan plan-done pending").split()
PEOPLE = ("person-U_ANN", "person-U_BEN", "person-U_CLEO")

# Buttons that are covered or outside of the page once scrolled to, of the topmost of modal, thread and page.
UNREACHABLE = """() => {
  const top = document.querySelector("[data-testid=modal]") ?? document.querySelector("[data-testid=thread]") ?? document;
  return [...top.querySelectorAll("button")].filter((one) => one.getClientRects().length).filter((one) => {
    one.scrollIntoView({ block: "center", inline: "nearest" });
    const box = one.getBoundingClientRect();
    const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const inside = box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
    return !inside || box.height < 18 || !(one.contains(hit) || hit?.contains(one));
  }).map((one) => one.textContent.trim() || one.getAttribute("aria-label"));
}"""

# Text with less contrast to what is behind it than WCAG 2.1 (1.4.3) asks for, with its ratio.
UNREADABLE = """() => {
  const parsed = (color) => { const n = color.match(/[\\d.]+/g).map(Number); return [...n.slice(0, 3), n[3] ?? 1]; };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
  const light = (rgb) => rgb.slice(0, 3).map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (one) => {
    if (!one) return [255, 255, 255];
    const color = parsed(getComputedStyle(one).backgroundColor);
    return color[3] === 1 ? color : over(color, behind(one.parentElement));
  };
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode.textContent.trim(), one = texts.currentNode.parentElement;
    if (!text || !one.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
    if (one.closest("[disabled], [aria-busy=true]") || !/[\\p{L}\\p{N}]/u.test(text)) continue;
    const style = getComputedStyle(one), back = behind(one);
    const a = light(over(parsed(style.color), back)), b = light(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    if (ratio < (large ? 3 : 4.5)) found.push(`${ratio.toFixed(2)}: ${text.slice(0, 60)}`);
  }
  return found;
}"""


async def fits(page: Page, width: int) -> None:
    """Nothing is wider than the page; each button can be pressed, each text read, and people are in sight."""
    assert await page.evaluate("document.documentElement.scrollWidth") <= width
    assert await page.evaluate(UNREADABLE) == []
    assert await page.evaluate(UNREACHABLE) == []
    for person in PEOPLE:
        await expect(page.get_by_test_id(person)).to_be_in_viewport(ratio=1)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("size", SIZES)
async def test_the_story_of_the_readme_fits_and_can_be_read(
    tmp_path: Path, open_page: OpenPage, size: str
) -> None:
    width, height = SIZES[size]
    seen: dict[str, Any] = {}
    async with demo(tmp_path) as url:
        page = await open_page("about:blank")
        await page.set_viewport_size({"width": width, "height": height})
        await page.goto(url)

        async def look(name: str) -> None:
            for scheme in SCHEMES:
                await page.emulate_media(color_scheme=scheme)
                seen[name] = await fits(page, width)

        await play(page, look)
        await page.close()
    assert list(seen) == SHOTS
