"""A story with files, by mouse, as three people: read, move, write, delete, undo. Disk included."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.browser.browser_pages import OpenWindow, Window
from tests.browser.loops import on_one_loop
from tests.browser.page_fake import OpenPage
from tests.product import Product, running_product

pytestmark = pytest.mark.browser

SUMMARY = "reports/q3-summary.md"
DRAFTS = ("drafts/q3-draft.md", "drafts/meeting-notes.md")


@on_one_loop
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    async with running_product(tmp_path) as running:
        yield running


@on_one_loop
async def open_window(product: Product, open_page: OpenPage) -> OpenWindow:
    async def open_as(user: str) -> Window:
        return Window(await open_page(f"{product.ws.url}/?as={user}"))

    return open_as


async def test_what_only_reads_is_answered_at_once(product: Product, open_window: OpenWindow):
    ann = await open_window("U_ANN")
    await ann.ask("what is in reports")
    await ann.sees("q3-figures.csv", "78 B", "q3-summary.md")
    await expect(ann.thread.get_by_role("button", name="Confirm")).to_have_count(0)


@pytest.mark.slow
async def test_a_move_of_what_is_not_there_is_answered_with_a_sentence(
    product: Product, open_window: OpenWindow
):
    ann = await open_window("U_ANN")
    await ann.ask("move reports/nosuch.md to archive")
    await ann.sees("Not done:", "reports/nosuch.md does not exist. Look at what is in its folder first.")
    await expect(ann.button("cancel")).to_have_count(0)


async def test_a_move_is_shown_edited_confirmed_and_taken_back(product: Product, open_window: OpenWindow):
    ann, ben, cleo = await open_window("U_ANN"), await open_window("U_BEN"), await open_window("U_CLEO")
    before = product.text(SUMMARY)
    await ann.ask(f"move {SUMMARY} to archive")
    await ann.is_asked("Move reports/q3-summary.md", "131 B", "can be undone")

    for other in (ben, cleo):
        await other.open(f"move {SUMMARY}")
        await other.press("confirm")
        await other.is_told("Only @Ann can confirm this.")
    assert product.text(SUMMARY) == before

    await ann.press("edit")
    destination = ann.page.get_by_label("destination", exact=True)
    await destination.fill("")
    await ann.submit()
    await expect(ann.page.get_by_test_id("field-error")).to_have_text("Please complete this required field.")
    await destination.fill("archive/q3-final.md")
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await ann.is_asked("Move reports/q3-summary.md to archive/q3-final.md", "Edited by @Ann")
    assert product.text(SUMMARY) == before

    await ann.press("confirm")
    await ann.sees("Moved reports/q3-summary.md to archive/q3-final.md", "@Ann, ")
    assert product.text("archive/q3-final.md") == before
    assert product.text(SUMMARY) is None
    await expect(ann.button("undo")).to_be_visible()

    await ann.write("/undo")
    await ann.press("undo", ann.channel)
    await ann.is_told("I am taking it back.", ann.channel)
    await ann.sees("Undone: Move reports/q3-summary.md")
    assert product.text(SUMMARY) == before
    assert product.text("archive/q3-final.md") is None


@pytest.mark.slow
async def test_a_write_shows_the_difference_and_takes_plain_words(product: Product, open_window: OpenWindow):
    ann, ben = await open_window("U_ANN"), await open_window("U_BEN")
    before = product.text(SUMMARY)
    await ann.ask(f"write 'Could you please read this.' to {SUMMARY}")
    await ann.sees("-# Q3 report", "+Could you please read this.")

    await ann.reply("change 'could you' to 'x'")
    await ann.is_told("I cannot find “could you” in what I prepared. Nothing changed.")
    await ann.reply("change 'Could you please' to 'Please'")
    await ann.sees("+Please read this.", "Edited by @Ann")
    await ben.open(f"to {SUMMARY}")
    await ben.reply("yes")
    await ben.is_told("Only @Ann can confirm this.")
    assert product.text(SUMMARY) == before

    await ann.reply("yes")
    await ann.is_told("Is this for me, or for somebody else who wrote here since?")
    await ann.reply("@Countersign yes")
    await ann.sees("Replaced")
    assert product.text(SUMMARY) == "Please read this."
    await ann.press("undo")
    await ann.sees("Undone: Replace")
    assert product.text(SUMMARY) == before


async def test_a_delete_wants_its_phrase_and_gives_both_files_back(product: Product, open_window: OpenWindow):
    ann, ben = await open_window("U_ANN"), await open_window("U_BEN")
    before = [product.text(name) for name in DRAFTS]
    await ann.ask("delete drafts/q3-draft.md and drafts/meeting-notes.md")
    await ann.sees("This deletes 2 files.", "53 B", "73 B", "126 B", *DRAFTS, "for 30 days")
    await expect(ann.button("confirm")).to_have_count(0)
    await ann.reply("yes")
    await ann.is_told("A “yes” is not enough for this one")
    await ben.open("delete drafts")
    await ben.press("review")
    await expect(ben.modal).to_contain_text("Only @Ann can confirm this.")
    await expect(ben.page.get_by_test_id("modal-submit")).to_have_count(0)

    await ann.press("review")
    phrase = ann.page.get_by_label("The phrase")
    await expect(ann.modal).to_contain_text("126 B")
    await expect(ann.page.get_by_test_id("modal-submit")).to_have_text("Delete")
    right = (await ann.modal.locator("pre").last.inner_text()).strip()
    assert right.startswith("delete 2 ")
    await phrase.fill(right.upper())
    await ann.submit()
    await expect(ann.page.get_by_test_id("field-error")).to_contain_text("That is not the phrase.")
    assert [product.text(name) for name in DRAFTS] == before
    await phrase.fill(right)
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await ann.sees("Deleted 2 files")
    assert [product.text(name) for name in DRAFTS] == [None, None]

    await ann.press("undo")
    await ann.sees("Undone: Delete 2 files")
    assert [product.text(name) for name in DRAFTS] == before


@pytest.mark.slow
async def test_an_undo_over_a_later_change_is_asked_about_first(product: Product, open_window: OpenWindow):
    ann = await open_window("U_ANN")
    before = product.text(SUMMARY)
    await ann.ask(f'write "hello" to {SUMMARY}')
    await ann.press("confirm")
    await ann.sees("Replaced")
    (product.files / SUMMARY).write_text("somebody else's words", encoding="utf-8")
    await ann.press("undo")
    await ann.sees("Undo: ", "Changed since")
    assert product.text(SUMMARY) == "somebody else's words"
    await ann.press("confirm")
    await ann.sees("Undone: Replace")
    assert product.text(SUMMARY) == before


@pytest.mark.slow
async def test_an_undo_that_cannot_go_says_why(product: Product, open_window: OpenWindow):
    ann = await open_window("U_ANN")
    await ann.ask("delete drafts/q3-draft.md and drafts/meeting-notes.md")
    await ann.press("review")
    await ann.page.get_by_label("The phrase").fill((await ann.modal.locator("pre").last.inner_text()).strip())
    await ann.submit()
    await ann.sees("Deleted 2 files")
    (product.files / DRAFTS[0]).write_text("a new draft", encoding="utf-8")
    await ann.press("undo")
    await ann.sees("Undo: ", "Move it away first, then restore it.")
    assert product.text(DRAFTS[0]) == "a new draft"
    assert product.text(DRAFTS[1]) is None
