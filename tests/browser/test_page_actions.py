"""Clicks on messages: what they post, and what a person sees while and after."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.page_fake import (
    FakeWorkspace,
    OpenPage,
    actions,
    button,
    field_block,
    options,
    plain,
    section,
)

pytestmark = pytest.mark.browser


async def card(fake: FakeWorkspace, open_page: OpenPage, *blocks: dict[str, Any]) -> tuple[Page, str]:
    ts = fake.say(1, blocks=list(blocks))
    page = await open_page(f"{fake.url}?as=U_BEN")
    await page.locator(f'[data-ts="{ts}"]').wait_for()
    return page, ts


async def posted(fake: FakeWorkspace, count: int = 1) -> list[tuple[str, dict[str, Any]]]:
    async with asyncio.timeout(20), fake.arrived:
        await fake.arrived.wait_for(lambda: len(fake.posts) >= count)
    return fake.posts


@pytest.mark.slow
async def test_a_button_posts_who_where_and_its_value(fake: FakeWorkspace, open_page: OpenPage):
    page, ts = await card(fake, open_page, actions(button("confirm", "Confirm"), button("cancel", "Cancel")))
    await page.click("[data-action-id=confirm]")
    place = {"as": "U_BEN", "channel": "C_OPS", "ts": ts, "block_id": "act", "action_id": "confirm"}
    assert await posted(fake) == [("/ui/action", {**place, "value": "confirm-value", "state": {}})]


async def test_a_second_click_waits_for_the_first(fake: FakeWorkspace, open_page: OpenPage):
    fake.held = asyncio.Event()
    page, _ = await card(fake, open_page, actions(button("confirm", "Confirm")))
    await page.click("[data-action-id=confirm]")
    await posted(fake)
    await expect(page.locator("[data-action-id=confirm]")).to_have_attribute("aria-busy", "true")
    await page.click("[data-action-id=confirm]")
    fake.held.set()
    await expect(page.locator("[data-action-id=confirm]")).to_have_attribute("aria-busy", "false")
    assert len(fake.posts) == 1


@pytest.mark.slow
async def test_the_overflow_menu_posts_the_chosen_option(fake: FakeWorkspace, open_page: OpenPage):
    menu = {"type": "overflow", "action_id": "more", "options": options("grant", "reject")}
    page, _ = await card(fake, open_page, actions(menu))
    await page.click("[data-action-id=more]")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    [(_, body)] = await posted(fake)
    assert body["selected_option"] == {"text": plain("Reject"), "value": "reject"}
    await expect(page.locator("[role=menu]")).to_have_count(0)


@pytest.mark.slow
async def test_escape_closes_the_overflow_menu_and_posts_nothing(fake: FakeWorkspace, open_page: OpenPage):
    menu = {"type": "overflow", "action_id": "more", "options": options("grant")}
    page, _ = await card(fake, open_page, actions(menu))
    await page.click("[data-action-id=more]")
    await page.keyboard.press("Escape")
    await expect(page.locator("[data-action-id=more]")).to_be_focused()
    await expect(page.locator("[role=menu]")).to_have_count(0)
    assert fake.posts == []


@pytest.mark.slow
async def test_a_confirm_dialog_stands_before_the_post(fake: FakeWorkspace, open_page: OpenPage):
    ask = {"title": plain("Sure?"), "text": plain("It goes."), "confirm": plain("Go"), "deny": plain("Stay")}
    page, _ = await card(fake, open_page, actions(button("drop", "Drop", confirm=ask)))
    await page.click("[data-action-id=drop]")
    await expect(page.get_by_test_id("confirm")).to_contain_text("It goes.")
    await page.get_by_role("button", name="Stay").click()
    await expect(page.get_by_test_id("confirm")).to_have_count(0)
    assert fake.posts == []
    await page.click("[data-action-id=drop]")
    await page.get_by_test_id("confirm-ok").click()
    [(_, body)] = await posted(fake)
    assert body["action_id"] == "drop"


async def test_a_menu_in_a_message_acts_at_once_with_its_state(fake: FakeWorkspace, open_page: OpenPage):
    select = {"type": "static_select", "action_id": "pick", "options": options("one", "two")}
    page, _ = await card(fake, open_page, {**section("Which?"), "accessory": select})
    await page.select_option("[data-action-id=pick]", "two")
    [(_, body)] = await posted(fake)
    chosen = {"text": plain("Two"), "value": "two"}
    assert body["selected_option"] == chosen
    assert body["state"] == {"s": {"pick": {"type": "static_select", "selected_option": chosen}}}


@pytest.mark.slow
async def test_a_field_in_a_message_travels_with_the_click(fake: FakeWorkspace, open_page: OpenPage):
    page, _ = await card(fake, open_page, field_block("why", "plain_text_input"), actions(button("go", "Go")))
    await page.fill("[data-action-id=v]", "because")
    await page.click("[data-action-id=go]")
    [(_, body)] = await posted(fake)
    assert body["state"] == {"why": {"v": {"type": "plain_text_input", "value": "because"}}}


async def test_feedback_posts_the_value_of_the_pressed_side(fake: FakeWorkspace, open_page: OpenPage):
    sides = {
        "positive_button": {"text": plain("Yes, done"), "value": "y"},
        "negative_button": {"text": plain("Needs changes"), "value": "n"},
    }
    feedback = {"type": "feedback_buttons", "action_id": "fb", **sides}
    page, _ = await card(
        fake, open_page, {"type": "context_actions", "block_id": "ca", "elements": [feedback]}
    )
    await page.get_by_role("button", name="Needs changes").click()
    [(_, body)] = await posted(fake)
    assert (body["action_id"], body["value"]) == ("fb", "n")


@pytest.mark.slow
async def test_a_refused_click_shows_the_sentence(fake: FakeWorkspace, open_page: OpenPage):
    fake.answers["/ui/action"] = {"ok": False, "error": "The app did not answer in 3 seconds."}
    page, _ = await card(fake, open_page, actions(button("confirm", "Confirm")))
    await page.click("[data-action-id=confirm]")
    await expect(page.get_by_test_id("toast")).to_contain_text("The app did not answer in 3 seconds.")


@pytest.mark.slow
async def test_a_button_meant_for_others_is_not_shown(fake: FakeWorkspace, open_page: OpenPage):
    mine, theirs = button("mine", "Mine"), button("theirs", "Theirs", visible_to_user_ids=["U_ANN"])
    page, _ = await card(fake, open_page, actions(mine, theirs))
    await expect(page.locator("[data-action-id=mine]")).to_be_visible()
    await expect(page.locator("[data-action-id=theirs]")).to_have_count(0)


@pytest.mark.slow
async def test_a_menu_at_the_bottom_opens_upwards_and_can_be_read(fake: FakeWorkspace, open_page: OpenPage):
    menu = {"type": "overflow", "action_id": "more", "options": options("reject", "show")}
    for second in range(1, 30):
        fake.say(second, blocks=[actions(menu)])
    page = await open_page(fake.url)
    await page.locator("[data-action-id=more]").last.click()
    for name in ("Reject", "Show"):
        await expect(page.get_by_role("menuitem", name=name)).to_be_in_viewport(ratio=1)


async def test_the_fields_of_a_message_go_along_with_its_buttons(fake: FakeWorkspace, open_page: OpenPage):
    blocks = (
        field_block("words", "plain_text_input", multiline=True, optional=True),
        field_block("which", "static_select", options=options("a", "b")),
        actions(button("go", "Continue")),
    )
    page, _ = await card(fake, open_page, *blocks)
    await page.get_by_label("Words").fill("take b.md too")
    await page.get_by_label("Which").select_option("b")
    assert fake.posts == []
    await page.click("[data-action-id=go]")
    ((_, sent),) = await posted(fake)
    assert sent["state"]["words"]["v"] == {"type": "plain_text_input", "value": "take b.md too"}
    assert sent["state"]["which"]["v"]["selected_option"]["value"] == "b"
