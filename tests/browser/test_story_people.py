"""Words, time and people on the page: plain answers, expiry, lists, App Home, approvers, tools nobody has read."""

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
from tools.servers import ServerConfig

pytestmark = pytest.mark.browser

FIGURES = "reports/q3-figures.csv"
POLICY = """
version: 1
servers:
  filesystem:
    tools:
      copy_file: {approvers: {users: [U_CLEO]}}
      watch_folder: {ttl: 3}
"""


@on_one_loop
async def house(tmp_path: Path) -> AsyncIterator[Whole]:
    strange = ServerConfig(
        name="strange", inproc="tests.browser.strange_server:server", args=(str(tmp_path),)
    )
    async with whole(tmp_path, limits=Limits(), policy=POLICY, servers=[strange]) as running:
        yield running


@on_one_loop
async def seat(house: Whole, open_page: OpenPage) -> Seat:
    async def take(user: str) -> Window:
        return Window(await open_page(f"{house.ws.url}/?as={user}"))

    return take


async def test_no_and_what_waits_said_in_the_thread(house: Whole, seat: Seat):
    ann, ben = await seat("U_ANN"), await seat("U_BEN")
    await ann.ask(f"move {FIGURES} to archive")
    await ann.sees("Prepared:")
    await ann.reply("@Countersign pending")
    await ann.is_told(f"Prepared: Move {FIGURES}")
    await ben.open(f"move {FIGURES}")
    await expect(ben.thread).not_to_contain_text("Waiting for a decision")

    await ben.reply("no")
    await ann.reply("actually, no, I want to look at it first")
    await ann.sees("Cancelled: Move", "Cancelled by @Ann. Nothing ran.")
    await ann.is_told("OK, I cancelled it. Nothing ran")
    await expect(ann.button("confirm")).to_have_count(0)
    assert house.text(FIGURES) is not None


async def test_what_is_not_confirmed_in_time_can_be_asked_again(house: Whole, seat: Seat):
    ann = await seat("U_ANN")
    await ann.ask("watch reports")
    await ann.sees("Prepared: Watch reports")
    await ann.sees("Expired: Watch reports", "Nobody confirmed it in time. Nothing ran.")
    await ann.press("renew")
    await ann.sees("Asked again by @Ann", "Prepared: Watch reports")
    await ann.press("confirm")
    await ann.sees("Done: Watch reports")


async def test_the_approver_whom_the_policy_names_confirms(house: Whole, seat: Seat):
    ann, ben, cleo = await seat("U_ANN"), await seat("U_BEN"), await seat("U_CLEO")
    await ann.ask(f"copy {FIGURES} to archive")
    await ann.sees("May confirm: @Cleo")
    refusals = {ann: "You asked for this, so @Cleo must confirm it.", ben: "Only @Cleo can confirm this."}
    for window, refusal in refusals.items():
        await window.open(f"copy {FIGURES}")
        await window.press("confirm")
        await window.is_told(refusal)
    assert house.text("archive/q3-figures.csv") is None

    await cleo.write("/pending")
    await cleo.is_told(f"Prepared: Copy {FIGURES}", cleo.channel)
    await cleo.open(f"copy {FIGURES}")
    await cleo.press("confirm")
    await ann.sees("Done: Copy", "Confirmed by @Cleo.")
    assert house.text("archive/q3-figures.csv") == house.text(FIGURES)


async def test_an_approver_rejects_with_a_reason(house: Whole, seat: Seat):
    ann, cleo = await seat("U_ANN"), await seat("U_CLEO")
    await ann.ask(f"copy {FIGURES} to archive")
    await cleo.open(f"copy {FIGURES}")
    await cleo.press("more")
    await cleo.page.get_by_role("menuitem", name="Reject with a reason…").click()
    await cleo.page.get_by_label("Why not?").fill("Not on a Friday <!channel>.")
    await cleo.submit()
    await ann.sees("Rejected: Copy", "“Not on a Friday <!channel>.”", "Rejected by @Cleo. Nothing ran.")
    assert house.text("archive/q3-figures.csv") is None


async def test_a_tool_that_nobody_has_read_shows_all_it_would_be_given(
    house: Whole, seat: Seat, tmp_path: Path
):
    ann = await seat("U_ANN")
    await ann.ask('strange.poke at="the bear" times=2')
    await ann.sees("Not reviewed by an operator", "the bear", "times", "Can be undone: no")
    assert not (tmp_path / "poked.txt").exists()
    await ann.press("edit")
    await ann.page.get_by_label("times").fill("1.5")
    await ann.submit()
    await expect(ann.page.get_by_test_id("field-error")).to_have_count(1)
    await ann.page.get_by_label("times").fill("1")
    await ann.submit()
    await ann.sees("edited by @Ann")
    await ann.press("confirm")
    await ann.sees("Done:", "poked")
    assert (tmp_path / "poked.txt").read_text() == "the bear"


async def test_commands_and_home_tell_what_waits_and_what_was_done(house: Whole, seat: Seat):
    ann, ben = await seat("U_ANN"), await seat("U_BEN")
    await ann.ask("write hello to notes.md")
    await ann.press("confirm")
    await ann.sees("Done: Write 5 B to notes.md")
    await ann.ask(f"move {FIGURES} to archive")
    await ann.sees("Prepared: Move")

    await ann.write("/pending")
    await ann.is_told(f"Prepared: Move {FIGURES}", ann.channel)
    await ann.write("/audit")
    await ann.is_told("confirmed by @Ann", ann.channel)
    await ben.write("/audit")
    await ben.is_told("Nothing is on the record yet.", ben.channel)
    await ben.write("/countersign help")
    await ben.is_told("How to work with me", ben.channel)

    await ann.page.get_by_test_id("home-link").click()
    home = ann.page.get_by_test_id("home")
    await expect(home).to_contain_text(f"Prepared: Move {FIGURES}")
    await ann.press("undo", home)
    await expect(home).to_contain_text("There is nothing that I could take back.")
    assert house.text("notes.md") is None
    await ann.press("cancel", home)
    await expect(home).to_contain_text("Nothing waits for a decision.")
    await ben.page.get_by_test_id("home-link").click()
    await expect(ben.page.get_by_test_id("home")).to_contain_text("Nothing waits for a decision.")
