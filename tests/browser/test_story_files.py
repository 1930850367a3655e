"""The story of design.md section 1, by mouse, as three people: read, move, write, delete, undo. Disk included."""

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

SUMMARY = "reports/q3-summary.md"
DRAFTS = ("drafts/q3-draft.md", "drafts/meeting-notes.md")


@on_one_loop
async def house(tmp_path: Path) -> AsyncIterator[Whole]:
    async with whole(tmp_path, limits=Limits(undo_bar=4)) as running:
        yield running


@on_one_loop
async def seat(house: Whole, open_page: OpenPage) -> Seat:
    async def take(user: str) -> Window:
        return Window(await open_page(f"{house.ws.url}/?as={user}"))

    return take


async def test_what_only_reads_is_answered_at_once(house: Whole, seat: Seat):
    ann = await seat("U_ANN")
    await ann.ask("what is in reports")
    await ann.sees("q3-figures.csv", "78 B", "q3-summary.md")
    await expect(ann.thread.get_by_role("button", name="Confirm")).to_have_count(0)


async def test_a_move_is_shown_edited_confirmed_and_taken_back(house: Whole, seat: Seat):
    ann, ben, cleo = await seat("U_ANN"), await seat("U_BEN"), await seat("U_CLEO")
    before = house.text(SUMMARY)
    await ann.ask(f"move {SUMMARY} to archive")
    await ann.sees("Prepared: Move reports/q3-summary.md", "131 B", "Can be undone: yes")

    for other in (ben, cleo):
        await other.open(f"move {SUMMARY}")
        await other.press("confirm")
        await other.is_told("Only @Ann can confirm this.")
    assert house.text(SUMMARY) == before

    await ann.press("edit")
    destination = ann.page.get_by_label("destination", exact=True)
    await destination.fill("")
    await ann.submit()
    await expect(ann.page.get_by_test_id("field-error")).to_have_text("Please complete this required field.")
    await destination.fill("archive/q3-final.md")
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await ann.sees("Prepared: Move reports/q3-summary.md to archive/q3-final.md", "edited by @Ann")
    assert house.text(SUMMARY) == before

    await ann.press("confirm")
    await ann.sees("Done: Move reports/q3-summary.md to archive/q3-final.md", "Confirmed by @Ann.")
    assert house.text("archive/q3-final.md") == before
    assert house.text(SUMMARY) is None
    await expect(ann.button("undo")).to_be_visible()
    await expect(ann.button("undo")).to_have_count(0)  # the bar leaves

    await ann.write("/undo")
    await ann.press("undo", ann.channel)
    await ann.is_told("I am taking it back.", ann.channel)
    await ann.sees("Undone: Move reports/q3-summary.md")
    assert house.text(SUMMARY) == before
    assert house.text("archive/q3-final.md") is None


async def test_a_write_shows_the_difference_and_takes_plain_words(house: Whole, seat: Seat):
    ann, ben = await seat("U_ANN"), await seat("U_BEN")
    before = house.text(SUMMARY)
    await ann.ask(f"write 'Could you please read this.' to {SUMMARY}")
    await ann.sees("What changes", "-# Q3 report", "+Could you please read this.")

    await ann.reply("change 'could you' to 'x'")
    await ann.is_told("I cannot find “could you” in what I prepared. Nothing changed.")
    await ann.reply("change 'Could you please' to 'Please'")
    await ann.sees("+Please read this.", "edited by @Ann")
    await ben.open(f"to {SUMMARY}")
    await ben.reply("yes")
    await ben.is_told("Only @Ann can confirm this.")
    assert house.text(SUMMARY) == before

    await ann.reply("yes")
    await ann.sees("Done: Write")
    assert house.text(SUMMARY) == "Please read this."
    await ann.press("undo")
    await ann.sees("Undone: Write")
    assert house.text(SUMMARY) == before


async def test_a_delete_wants_its_phrase_and_gives_both_files_back(house: Whole, seat: Seat):
    ann, ben = await seat("U_ANN"), await seat("U_BEN")
    before = [house.text(name) for name in DRAFTS]
    await ann.ask("delete drafts/q3-draft.md and drafts/meeting-notes.md")
    await ann.sees("This is destructive.", "53 B", "73 B", "126 B", *DRAFTS, "for 30 days")
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
    await phrase.fill(right.lower())
    await ann.submit()
    await expect(ann.page.get_by_test_id("field-error")).to_contain_text("That is not the phrase.")
    assert [house.text(name) for name in DRAFTS] == before
    await phrase.fill(right)
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await ann.sees("Done: Delete 2 files")
    assert [house.text(name) for name in DRAFTS] == [None, None]

    await ann.press("undo")
    await ann.sees("Undone: Delete 2 files")
    assert [house.text(name) for name in DRAFTS] == before


async def test_an_undo_over_a_later_change_is_asked_about_first(house: Whole, seat: Seat):
    ann = await seat("U_ANN")
    before = house.text(SUMMARY)
    await ann.ask(f"write hello to {SUMMARY}")
    await ann.press("confirm")
    await ann.sees("Done: Write")
    (house.files / SUMMARY).write_text("somebody else's words", encoding="utf-8")
    await ann.press("undo")
    await ann.sees("Prepared to undo", "Changed since")
    assert house.text(SUMMARY) == "somebody else's words"
    await ann.press("confirm")
    await ann.sees("Undone: Write")
    assert house.text(SUMMARY) == before


async def test_an_undo_that_cannot_go_says_why(house: Whole, seat: Seat):
    ann = await seat("U_ANN")
    await ann.ask("delete drafts/q3-draft.md and drafts/meeting-notes.md")
    await ann.press("review")
    await ann.page.get_by_label("The phrase").fill((await ann.modal.locator("pre").last.inner_text()).strip())
    await ann.submit()
    await ann.sees("Done: Delete 2 files")
    (house.files / DRAFTS[0]).write_text("a new draft", encoding="utf-8")
    await ann.press("undo")
    await ann.sees("Prepared to undo", "Move it away first, then restore it.")
    assert house.text(DRAFTS[0]) == "a new draft"
    assert house.text(DRAFTS[1]) is None
