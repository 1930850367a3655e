"""The real slack_bolt against the workspace: one button, one modal, redelivery, a missed deadline."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from slack_bolt.app.async_app import AsyncApp

from tests.workspace.bolt_apps import Connected, bolt_for, hastily
from workspace.server import Workspace

PLAIN = "plain_text"
BUTTON = {
    "type": "actions",
    "block_id": "deciding",
    "elements": [
        {
            "type": "button",
            "action_id": "review",
            "text": {"type": PLAIN, "text": "Review…"},
            "value": "id-1",
        }
    ],
}
MODAL = {
    "type": "modal",
    "callback_id": "typed",
    "title": {"type": PLAIN, "text": "Delete a file"},
    "submit": {"type": PLAIN, "text": "Delete"},
    "private_metadata": "id-1",
    "blocks": [
        {
            "type": "input",
            "block_id": "phrase",
            "label": {"type": PLAIN, "text": "Type the phrase"},
            "element": {"type": "plain_text_input", "action_id": "typed"},
        }
    ],
}


def story(ws: Workspace) -> AsyncApp:
    """Mention, button, modal, submission with an error and then without."""
    app = bolt_for(ws)

    async def mentioned(event: dict[str, Any], client: Any) -> None:
        await client.chat_postMessage(
            channel=event["channel"], thread_ts=event["ts"], text="Delete?", blocks=[BUTTON]
        )

    async def reviewed(ack: Any, body: dict[str, Any], client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=MODAL)

    async def submitted(ack: Any, view: dict[str, Any], client: Any) -> None:
        if view["state"]["values"]["phrase"]["typed"]["value"] != "delete it":
            await ack(response_action="errors", errors={"phrase": "That is not the phrase."})
            return
        await ack()
        await client.chat_postMessage(channel="C_OPS", text="Deleted.")

    async def pending(ack: Any) -> None:
        await ack("Nothing is waiting for you.")

    async def ignored() -> None:
        """Slack sends every message of the channel; this app needs none."""

    app.event("app_mention")(mentioned)
    app.event("message")(ignored)
    app.action("review")(reviewed)
    app.view("typed")(submitted)
    app.command("/pending")(pending)
    return app


async def test_a_button_opens_a_modal_that_insists_on_the_phrase(ws: Workspace, connected: Connected) -> None:
    await connected.join(story(ws))
    ann = ws.as_("U_ANN")
    asked = await ann.say("C_OPS", "<@UBOT> delete the drafts")
    (card,) = await ws.wait_for(lambda: ws.by_app("C_OPS", asked.ts))

    assert (await ann.click(card, "review")).ok
    modal = await ws.wait_for(lambda: ann.modal)

    wrong = await ann.submit(modal, {"phrase": {"typed": "delete"}})
    assert wrong.error == "That is not the phrase."
    assert modal.errors == {"phrase": "That is not the phrase."}
    assert ann.modal is modal

    assert (await ann.submit(modal, {"phrase": {"typed": "delete it"}})).ok
    assert ann.modal is None
    await ws.wait_for(lambda: [m for m in ws.by_app("C_OPS") if m.text == "Deleted."])
    assert ws.refused == []


async def test_a_mention_arrives_twice_under_different_event_ids(ws: Workspace, connected: Connected) -> None:
    await connected.join(story(ws))
    said = await ws.as_("U_ANN").say("C_OPS", "<@UBOT> hello")
    await ws.wait_for(lambda: ws.deliveries("app_mention") and ws.deliveries("message"))
    (mention,), (twin, *_) = ws.deliveries("app_mention"), ws.deliveries("message")
    assert mention.sent["event"]["ts"] == twin.sent["event"]["ts"] == said.ts
    assert mention.sent["event_id"] != twin.sent["event_id"]


async def test_a_command_answers_its_person_alone(ws: Workspace, connected: Connected) -> None:
    await connected.join(story(ws))
    ann = ws.as_("U_ANN")
    assert (await ann.command("/pending", channel="C_OPS")).ok
    assert [m.text for m in ann.sees("C_OPS")] == ["Nothing is waiting for you."]
    assert ws.as_("U_BEN").sees("C_OPS") == []


@pytest.mark.slow
@hastily
async def test_an_event_is_sent_again_until_it_is_acknowledged(ws: Workspace, connected: Connected) -> None:
    tries: list[tuple[str | None, str | None]] = []
    app = bolt_for(ws)

    async def fail_twice(req: Any, resp: Any, next: Any) -> Any:
        if req.body.get("event", {}).get("type") != "message":
            return await next()
        headers = {name: values[0] for name, values in req.headers.items()}
        tries.append((headers.get("x-slack-retry-num"), headers.get("x-slack-retry-reason")))
        if len(tries) < 3:
            raise RuntimeError("not yet durable")
        return await next()

    async def seen() -> None:
        """Being called is enough."""

    app.middleware(fail_twice)
    app.event("message")(seen)
    await connected.join(app)
    await ws.as_("U_ANN").say(ws.as_("U_ANN").im, "hello")
    await ws.wait_for(lambda: any(e.note.startswith("ok") for e in ws.deliveries("message")))

    reason = "http_timeout" if connected.mode == "socket" else "http_error"
    assert tries[1:3] == [("1", reason), ("2", reason)]
    assert len({e.sent["event_id"] for e in ws.deliveries("message")}) == 1


@hastily
async def test_a_missed_deadline_is_a_warning_for_who_clicked(ws: Workspace, connected: Connected) -> None:
    app = bolt_for(ws)
    over = asyncio.Event()

    async def asleep(ack: Any) -> None:
        await over.wait()
        await ack()

    app.action("review")(asleep)
    await connected.join(app)
    client = app.client
    posted = await client.chat_postMessage(channel="C_OPS", text="Delete?", blocks=[BUTTON])
    ann = ws.as_("U_ANN")
    outcome = await ann.click(posted["ts"], "review")
    over.set()
    assert outcome.error == "Countersign did not respond."
    assert [w.text for w in ws.state.warnings["U_ANN"]] == ["Countersign did not respond."]
    assert ws.state.warnings["U_BEN"] == []


@hastily
async def test_an_action_nobody_listens_to_is_a_warning(ws: Workspace, connected: Connected) -> None:
    app = bolt_for(ws)
    await connected.join(app)
    posted = await app.client.chat_postMessage(channel="C_OPS", text="Delete?", blocks=[BUTTON])
    assert not (await ws.as_("U_BEN").click(posted["ts"], "review")).ok
    assert ws.state.warnings["U_BEN"]
