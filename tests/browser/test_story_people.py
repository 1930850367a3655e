"""Words, time and people on the page: plain answers, expiry, lists, App Home, approvers, tools nobody has read."""

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
from tools.mcp.server_config import ServerConfig

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
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    strange = ServerConfig(
        name="strange", inproc="tests.browser.unannotated_server:server", args=(str(tmp_path),)
    )
    async with running_product(tmp_path, limits=Limits(), policy=POLICY, servers=[strange]) as running:
        yield running


@on_one_loop
async def open_window(product: Product, open_page: OpenPage) -> OpenWindow:
    async def open_as(user: str) -> Window:
        return Window(await open_page(f"{product.ws.url}/?as={user}"))

    return open_as


@pytest.mark.slow
async def test_a_reply_in_the_thread_lists_or_cancels_what_waits(product: Product, open_window: OpenWindow):
    ann, ben = await open_window("U_ANN"), await open_window("U_BEN")
    await ann.ask(f"move {FIGURES} to archive")
    await ann.sees("Expires")
    await ann.reply("@Countersign pending")
    await ann.is_told(f"Move {FIGURES}")
    await ben.open(f"move {FIGURES}")
    await expect(ben.thread).not_to_contain_text("Waiting for a decision")

    await ben.reply("no")
    await ann.reply("actually, no, I want to look at it first")
    await ann.sees("Cancelled: Move", "Cancelled by @Ann. Nothing ran.")
    await ann.is_told("OK, I cancelled it. Nothing ran")
    await expect(ann.button("confirm")).to_have_count(0)
    assert product.text(FIGURES) is not None


async def test_what_is_not_confirmed_in_time_can_be_asked_again(product: Product, open_window: OpenWindow):
    ann = await open_window("U_ANN")
    await ann.ask("watch reports")
    await ann.is_asked("Start watching reports")
    await ann.sees("Expired: Start watching reports", "Nobody confirmed it in time. Nothing ran.")
    await ann.press("renew")
    await ann.sees("Asked again by @Ann", "Start watching reports")
    await ann.press("confirm")
    await ann.sees("Started watching reports")


@pytest.mark.slow
async def test_the_approver_whom_the_policy_names_confirms(product: Product, open_window: OpenWindow):
    ann, ben, cleo = await open_window("U_ANN"), await open_window("U_BEN"), await open_window("U_CLEO")
    await ann.ask(f"copy {FIGURES} to archive")
    await ann.sees("May confirm: @Cleo")
    refusals = {ann: "You asked for this, so @Cleo must confirm it.", ben: "Only @Cleo can confirm this."}
    for window, refusal in refusals.items():
        await window.open(f"copy {FIGURES}")
        await window.press("confirm")
        await window.is_told(refusal)
    assert product.text("archive/q3-figures.csv") is None

    await cleo.write("/pending")
    await cleo.is_told(f"Copy {FIGURES}", cleo.channel)
    await cleo.open(f"copy {FIGURES}")
    await cleo.press("confirm")
    await ann.sees("Copied", "@Cleo, ")
    assert product.text("archive/q3-figures.csv") == product.text(FIGURES)


@pytest.mark.slow
async def test_an_approver_rejects_with_a_reason(product: Product, open_window: OpenWindow):
    ann, cleo = await open_window("U_ANN"), await open_window("U_CLEO")
    await ann.ask(f"copy {FIGURES} to archive")
    await cleo.open(f"copy {FIGURES}")
    await cleo.press("more")
    await cleo.page.get_by_role("menuitem", name="Reject with a reason…").click()
    await cleo.page.get_by_label("Why not?").fill("Not on a Friday <!channel>.")
    await cleo.submit()
    await ann.sees("Rejected: Copy", "“Not on a Friday <!channel>.”", "Rejected by @Cleo. Nothing ran.")
    assert product.text("archive/q3-figures.csv") is None


