"""The page, the real workspace behind it and a real Bolt app behind that: the seams fit."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.loops import on_one_loop
from tests.browser.page_fake import OpenPage, actions, button, field_block, mrkdwn, plain, section
from tests.workspace.bolt_apps import INSTALLED, Connected, bolt_for
from workspace.server import Workspace

pytestmark = pytest.mark.browser

PHRASE = field_block("phrase", "plain_text_input")
MODAL = {"type": "modal", "callback_id": "typed", "title": plain("Delete a file"), "submit": plain("Delete")}


@on_one_loop
async def joined() -> AsyncIterator[Connected]:
    workspace = Workspace(INSTALLED)
    await workspace.start()
    connected = Connected(workspace, "socket")
    yield connected
    await connected.part()
    await workspace.stop()


async def mentioned(event: dict[str, Any], client: Any) -> None:
    blocks = [section(f"Prepared: `{event['text'].split()[-1]}`"), actions(button("review", "Review…"))]
    place = {"channel": event["channel"], "thread_ts": event["ts"]}
    await client.chat_postMessage(**place, text="Prepared", blocks=blocks)


async def reviewed(ack: Any, body: dict[str, Any], client: Any) -> None:
    await ack()
    await client.views_open(trigger_id=body["trigger_id"], view={**MODAL, "blocks": [PHRASE]})


async def submitted(ack: Any, view: dict[str, Any], body: dict[str, Any], client: Any) -> None:
    if view["state"]["values"]["phrase"]["v"]["value"] != "delete it":
        await ack(response_action="errors", errors={"phrase": "That is not the phrase."})
        return
    await ack()
    home = {"type": "home", "blocks": [{"type": "section", "text": mrkdwn("*Nothing waits.*")}]}
    await client.views_publish(user_id=body["user"]["id"], view=home)


async def opened(event: dict[str, Any]) -> None:
    """App Home: published already."""


@pytest.mark.slow
async def test_mention_card_modal_error_and_home_through_every_layer(joined: Connected, open_page: OpenPage):
    app = bolt_for(joined.ws)
    app.event("app_mention")(mentioned)
    app.event("message")(opened)
    app.event("app_home_opened")(opened)
    app.action("review")(reviewed)
    app.view("typed")(submitted)
    await joined.join(app)

    page = await open_page(f"{joined.ws.url}/?as=U_BEN")
    await page.get_by_test_id("composer").fill("@Countersign delete <b>&co")
    await page.get_by_test_id("composer").press("Enter")
    await page.get_by_role("button", name="1 reply").click()
    thread = page.get_by_test_id("thread")
    await expect(thread).to_contain_text("@Countersign delete <b>&co")
    await expect(thread.locator("code")).to_have_text("<b>&co")

    await thread.get_by_role("button", name="Review…").click()
    phrase = page.get_by_label("Phrase")
    await phrase.press("Enter")
    await expect(page.get_by_test_id("field-error")).to_have_text("Please complete this required field.")
    await phrase.fill("delete")
    await phrase.press("Enter")
    await expect(page.get_by_test_id("field-error")).to_have_text("That is not the phrase.")
    await phrase.fill("delete it")
    await phrase.press("Enter")
    await expect(page.get_by_test_id("modal")).to_have_count(0)

    await page.get_by_test_id("home-link").click()
    await expect(page.get_by_test_id("home")).to_contain_text("Nothing waits.")
    await expect(page.get_by_test_id("toast")).to_have_count(0)
