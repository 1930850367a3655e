"""Talking on the page: who one is, channels and threads, mentions and commands, App Home, what arrives live."""

from __future__ import annotations

from typing import Literal

import pytest
from playwright.async_api import Page, expect

from tests.browser.page_fake import FakeWorkspace, OpenPage, actions, button, section

pytestmark = pytest.mark.browser


async def send(page: Page, text: str, where: str = "composer") -> None:
    await page.get_by_test_id(where).fill(text)
    await page.get_by_test_id(where).press("Enter")


@pytest.mark.slow
async def test_the_address_and_the_switch_say_who_one_is(fake: FakeWorkspace, open_page: OpenPage):
    fake.say(1, "for <@U_BEN>", user="U_CLEO")
    page = await open_page(f"{fake.url}?as=U_BEN")
    await expect(page.locator(".mention.mine")).to_have_text("@Ben")
    await page.get_by_test_id("person-U_CLEO").click()
    await expect(page.get_by_test_id("person-U_CLEO")).to_have_attribute("aria-current", "true")
    await expect(page.locator(".mention.mine")).to_have_count(0)
    assert "as=U_CLEO" in page.url
    async with page.expect_response("**/ui/message"):
        await send(page, "hello")
    assert fake.posts == [("/ui/message", {"as": "U_CLEO", "channel": "C_OPS", "text": "hello"})]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_a_phone_keeps_people_the_thread_and_the_composer_in_sight(
    fake: FakeWorkspace, open_page: OpenPage, scheme: Literal["light", "dark"]
):
    fake.say(1, "hello", user="U_CLEO")
    page = await open_page(fake.url)
    await page.emulate_media(color_scheme=scheme)
    await page.set_viewport_size({"width": 390, "height": 844})
    for person in ("person-U_ANN", "person-U_BEN"):
        await expect(page.get_by_test_id(person)).to_be_in_viewport(ratio=1)
    await expect(page.get_by_test_id("composer")).to_be_in_viewport(ratio=1)
    await page.get_by_test_id("person-U_BEN").click()
    await expect(page.get_by_test_id("person-U_BEN")).to_have_attribute("aria-current", "true")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


