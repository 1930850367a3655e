"""Modal dialogs: fields, their values, their errors, submit and close."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect

from tests.browser.page_fake import (
    FakeWorkspace,
    OpenPage,
    actions,
    button,
    field_block,
    options,
    plain,
    section,
    view,
)

pytestmark = pytest.mark.browser

PHRASE = field_block("phrase", "plain_text_input")


@pytest.mark.slow
async def test_the_typed_phrase_is_submitted_with_enter(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["modal"] = view(section("*Two files*"), PHRASE)
    page = await open_page(fake.url)
    await expect(page.get_by_role("dialog", name="Delete 2 files")).to_be_visible()
    await expect(page.get_by_label("Phrase")).to_be_focused()
    await expect(page.get_by_test_id("modal-submit")).to_have_text("Delete")
    await page.keyboard.type("delete 2 7F3K")
    async with page.expect_response("**/ui/submit"):
        await page.keyboard.press("Enter")
    values = {"phrase": {"v": {"type": "plain_text_input", "value": "delete 2 7F3K"}}}
    assert fake.posts == [("/ui/submit", {"as": "U_ANN", "view_id": "V1", "values": values})]


@pytest.mark.slow
async def test_an_error_stands_beside_its_field_and_what_was_typed_stays(
    fake: FakeWorkspace, open_page: OpenPage
):
    fake.more["modal"] = view(PHRASE)
    page = await open_page(fake.url)
    await page.get_by_label("Phrase").fill("wrong")
    fake.after["/ui/submit"] = {"modal": view(PHRASE, errors={"phrase": "Type it exactly."})}
    await page.get_by_test_id("modal-submit").click()
    await expect(page.locator("[data-block-id=phrase]").get_by_role("alert")).to_have_text("Type it exactly.")
    await expect(page.get_by_label("Phrase")).to_have_value("wrong")
    await expect(page.get_by_label("Phrase")).to_have_attribute("aria-invalid", "true")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["escape", "x", "button"])
async def test_a_modal_can_be_closed(fake: FakeWorkspace, open_page: OpenPage, how: str):
    fake.more["modal"] = view(PHRASE)
    page = await open_page(fake.url)
    await page.get_by_test_id("modal").wait_for()
    fake.after["/ui/close"] = {"modal": None}
    match how:
        case "escape":
            await page.keyboard.press("Escape")
        case "x":
            await page.get_by_test_id("modal-x").click()
        case _:
            await page.get_by_test_id("modal-close").click()
    await expect(page.get_by_test_id("modal")).to_have_count(0)
    assert fake.posts == [("/ui/close", {"as": "U_ANN", "view_id": "V1"})]


@pytest.mark.slow
async def test_every_kind_of_field_sends_what_slack_would(fake: FakeWorkspace, open_page: OpenPage):
    initial = {"text": plain("Append"), "value": "append"}
    fake.more["modal"] = view(
        field_block("content", "plain_text_input", multiline=True, initial_value="old"),
        field_block("mode", "static_select", options=options("overwrite", "append"), initial_option=initial),
        field_block("flags", "checkboxes", options=options("a", "b"), optional=True),
        field_block("many", "multi_static_select", options=options("x", "y")),
        field_block("who", "radio_buttons", options=options("me", "all")),
        field_block("until", "datepicker"),
        field_block("copies", "number_input"),
        field_block("empty", "plain_text_input", optional=True),
    )
    page = await open_page(fake.url)
    await page.get_by_label("Content").fill("one\ntwo")
    await page.get_by_label("Y", exact=True).check()
    await page.get_by_label("Me", exact=True).check()
    await page.get_by_label("Until").fill("2027-01-31")
    await page.get_by_label("Copies").fill("3")
    async with page.expect_response("**/ui/submit"):
        await page.get_by_test_id("modal-submit").click()
    [(_, body)] = fake.posts
    assert {block: fields["v"] for block, fields in body["values"].items()} == {
        "content": {"type": "plain_text_input", "value": "one\ntwo"},
        "mode": {"type": "static_select", "selected_option": initial},
        "flags": {"type": "checkboxes", "selected_options": []},
        "many": {"type": "multi_static_select", "selected_options": options("y")},
        "who": {"type": "radio_buttons", "selected_option": options("me")[0]},
        "until": {"type": "datepicker", "selected_date": "2027-01-31"},
        "copies": {"type": "number_input", "value": "3"},
        "empty": {"type": "plain_text_input", "value": None},
    }


async def test_a_placeholder_is_replaced_and_the_first_field_takes_the_focus(
    fake: FakeWorkspace, open_page: OpenPage
):
    fake.more["modal"] = view(section("One moment…"), submit=None)
    page = await open_page(fake.url)
    await expect(page.get_by_test_id("modal")).to_contain_text("One moment…")
    await expect(page.get_by_test_id("modal-submit")).to_have_count(0)
    fake.more["modal"] = view(PHRASE)
    fake.touch()
    await expect(page.get_by_label("Phrase")).to_be_focused()


async def test_a_busy_modal_submits_once(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["modal"] = view(PHRASE)
    fake.held = asyncio.Event()
    page = await open_page(fake.url)
    await page.get_by_label("Phrase").fill("x")
    async with page.expect_request("**/ui/submit"):
        await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("modal-submit")).to_be_disabled()
    await page.keyboard.press("Enter")
    fake.held.set()
    await expect(page.get_by_test_id("modal-submit")).to_be_enabled()
    assert len(fake.posts) == 1


async def test_a_refused_submit_says_why_inside_the_modal(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["modal"] = view(PHRASE)
    fake.answers["/ui/submit"] = {"ok": False, "error": "We had some trouble connecting."}
    page = await open_page(fake.url)
    await page.get_by_label("Phrase").fill("x")
    await page.get_by_test_id("modal-submit").click()
    await expect(page.get_by_test_id("modal-error")).to_have_text("We had some trouble connecting.")
    await expect(page.get_by_label("Phrase")).to_have_value("x")


async def test_a_button_inside_a_modal_posts_its_view(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["modal"] = view(actions(button("more", "Show more")), PHRASE)
    page = await open_page(fake.url)
    await page.get_by_label("Phrase").fill("half")
    async with page.expect_response("**/ui/action"):
        await page.get_by_role("button", name="Show more").click()
    [(_, body)] = fake.posts
    assert (body["view_id"], body["action_id"], body["value"]) == ("V1", "more", "more-value")
    assert body["state"] == {"phrase": {"v": {"type": "plain_text_input", "value": "half"}}}


async def test_a_long_modal_is_read_from_its_beginning(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["modal"] = view(section("*First*\n" + "line\n" * 80), PHRASE)
    page = await open_page(fake.url)
    await expect(page.get_by_label("Phrase")).to_be_focused()
    await expect(page.get_by_text("First", exact=True)).to_be_in_viewport()
