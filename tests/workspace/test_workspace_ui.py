"""The JSON between the page and the server: one person's screen, and what they do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.workspace.bolt_apps import Connected, bolt_for, hastily
from workspace.server import Workspace

Json = dict[str, Any]
BUTTONS = [
    {
        "type": "actions",
        "block_id": "deciding",
        "elements": [
            {"type": "button", "action_id": "edit", "text": {"type": "plain_text", "text": "Edit"}},
            {"type": "button", "action_id": "deaf", "text": {"type": "plain_text", "text": "Deaf"}},
        ],
    }
]
FORM = {
    "type": "modal",
    "callback_id": "form",
    "title": {"type": "plain_text", "text": "Edit"},
    "submit": {"type": "plain_text", "text": "Save"},
    "blocks": [
        {
            "type": "input",
            "block_id": "name",
            "label": {"type": "plain_text", "text": "Name"},
            "element": {"type": "plain_text_input", "action_id": "typed"},
        }
    ],
}


@pytest.fixture
async def page(ws: Workspace) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(ws.url) as session:
        yield session


async def see(page: aiohttp.ClientSession, user: str, **more: str) -> Json:
    async with page.get("/ui/state", params={"as": user, **more}) as response:
        found: Json = await response.json()
        return found


async def do(page: aiohttp.ClientSession, deed: str, **body: Any) -> Json:
    async with page.post(f"/ui/{deed}", json=body) as response:
        found: Json = await response.json()
        return found


async def test_a_person_sees_their_own_channels_and_messages(
    ws: Workspace, page: aiohttp.ClientSession
) -> None:
    await bolt_for(ws).client.chat_postEphemeral(channel="C_OPS", user="U_ANN", text="only Ann")
    posted = await do(page, "message", **{"as": "U_ANN"}, channel="C_OPS", text="hi @Ben")
    assert posted["ok"]
    (root,) = [m for m in ws.messages("C_OPS") if m.user == "U_ANN"]
    await do(page, "message", **{"as": "U_BEN"}, channel="C_OPS", text="yes?", thread_ts=root.ts)

    ann, cleo = await see(page, "U_ANN"), await see(page, "U_CLEO")
    assert ann["me"] == {"id": "U_ANN", "name": "Ann"}
    assert [m["text"] for m in ann["messages"]["C_OPS"]] == ["only Ann", "hi <@U_BEN>", "yes?"]
    assert [m["ephemeral"] for m in ann["messages"]["C_OPS"]] == [True, False, False]
    assert [m["reply_count"] for m in ann["messages"]["C_OPS"]] == [0, 1, 0]
    assert [m["text"] for m in cleo["messages"]["C_OPS"]] == ["hi <@U_BEN>", "yes?"]
    assert {c["id"] for c in ann["channels"]} - {c["id"] for c in cleo["channels"]} == {"C_LEADS", "D_ANN"}
    assert [c["command"] for c in ann["commands"]] == ["/pending", "/undo", "/audit", "/countersign"]


@hastily
async def test_a_card_is_clicked_and_a_form_filled_through_the_page(
    ws: Workspace, page: aiohttp.ClientSession, connected: Connected
) -> None:
    app = bolt_for(ws)

    async def edit(ack: Any, body: Json, client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=FORM)

    async def save(ack: Any, view: Json) -> None:
        if view["state"]["values"]["name"]["typed"]["value"] == "bad":
            await ack(response_action="errors", errors={"name": "Not that."})
            return
        await ack()

    app.action("edit")(edit)
    app.view("form")(save)
    await connected.join(app)
    card = await app.client.chat_postMessage(channel="C_GENERAL", text="card", blocks=BUTTONS)
    me = {"as": "U_ANN"}
    where = {"channel": "C_GENERAL", "ts": card["ts"], "block_id": "deciding"}
    assert await do(page, "action", **me, **where, action_id="edit", state={}) == {"ok": True}
    await ws.wait_for(lambda: ws.as_("U_ANN").modal)
    modal = (await see(page, "U_ANN"))["modal"]
    assert (modal["title"], modal["submit"], modal["close"], modal["busy"]) == ("Edit", "Save", None, False)
    assert (await see(page, "U_BEN"))["modal"] is None

    def typed(value: str) -> Json:
        return {"name": {"typed": {"type": "plain_text_input", "value": value}}}

    await do(page, "submit", **me, view_id=modal["id"], values=typed("bad"))
    assert (await see(page, "U_ANN"))["modal"]["errors"] == {"name": "Not that."}
    assert await do(page, "submit", **me, view_id=modal["id"], values=typed("good")) == {"ok": True}
    assert (await see(page, "U_ANN"))["modal"] is None

    deaf = await do(page, "action", **me, **where, action_id="deaf", state={})
    assert deaf == {"ok": False, "error": "Countersign did not respond."}
    assert [w["text"] for w in (await see(page, "U_ANN"))["warnings"]] == ["Countersign did not respond."]


@pytest.mark.parametrize(
    ("deed", "body", "why"),
    [
        ("message", {"as": "U_NOBODY", "channel": "C_OPS", "text": "x"}, "There is no U_NOBODY"),
        ("message", {"as": "U_ANN", "channel": "C_OPS"}, "This request is incomplete"),
        ("message", {"as": "U_CLEO", "channel": "C_LEADS", "text": "x"}, "You are not in this channel."),
        ("message", {"as": "U_ANN", "channel": "C_OPS", "text": 5}, "This request is incomplete"),
        ("message", {"as": ["U_ANN"], "channel": "C_OPS", "text": "x"}, "This request is incomplete"),
        ("action", {"as": "U_ANN", "ts": "1.0", "action_id": "x"}, "This window is closed."),
        ("action", {"as": "U_ANN", "view_id": "home", "action_id": "x"}, "This window is closed."),
        ("submit", {"as": "U_ANN", "view_id": "V1"}, "This window is closed."),
        ("stop", {"as": "U_ANN", "channel": "C_OPS", "thread_ts": "1.0"}, "Nothing is running here."),
        ("dance", {"as": "U_ANN"}, "There is no such thing to do"),
    ],
)
async def test_what_cannot_be_done_is_answered_in_a_sentence(
    page: aiohttp.ClientSession, deed: str, body: Json, why: str
) -> None:
    answer = await do(page, deed, **body)
    assert (answer["ok"], answer["error"].startswith(why)) == (False, True)


async def test_a_change_is_announced(ws: Workspace, page: aiohttp.ClientSession) -> None:
    async with page.get("/ui/events", params={"as": "U_ANN"}) as stream:
        assert stream.content_type == "text/event-stream"
        first = json.loads((await stream.content.readline())[6:])
        await stream.content.readline()
        await ws.as_("U_BEN").say("C_OPS", "news")
        async with asyncio.timeout(20):
            second = json.loads((await stream.content.readline())[6:])
    assert second["rev"] > first["rev"]


@hastily
async def test_the_log_shows_calls_and_deliveries(
    ws: Workspace, page: aiohttp.ClientSession, connected: Connected
) -> None:
    app = bolt_for(ws)
    await connected.join(app)
    await app.client.auth_test()
    await ws.as_("U_ANN").command("/pending")
    async with page.get("/ui/log") as response:
        log = await response.json()
    assert ("call", "auth.test") in [(e["side"], e["name"]) for e in log]
    assert ("delivery", "slash_commands") in [(e["side"], e["name"]) for e in log]


async def test_a_foreign_page_cannot_act_for_people(ws: Workspace, page: aiohttp.ClientSession) -> None:
    body = json.dumps({"as": "U_ANN", "channel": "C_OPS", "text": "forged"})
    plain = {"Content-Type": "text/plain"}
    async with page.post("/ui/message", data=body, headers=plain) as response:
        assert (await response.json())["ok"] is False
    rebound = {"Host": "evil.test", "Content-Type": "application/json"}
    async with page.post("/ui/message", data=body, headers=rebound) as response:
        assert response.status == 403
    assert ws.messages("C_OPS") == []


async def test_the_page_and_its_files_are_served(page: aiohttp.ClientSession) -> None:
    for path, kind in (("/", "html"), ("/static/app.js", "javascript"), ("/archives/C_OPS/p1", "html")):
        async with page.get(path) as response:
            assert (response.status, response.content_type.rpartition("/")[2]) == (200, kind)
    async with page.get("/static/../server.py") as response:
        assert response.status == 404


async def test_a_dialog_opens_in_the_tab_that_asked_for_it(
    ws: Workspace, page: aiohttp.ClientSession, connected: Connected
) -> None:
    app = bolt_for(ws)

    async def edit(ack: Any, body: Json, client: Any) -> None:
        await ack()
        await client.views_open(trigger_id=body["trigger_id"], view=FORM)

    app.action("edit")(edit)
    await connected.join(app)
    card = await app.client.chat_postMessage(channel="C_GENERAL", text="card", blocks=BUTTONS)
    where = {"channel": "C_GENERAL", "ts": card["ts"], "block_id": "deciding"}
    await do(page, "action", **{"as": "U_ANN"}, tab="left", **where, action_id="edit", state={})
    await ws.wait_for(lambda: ws.as_("U_ANN").modal)
    assert (await see(page, "U_ANN", tab="left"))["modal"]["title"] == "Edit"
    assert (await see(page, "U_ANN", tab="right"))["modal"] is None


async def test_a_warning_names_its_channel(ws: Workspace, page: aiohttp.ClientSession) -> None:
    await do(page, "command", **{"as": "U_ANN"}, channel="C_GENERAL", command="/pending")
    warnings = (await see(page, "U_ANN"))["warnings"]
    assert [(w["channel"], w["text"]) for w in warnings] == [
        ("C_GENERAL", "/pending failed because Countersign did not respond.")
    ]


async def test_a_posted_message_is_answered_with_its_timestamp(
    ws: Workspace, page: aiohttp.ClientSession
) -> None:
    answer = await do(page, "message", **{"as": "U_ANN"}, channel="C_GENERAL", text="hello")
    assert answer == {"ok": True, "ts": ws.messages("C_GENERAL")[0].ts}