async def test_names_become_mentions_and_the_rest_travels_as_typed(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    async with page.expect_response("**/ui/message"):
        await send(page, "@countersign ask @Ben, not @Benno: <b> & `@Ben`")
    assert fake.posts[0][1]["text"] == "<@U_BOT> ask <@U_BEN>, not @Benno: <b> & `@Ben`"


async def test_typing_an_at_sign_offers_people_and_completes(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await page.get_by_test_id("composer").press_sequentially("hi @")
    await expect(page.get_by_role("option")).to_contain_text(["@Countersign", "@Ben", "@Cleo"])
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Enter")
    await expect(page.get_by_test_id("composer")).to_have_value("hi @Ben ")
    assert fake.posts == []


async def test_a_registered_command_goes_to_the_app(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await page.get_by_test_id("composer").press_sequentially("/u")
    await expect(page.get_by_role("option")).to_contain_text(["/undo"])
    await page.keyboard.press("Tab")
    await page.keyboard.type("2")
    async with page.expect_response("**/ui/command"):
        await page.keyboard.press("Enter")
    assert fake.posts == [
        ("/ui/command", {"as": "U_ANN", "channel": "C_OPS", "command": "/undo", "text": "2"})
    ]
    await expect(page.get_by_test_id("composer")).to_have_value("")


@pytest.mark.slow
async def test_a_command_nobody_registered_is_refused_and_kept(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await send(page, "/frobnicate now")
    await expect(page.get_by_test_id("notice")).to_contain_text("/frobnicate is not a valid command")
    await expect(page.get_by_test_id("composer")).to_have_value("/frobnicate now")
    assert fake.posts == []


@pytest.mark.slow
async def test_a_thread_opens_takes_replies_and_refuses_commands(fake: FakeWorkspace, open_page: OpenPage):
    root = fake.say(1, "the question", user="U_ANN", reply_count=1)
    fake.say(2, "the answer", thread_ts=root)
    page = await open_page(fake.url)
    await expect(page.get_by_test_id("channel").get_by_text("the answer")).to_have_count(0)
    await page.get_by_role("button", name="1 reply").click()
    await expect(page.get_by_test_id("thread")).to_contain_text("the answer")
    await send(page, "/undo", "thread-composer")
    await expect(page.get_by_test_id("thread-notice")).to_have_text(
        "/undo is not supported in threads. Sorry!"
    )
    async with page.expect_response("**/ui/message"):
        await send(page, "yes", "thread-composer")
    assert fake.posts == [
        ("/ui/message", {"as": "U_ANN", "channel": "C_OPS", "thread_ts": root, "text": "yes"})
    ]
    await page.get_by_test_id("thread-close").click()
    await expect(page.get_by_test_id("thread")).to_have_count(0)


async def test_a_message_without_replies_can_be_answered(fake: FakeWorkspace, open_page: OpenPage):
    ts = fake.say(1, "anyone?", user="U_BEN")
    page = await open_page(fake.url)
    await page.locator(f'[data-ts="{ts}"]').hover()
    await page.get_by_test_id("reply").click()
    await expect(page.get_by_test_id("thread")).to_contain_text("anyone?")


async def test_a_permalink_opens_its_channel_and_thread(fake: FakeWorkspace, open_page: OpenPage):
    fake.say(1, "something else", user="U_BEN")
    root = fake.say(2, "the question", user="U_BEN", reply_count=1)
    fake.say(3, "the answer", thread_ts=root)
    page = await open_page(f"{fake.url}archives/C_OPS/p{root.replace('.', '')}")
    await expect(page.get_by_test_id("thread")).to_contain_text("the answer")
    await page.get_by_test_id("person-U_BEN").click()
    await expect(page.get_by_test_id("person-U_BEN")).to_have_attribute("aria-current", "true")
    await expect(page.get_by_test_id("thread")).to_contain_text("the answer")


async def test_shift_enter_breaks_the_line_instead_of_sending(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await page.get_by_test_id("composer").press_sequentially("one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("two")
    await expect(page.get_by_test_id("composer")).to_have_value("one\ntwo")
    assert fake.posts == []


async def test_what_could_not_be_sent_is_not_lost(fake: FakeWorkspace, open_page: OpenPage):
    fake.answers["/ui/message"] = {"ok": False, "error": "Ben has left this channel."}
    page = await open_page(fake.url)
    await send(page, "hello")
    await expect(page.get_by_test_id("notice")).to_have_text("Ben has left this channel.")
    await expect(page.get_by_test_id("composer")).to_have_value("hello")


async def test_messages_say_app_edited_and_only_visible_to_you(fake: FakeWorkspace, open_page: OpenPage):
    ts = fake.say(1, "Only Ann may confirm.", ephemeral=True, edited=True)
    page = await open_page(fake.url)
    message = page.locator(f'[data-ts="{ts}"]')
    for mark in ("APP", "(edited)", "Only visible to you"):
        await expect(message.get_by_text(mark, exact=True)).to_be_visible()


async def test_changes_arrive_without_a_reload(fake: FakeWorkspace, open_page: OpenPage):
    fake.say(1, blocks=[actions(button("confirm", "Confirm"))])
    page = await open_page(fake.url)
    await expect(page.locator("[data-action-id=confirm]")).to_be_visible()
    fake.messages[0]["blocks"] = [section("Expired. *Ask again*")]
    fake.touch()
    await expect(page.get_by_text("Expired.")).to_be_visible()
    await expect(page.locator("[data-action-id=confirm]")).to_have_count(0)


async def test_a_working_thread_can_be_stopped_a_waiting_one_says_so(
    fake: FakeWorkspace, open_page: OpenPage
):
    root = fake.say(1, "go", user="U_ANN")
    status = {"channel": "C_OPS", "thread_ts": root, "status": "processing"}
    fake.more["statuses"] = [status]
    page = await open_page(f"{fake.url}?as=U_ANN#C_OPS/{root}")
    await expect(page.get_by_test_id("status")).to_contain_text("Working…")
    async with page.expect_response("**/ui/stop"):
        await page.get_by_test_id("stop").click()
    assert fake.posts == [("/ui/stop", {"as": "U_ANN", "channel": "C_OPS", "thread_ts": root})]
    fake.more["statuses"] = [{**status, "status": "suspended"}]
    fake.touch()
    await expect(page.get_by_test_id("status")).to_have_text("Waiting for a person")


async def test_app_home_opens_and_its_buttons_work(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await page.get_by_test_id("home-link").click()
    await expect(page.get_by_test_id("home")).to_contain_text("has not published its Home")
    fake.more |= {"home": [actions(button("open", "Open"))], "home_id": "V_HOME"}
    fake.touch()
    async with page.expect_response("**/ui/action"):
        await page.get_by_role("button", name="Open", exact=True).click()
    (first, _), (_, body) = fake.posts
    assert first == "/ui/home"
    assert (body["view_id"], body["action_id"]) == ("V_HOME", "open")


async def test_a_channel_one_is_not_in_has_no_composer(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await page.get_by_test_id("channel-C_FIN").click()
    await expect(page.get_by_role("note")).to_have_text("Ann is not a member of #finance.")
    await expect(page.get_by_test_id("composer")).to_have_count(0)


async def test_a_warning_is_shown_until_dismissed(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["warnings"] = [{"id": "w1", "text": "/undo failed: the app did not answer."}]
    page = await open_page(fake.url)
    await expect(page.get_by_test_id("toast")).to_contain_text("the app did not answer")
    await page.get_by_role("button", name="Dismiss").click()
    await expect(page.get_by_test_id("toast")).to_have_count(0)


async def test_what_one_person_alone_sees_is_no_reply(fake: FakeWorkspace, open_page: OpenPage):
    root = fake.say(1, "the question", user="U_ANN")
    fake.say(2, "Only Ben may confirm.", thread_ts=root, ephemeral=True)
    fake.say(3, "the answer", thread_ts=root)
    page = await open_page(fake.url)
    await page.get_by_role("button", name="1 reply").click()
    await expect(page.get_by_test_id("thread")).to_contain_text("Only Ben may confirm.")


async def test_examples_are_offered_until_one_has_written_and_sent_by_a_click(
    fake: FakeWorkspace, open_page: OpenPage
):
    fake.more["examples"] = ["what is in reports", "help"]
    fake.answers["/ui/message"] = {"ok": True, "ts": "1800000001.000100"}
    page = await open_page(fake.url)
    async with page.expect_response("**/ui/message"):
        await page.get_by_role("button", name="@Countersign what is in reports").click()
    assert fake.posts == [
        ("/ui/message", {"as": "U_ANN", "channel": "C_OPS", "text": "<@U_BOT> what is in reports"})
    ]
    fake.say(1, "<@U_BOT> what is in reports", user="U_ANN")
    fake.touch()
    await expect(page.get_by_test_id("examples")).to_have_count(0)


async def test_an_answer_to_ones_own_message_opens_its_thread(fake: FakeWorkspace, open_page: OpenPage):
    fake.answers["/ui/message"] = {"ok": True, "ts": "1800000001.000100"}
    page = await open_page(fake.url)
    async with page.expect_response("**/ui/message"):
        await send(page, "@Countersign help")
    ts = fake.say(1, "<@U_BOT> help", user="U_ANN")
    fake.touch()
    await expect(page.get_by_test_id("thread")).to_have_count(0)
    fake.say(2, "I can help.", thread_ts=ts)
    fake.touch()
    await expect(page.get_by_test_id("thread")).to_contain_text("I can help.")


async def test_an_answer_to_somebody_else_opens_nothing(fake: FakeWorkspace, open_page: OpenPage):
    ts = fake.say(1, "<@U_BOT> help", user="U_BEN")
    page = await open_page(fake.url)
    fake.say(2, "I can help.", thread_ts=ts)
    fake.touch()
    await expect(page.get_by_role("button", name="1 reply")).to_be_visible()
    await expect(page.get_by_test_id("thread")).to_have_count(0)


async def test_one_can_type_as_soon_as_the_page_is_open(fake: FakeWorkspace, open_page: OpenPage):
    page = await open_page(fake.url)
    await expect(page.get_by_test_id("composer")).to_be_focused()


async def test_a_warning_is_shown_in_its_channel_only(fake: FakeWorkspace, open_page: OpenPage):
    fake.more["warnings"] = [{"id": "w1", "text": "No answer.", "channel": "D_BOT"}]
    page = await open_page(fake.url)
    await expect(page.get_by_test_id("composer")).to_be_visible()
    await expect(page.get_by_test_id("toast")).to_have_count(0)
    await page.get_by_test_id("channel-D_BOT").click()
    await expect(page.get_by_test_id("toast")).to_contain_text("No answer.")


async def test_a_streamed_message_grows_until_it_is_whole_and_can_be_stopped(
    fake: FakeWorkspace, open_page: OpenPage
):
    root = fake.say(1, "the question", user="U_ANN", reply_count=1)
    fake.say(2, "", thread_ts=root, blocks=[section("It is")], stream="open")
    page = await open_page(fake.url)
    await page.get_by_role("button", name="1 reply").click()
    thread = page.get_by_test_id("thread")
    await expect(thread.get_by_test_id("streaming")).to_be_visible()
    async with page.expect_response("**/ui/stop"):
        await thread.get_by_test_id("stop").click()
    assert fake.posts == [("/ui/stop", {"as": "U_ANN", "channel": "C_OPS", "thread_ts": root})]
    answer = fake.messages[-1]
    answer["stream"] = "expired"
    fake.touch()
    await expect(thread.get_by_test_id("unfinished")).to_have_text("This message was not finished.")
    answer |= {"blocks": [section("It is"), section("a whole answer.")], "stream": ""}
    fake.touch()
    await expect(thread).to_contain_text("a whole answer.")
    await expect(thread.get_by_test_id("streaming")).to_have_count(0)
    await expect(thread.get_by_test_id("unfinished")).to_have_count(0)
