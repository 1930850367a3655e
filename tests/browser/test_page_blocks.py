"""Block Kit and mrkdwn as the page draws them, and hostile text that must stay text."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.async_api import Locator, expect

from tests.browser.page_fake import FakeWorkspace, OpenPage, actions, button, mrkdwn, options, plain, section

pytestmark = pytest.mark.browser

HOSTILE = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>'


def rich(kind: str, *elements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "type": "rich_text",
        "block_id": "r",
        "elements": [{"type": kind, "elements": list(elements), **more}],
    }


def words(text: str, **style: bool) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": style} if style else {})}


TASK = {"task_id": "t1", "title": "Move q3.md", "status": "complete"}
DETAIL = {**rich("rich_text_section", words("to archive")), "block_id": "d"}
CELL = {"type": "raw_text", "text": "Size"}
KINDS: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "header", "text": plain("Delete *2* files")}, "h3", "Delete *2* files"),
    (section("*Nothing* changed"), "strong", "Nothing"),
    ({"type": "section", "fields": [mrkdwn("_From_"), plain("a_b_c")]}, ".section-field >> nth=1", "a_b_c"),
    ({**section("x"), "accessory": button("undo", "Undo")}, "[data-action-id=undo]", "Undo"),
    ({"type": "context", "elements": [mrkdwn("write `x`"), plain("p")]}, "code", "x"),
    (actions(button("go", "Go", style="danger")), "button.danger", "Go"),
    (actions({"type": "static_select", "action_id": "s", "options": options("one")}), "select", "Choose…One"),
    ({"type": "divider"}, "hr", ""),
    (rich("rich_text_section", words("b", bold=True), words("c", code=True)), "code", "c"),
    (rich("rich_text_section", {"type": "user", "user_id": "U_BEN"}), ".mention", "@Ben"),
    (rich("rich_text_section", {"type": "channel", "channel_id": "C_OPS"}), ".mention", "#ops"),
    (rich("rich_text_section", {"type": "emoji", "name": "warning"}), "[role=img]", "⚠️"),
    (rich("rich_text_quote", words("said")), "blockquote", "said"),
    (rich("rich_text_preformatted", words("-a\n+b"), language="diff"), ".added", "+b"),
    (rich("rich_text_preformatted", words("*a* <b>")), "pre", "*a* <b>"),
    (rich("rich_text_list", DETAIL["elements"][0], style="ordered"), "ol > li", "to archive"),
    ({"type": "markdown", "text": "# Sum\n- **one**\n- two"}, "li >> nth=0", "one"),
    (
        {"type": "plan", "title": "Tidy", "tasks": [TASK, {**TASK, "task_id": "t2"}]},
        ".plan-title",
        "Tidy2 of 2",
    ),
    ({"type": "task_card", **TASK, "details": DETAIL}, "summary .task-title", "Move q3.md"),
    ({"type": "alert", "level": "warning", "text": mrkdwn("*Care*")}, ".alert.warning strong", "Care"),
    ({"type": "table", "rows": [[CELL, CELL], [CELL, DETAIL]]}, "td >> nth=1", "to archive"),
    (actions({"type": "overflow", "action_id": "o", "options": options("a")}), "[aria-haspopup=menu]", "⋯"),
]


async def show(fake: FakeWorkspace, open_page: OpenPage, *blocks: dict[str, Any]) -> Locator:
    """The one message that carries these blocks, drawn."""
    numbered = [{**block, "block_id": f"b{n}"} for n, block in enumerate(blocks)]
    ts = fake.say(1, "fallback", blocks=numbered)
    page = await open_page(fake.url)
    return page.locator(f'[data-ts="{ts}"]')


async def write(fake: FakeWorkspace, open_page: OpenPage, text: str) -> Locator:
    ts = fake.say(1, text, user="U_BEN")
    page = await open_page(fake.url)
    return page.locator(f'[data-ts="{ts}"] .message-body')


@pytest.mark.slow
async def test_each_kind_of_block_is_drawn(fake: FakeWorkspace, open_page: OpenPage):
    message = await show(fake, open_page, *(block for block, _, _ in KINDS))
    for n, (_, selector, text) in enumerate(KINDS):
        await expect(message.locator(f"[data-block-id=b{n}] {selector}")).to_have_text(text)
    await expect(message.locator(".unknown")).to_have_count(0)


@pytest.mark.slow
async def test_a_block_it_does_not_know_or_cannot_draw_is_shown_as_json(
    fake: FakeWorkspace, open_page: OpenPage
):
    message = await show(fake, open_page, {"type": "hologram", "spin": 1}, {"type": "actions", "elements": 7})
    await expect(message.locator("[data-block-id=b0]")).to_contain_text('"spin": 1')
    await expect(message.locator("[data-block-id=b1]")).to_contain_text('"elements": 7')


async def test_an_element_it_does_not_know_is_shown_as_json(fake: FakeWorkspace, open_page: OpenPage):
    message = await show(fake, open_page, actions({"type": "workflow_button", "action_id": "w"}))
    await expect(message.locator("[data-block-id=b0]")).to_contain_text('"workflow_button"')


async def test_hostile_text_stays_text_wherever_it_stands(fake: FakeWorkspace, open_page: OpenPage):
    escaped = HOSTILE.replace("<", "&lt;").replace(">", "&gt;")
    option = {"text": plain(HOSTILE), "value": "v"}
    message = await show(
        fake,
        open_page,
        {"type": "header", "text": plain(HOSTILE)},
        section(escaped),
        section(f"```{escaped}```"),
        rich("rich_text_preformatted", words(HOSTILE)),
        {"type": "markdown", "text": HOSTILE},
        {"type": "table", "rows": [[{"type": "raw_text", "text": HOSTILE}]]},
        actions(button("go", HOSTILE)),
        {"type": "plan", "title": HOSTILE, "tasks": []},
        {"type": "hologram", "text": HOSTILE},
        actions({"type": "static_select", "action_id": "s", "options": [option]}),
    )
    for n in (0, 1, 2, 3, 4, 5, 6, 7, 9):
        await expect(message.locator(f"[data-block-id=b{n}]")).to_contain_text(HOSTILE)
    assert await message.locator("img, script").count() == 0
    assert await message.page.evaluate("window.pwned") is None


async def test_escapes_are_decoded_exactly_once(fake: FakeWorkspace, open_page: OpenPage):
    body = await write(fake, open_page, "1 &lt; 2 &amp;&amp; &amp;lt;!channel&amp;gt;")
    await expect(body).to_have_text("1 < 2 && &lt;!channel&gt;")


async def test_plain_text_is_never_parsed(fake: FakeWorkspace, open_page: OpenPage):
    text = "*a* <@U_BEN> &lt; :tada: `c` https://a.example"
    message = await show(fake, open_page, {"type": "section", "text": plain(text)})
    await expect(message.locator("[data-block-id=b0]")).to_have_text(text)
    assert await message.locator(".blocks a, .blocks strong, .blocks code, .blocks .mention").count() == 0


async def test_mrkdwn_marks_mentions_and_links(fake: FakeWorkspace, open_page: OpenPage):
    body = await write(
        fake,
        open_page,
        "*b* _i_ ~s~ `c *x*` snake_case_name 2*3*4 <@U_ANN> <#C_OPS> <!here> <https://a.example/?a=1&amp;b=2|here>\n"
        "&gt; quoted\n```\n*raw*\n```\n:tada: :not_ours: 10:30:45",
    )
    for selector, text in {
        "strong": "b",
        "em": "i",
        "s": "s",
        "code": "c *x*",
        ".mention.mine": "@Ann",
        ".mention.loud": "@here",
        "blockquote": "quoted",
        "pre": "*raw*",
        "a": "here",
    }.items():
        await expect(body.locator(selector)).to_have_text(text)
    assert await body.locator("a").get_attribute("href") == "https://a.example/?a=1&b=2"
    await expect(body).to_contain_text("snake_case_name 2*3*4")
    await expect(body).to_contain_text("🎉 :not_ours: 10:30:45")


async def test_only_web_and_mail_addresses_become_links(fake: FakeWorkspace, open_page: OpenPage):
    link = {"type": "link", "url": "javascript:window.pwned=1", "text": "rich"}
    message = await show(
        fake,
        open_page,
        section("<javascript:window.pwned=1|click> <data:text/html,x|data>"),
        {"type": "markdown", "text": "[mark](javascript:window.pwned) [ok](https://a.example)"},
        rich("rich_text_section", link),
    )
    await expect(message.locator("[data-block-id=b2]")).to_have_text("rich (javascript:window.pwned=1)")
    hrefs = await message.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))")
    assert hrefs == ["https://a.example"]


async def test_dates_are_shown_in_the_readers_own_time(fake: FakeWorkspace, open_page: OpenPage):
    body = await write(
        fake, open_page, "until <!date^1767225600^{date_num} {time_secs}|soon>, <!date^oops^{time}|later>"
    )
    local = "new Date(1767225600e3).toLocaleTimeString('en', {timeStyle: 'medium'})"
    await expect(body.locator("time").first).to_contain_text(await body.page.evaluate(local))
    await expect(body.locator("time").nth(1)).to_have_text("later")


async def test_a_picture_from_elsewhere_is_never_asked_for(fake: FakeWorkspace, open_page: OpenPage):
    dot = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
    message = await show(
        fake,
        open_page,
        {"type": "image", "image_url": "https://tracker.example/x.png", "alt_text": "chart"},
        {"type": "image", "image_url": dot, "alt_text": "dot"},
    )
    await expect(message.locator("[data-block-id=b0]")).to_have_text("Picture not loaded: chart")
    assert await message.locator("img").evaluate_all("all => all.map(i => i.alt)") == ["dot"]
