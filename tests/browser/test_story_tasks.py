"""The three flows of a task by mouse, with phrases for a planner: clarify, plan, run, pause, judge. Disk included."""

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

SUMMARY, FIGURES = "reports/q3-summary.md", "reports/q3-figures.csv"
NOTES, DRAFT = "drafts/meeting-notes.md", "drafts/q3-draft.md"
THREE = f"copy {SUMMARY} to archive then copy {FIGURES} to archive then move {NOTES} to archive"


@on_one_loop
async def product(tmp_path: Path) -> AsyncIterator[Product]:
    async with running_product(tmp_path, limits=Limits(proceed=0.5)) as running:
        yield running


@on_one_loop
async def open_window(product: Product, open_page: OpenPage) -> OpenWindow:
    async def open_as(user: str) -> Window:
        return Window(await open_page(f"{product.ws.url}/?as={user}"))

    return open_as


async def typed(ann: Window) -> None:
    """Open the newest Review…, type the phrase that it shows, and submit."""
    await ann.press("review")
    phrase = await ann.modal.locator("pre").last.inner_text()
    await ann.page.get_by_label("The phrase").fill(phrase.strip())
    await ann.submit()
    await expect(ann.modal).to_have_count(0)


@pytest.mark.slow
async def test_a_runbook_asks_for_what_it_misses_is_planned_changed_approved_run_and_taken_back(
    product: Product, open_window: OpenWindow
):
    ann, ben = await open_window("U_ANN"), await open_window("U_BEN")
    before = product.names()
    await ann.ask("run tidy-drafts")
    await ann.sees("Before I start", "Which drafts are kept?", "Which drafts are deleted?")
    await ann.thread.get_by_label("Which drafts are kept?").fill(NOTES)
    await ann.thread.get_by_label("Which drafts are deleted?").fill(DRAFT)
    await ann.press("task_submit")
    await ann.sees("Decided", "3 steps", "1 deletion", NOTES, "Can be undone")

    await ben.open("run tidy-drafts")
    await ben.press("plan_approve")
    await ben.is_told("Only @Ann, who asked for this, can approve it.")

    await ann.press("plan_modify")
    await ann.modal.get_by_label("Instruction for this step").nth(1).fill("keep its name")
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await ann.sees("A newer plan took the place of this one")
    await ann.press("plan_replan")
    await ann.modal.get_by_role("textbox").fill("ask me before step 2")
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await ann.sees("asks here")
    assert product.names() == before

    await expect(ann.button("plan_approve")).to_have_count(0)  # it would cover nothing that is left
    await ann.press("plan_stepwise")
    await ann.is_asked("Move drafts/meeting-notes.md")
    await ann.press("confirm")
    await ann.is_asked("Delete drafts/q3-draft.md")
    assert product.text("archive/meeting-notes.md") is not None
    await typed(ann)
    await ann.sees("3 of 3 steps done", "Does this meet your needs?")
    assert product.text(DRAFT) is None

    await ann.press("task_undo_all")
    await ann.sees("Taken back: step 3")
    assert product.names() == before
    await expect(ann.thread.get_by_role("button", name="Yes, done")).to_have_count(0)


@pytest.mark.slow
async def test_a_simple_request_is_done_judged_changed_and_started_over(
    product: Product, open_window: OpenWindow
):
    ann = await open_window("U_ANN")
    await ann.ask('Create a file called todo.md with "buy milk"')
    await ann.press("confirm")
    await ann.sees("todo.md", "Does this meet your needs?")
    await ann.thread.get_by_role("button", name="Needs changes…").last.click()
    await ann.modal.get_by_role("textbox").fill('Create a file called list.md with "eggs"')
    await ann.submit()
    await expect(ann.modal).to_have_count(0)
    await expect(ann.thread.get_by_role("button", name="Needs changes…")).to_have_count(0)
    await ann.press("confirm")
    await expect(ann.button("task_start_over")).to_be_visible()
    assert product.text("list.md") == "eggs"
    await ann.press("task_start_over")
    await ann.press("confirm")  # the file is there by now, so that it is to be replaced
    await expect(ann.button("task_start_over")).to_be_visible()
    await ann.reply("perfect, thanks")
    await expect(ann.button("task_start_over")).to_have_count(0)
    assert product.text("todo.md") == "buy milk"


@pytest.mark.slow
async def test_one_consent_covers_what_was_listed_and_the_progress_stands_on_one_card(
    product: Product, open_window: OpenWindow
):
    ann = await open_window("U_ANN")
    await ann.ask(THREE)
    await ann.sees("3 steps", "Approve all")
    assert product.text("archive/q3-summary.md") is None
    await ann.press("plan_approve")
    await ann.sees("3 of 3 steps done", "Does this meet your needs?")
    assert product.text("archive/q3-summary.md") == product.text(SUMMARY)
    assert product.text("archive/meeting-notes.md") is not None
    await expect(ann.thread.get_by_role("button", name="Confirm")).to_have_count(0)
    await ann.reply("@Countersign status")
    await ann.is_told("3 of 3 steps over")


@pytest.mark.slow
async def test_a_talk_is_compiled_confirmed_planned_paused_told_something_and_stopped(
    product: Product, open_window: OpenWindow
):
    ann = await open_window("U_ANN")
    await ann.ask("[preset=conversational review=after_step] I want to tidy up the reports")
    await expect(ann.button("task_implement")).to_be_visible()
    await ann.reply(f"copy {SUMMARY} to archive")
    await ann.reply(f"copy {FIGURES} to archive")
    await ann.reply(f"move {NOTES} to archive")
    await ann.reply("how would you build it?")
    await expect(ann.button("task_confirm")).to_have_count(0)
    await ann.reply("yes, implement it")
    await ann.sees("yes, implement it", f"copy {SUMMARY} to archive")
    await expect(ann.button("task_confirm")).to_be_visible()
    assert product.text("archive/q3-summary.md") is None
    await ann.press("task_confirm")
    await ann.sees("3 steps")
    await ann.press("plan_approve")

    await ann.sees("Step 1 is done")
    await ann.thread.locator(".message").last.get_by_role("textbox").fill("skip step 2")
    await ann.press("task_resume")
    await ann.sees("skip step 2")
    await expect(ann.button("task_stop")).to_be_visible()
    await ann.reply("stop")
    await expect(ann.button("task_stop")).to_have_count(0)
    assert product.text("archive/q3-summary.md") is not None
    assert product.text("archive/q3-figures.csv") is None


@pytest.mark.slow
async def test_a_step_that_fails_pauses_and_is_tried_again_or_skipped(
    product: Product, open_window: OpenWindow
):
    ann = await open_window("U_ANN")
    await ann.ask(THREE)
    await ann.sees("Approve all")
    gone = product.files / FIGURES
    content = gone.read_bytes()
    gone.unlink()
    await ann.press("plan_approve")
    await expect(ann.button("step_retry")).to_be_visible()
    await ann.sees("Step 2")
    gone.write_bytes(content)
    await ann.press("step_retry")
    await ann.is_asked("Copy reports/q3-figures.csv")  # nobody has approved a second try
    await ann.press("confirm")
    await ann.sees("3 of 3 steps done")