@pytest.mark.slow
async def test_a_tool_that_nobody_has_read_shows_all_it_would_be_given(
    product: Product, open_window: OpenWindow, tmp_path: Path
):
    ann = await open_window("U_ANN")
    await ann.ask('strange.poke at="the bear" times=2')
    await ann.sees("Not reviewed by an operator", "the bear", "times", "Cannot be undone")
    assert not (tmp_path / "poked.txt").exists()
    await ann.press("edit")
    await ann.page.get_by_label("times").fill("1.5")
    await ann.submit()
    await expect(ann.page.get_by_test_id("field-error")).to_have_count(1)
    await ann.page.get_by_label("times").fill("1")
    await ann.submit()
    await ann.sees("Edited by @Ann")
    await ann.press("confirm")
    await ann.sees("Poked “the bear”, 1")
    assert (tmp_path / "poked.txt").read_text() == "the bear"


@pytest.mark.slow
async def test_commands_and_home_tell_what_waits_and_what_was_done(product: Product, open_window: OpenWindow):
    ann, ben = await open_window("U_ANN"), await open_window("U_BEN")
    await ann.ask('write "hello" to notes.md')
    await ann.press("confirm")
    await ann.sees("Wrote 5 B to notes.md")
    await ann.ask(f"move {FIGURES} to archive")
    await ann.is_asked("Move")

    await ann.write("/pending")
    await ann.is_told(f"Move {FIGURES}", ann.channel)
    await ann.write("/audit")
    await ann.is_told("confirmed by @Ann", ann.channel)
    await ben.write("/audit")
    await ben.is_told("Nothing is on the record yet.", ben.channel)
    await ben.write("/countersign help")
    await ben.is_told("How to work with me", ben.channel)

    await ann.page.get_by_test_id("home-link").click()
    home = ann.page.get_by_test_id("home")
    await expect(home).to_contain_text(f"Move {FIGURES}")
    await ann.press("undo", home)
    await expect(home).to_contain_text("There is nothing that I could take back.")
    assert product.text("notes.md") is None
    await ann.press("cancel", home)
    await expect(home).to_contain_text("Nothing waits for a decision.")
    await ben.page.get_by_test_id("home-link").click()
    await expect(ben.page.get_by_test_id("home")).to_contain_text("Nothing waits for a decision.")


@pytest.mark.slow
async def test_what_waits_is_opened_and_decided_from_home_and_from_the_list(
    product: Product, open_window: OpenWindow
):
    ben = await open_window("U_BEN")
    await ben.ask(f"move {FIGURES} to archive")
    await ben.is_asked("Move")
    three = ("drafts/meeting-notes.md", "drafts/q3-draft.md", "reports/q3-summary.md")
    await ben.ask(" then ".join(f"move {path} to archive" for path in three))
    await ben.sees("Plan:")

    await ben.page.get_by_test_id("home-link").click()
    home = ben.page.get_by_test_id("home")
    async with ben.page.context.expect_page() as opened:
        await home.get_by_role("link", name="Open").first.click()
    card = Window(await opened.value)
    await card.sees(f"Move {FIGURES}", "Expires")
    assert "as=U_BEN" in card.page.url  # not as whoever the page begins with
    await card.page.close()

    await ben.press("review", home)
    await expect(ben.modal).to_contain_text(FIGURES)
    await ben.submit()
    await expect(ben.modal).to_contain_text("Confirmed. The card in its thread shows how it goes.")
    await ben.close()
    await expect(home).to_contain_text(f"Moved {FIGURES}")
    assert product.text(FIGURES) is None

    await ben.page.get_by_test_id("channel-C_OPS").click()
    await ben.write("/pending")
    await ben.is_told("Move drafts/q3-draft.md", ben.channel)
    await ben.press("plan_decide", ben.channel)
    await ben.submit()
    await expect(ben.modal).to_contain_text("The plan's card in its thread shows how it goes.")
    await ben.close()
    await ben.open("move drafts/meeting-notes.md")
    await ben.sees("3 of 3 steps done")
