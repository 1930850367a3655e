"""What people can do, and in which words and payloads the app hears of it."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient

from tests.workspace.bolt_apps import INSTALLED, Connected, bolt_for, hastily
from workspace.faults import NotPossible
from workspace.person import compose, escape_command
from workspace.server import Workspace
from workspace.state import Seed, State, counted_ids

Body = dict[str, Any]


def plain(text: str) -> Body:
    return {"type": "plain_text", "text": text}


def choices(*values: str) -> list[Body]:
    return [{"text": plain(value.upper()), "value": value} for value in values]


CARD: list[Body] = [
    {
        "type": "section",
        "block_id": "about",
        "text": plain("A card"),
        "accessory": {"type": "overflow", "action_id": "more", "options": choices("reject", "always")},
    },
    {
        "type": "actions",
        "block_id": "deciding",
        "elements": [
            {"type": "button", "action_id": "confirm", "text": plain("Confirm"), "value": "id.1.abc"},
            {"type": "static_select", "action_id": "menu", "options": choices("a", "b")},
            {"type": "checkboxes", "action_id": "boxes", "options": choices("x", "y", "z")},
            {"type": "datepicker", "action_id": "day", "initial_date": "2026-11-20"},
        ],
    },
]


@pytest.fixture
def client(ws: Workspace) -> AsyncWebClient:
    return AsyncWebClient(INSTALLED.bot_token, base_url=ws.api_url, retry_handlers=[])


@pytest.fixture
async def clicked(ws: Workspace, connected: Connected) -> list[Body]:
    """An app that acknowledges every action and keeps what it heard."""
    heard: list[Body] = []
    app = bolt_for(ws)

    async def act(ack: Any, body: Body) -> None:
        await ack()
        heard.append(body)

    async def hear() -> None:
        """Slack sends every message; this app only clicks."""

    for name in ("confirm", "more", "menu", "boxes", "day"):
        app.action(name)(act)
    app.event("message")(hear)
    app.event("app_mention")(hear)
    await connected.join(app)
    return heard


STATE = State(Seed(), lambda: 1000.0, counted_ids())


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("@Countersign help", "<@UBOT> help"),
        ("@countersign and @nobody", "<@UBOT> and @nobody"),
        ("<@U_BEN> <@U_NONE>", "<@U_BEN> &lt;@U_NONE&gt;"),
        ("<!channel> <http://a.com|b>", "&lt;!channel&gt; &lt;<http://a.com>|b&gt;"),
        ("see #ops", "see <#C_OPS|>"),
        ("ann@ops.com", "ann@ops.com"),
        ("go to https://x.test/a?b=1&c=2.", "go to <https://x.test/a?b=1&amp;c=2>."),
        ("delete q3-draft.md and a.txt", "delete <http://q3-draft.md|q3-draft.md> and a.txt"),
        ("read reports/q3.md", "read reports/q3.md"),
        ("run `rm notes.md <x>`", "run `rm notes.md &lt;x&gt;`"),
    ],
)
def test_what_is_typed_is_written_as_slack_writes_it(typed: str, text: str) -> None:
    assert compose(STATE, typed)[0] == text


def test_the_blocks_of_a_message_hold_the_words_unescaped() -> None:
    _, blocks = compose(STATE, "@Ann <b> notes.md")
    assert blocks[0]["elements"][0]["elements"] == [
        {"type": "user", "user_id": "U_ANN"},
        {"type": "text", "text": " <b> "},
        {"type": "link", "url": "http://notes.md", "text": "notes.md"},
    ]


def test_a_command_names_people_with_their_names() -> None:
    assert escape_command(STATE, "give @Ben notes.md & more") == "give <@U_BEN|ben> notes.md &amp; more"


async def test_a_message_event_says_where_and_by_whom(ws: Workspace, clicked: list[Body]) -> None:
    ann = ws.as_("U_ANN")
    said = [await ann.say(channel, "hello") for channel in ("C_OPS", "C_LEADS", "D_ANN")]
    entries = await ws.wait_for(lambda: ws.deliveries("message")[2:] and ws.deliveries("message"))
    events = sorted((entry.sent["event"] for entry in entries), key=lambda event: str(event["ts"]))
    assert [event["ts"] for event in events] == [message.ts for message in said]
    assert [event["channel_type"] for event in events] == ["channel", "group", "im"]
    assert all(event["user"] == "U_ANN" and "bot_id" not in event for event in events)


async def test_bots_and_strangers_say_so(ws: Workspace, clicked: list[Body]) -> None:
    await ws.as_("U_ROBOT").say("C_OPS", "beep")
    await ws.wait_for(lambda: ws.deliveries("message"))
    assert ws.deliveries("message")[-1].sent["event"]["bot_id"] == "B_ROBOT"
    await ws.as_("U_SAM").say("C_OPS", "from outside")
    await ws.wait_for(lambda: len(ws.deliveries("message")) == 2)
    sent = ws.deliveries("message")[-1].sent
    assert (sent["event"]["user_team"], sent["is_ext_shared_channel"]) == ("T2", True)


async def test_an_edit_and_a_deletion_are_events_of_their_own(ws: Workspace, clicked: list[Body]) -> None:
    ann = ws.as_("U_ANN")
    said = await ann.say("C_OPS", "first")
    await ann.edit(said, "second")
    await ann.delete(said)
    await ws.wait_for(lambda: len(ws.deliveries("message")) == 3)
    events = {e.sent["event"].get("subtype"): e.sent["event"] for e in ws.deliveries("message")}
    assert events["message_changed"]["message"]["text"] == "second"
    assert events["message_changed"]["previous_message"]["text"] == "first"
    assert events["message_deleted"]["deleted_ts"] == said.ts


async def test_a_channel_without_the_app_tells_it_nothing(ws: Workspace, clicked: list[Body]) -> None:
    await ws.as_("U_ANN").say("C_RANDOM", "<@UBOT> are you there?")
    await ws.as_("U_ANN").say("C_OPS", "here")
    await ws.wait_for(lambda: ws.deliveries("message"))
    assert [e.sent["event"]["channel"] for e in ws.deliveries("message")] == ["C_OPS"]
    assert [w.text for w in ws.state.warnings["U_ANN"]] == ["Countersign is not in this channel."]


@pytest.mark.parametrize(
    ("user", "channel", "text", "why"),
    [
        ("U_CLEO", "C_LEADS", "hello", "not in this channel"),
        ("U_DORA", "C_OPS", "hello", "deactivated"),
        ("U_ANN", "D_BEN", "hello", "not in this channel"),
        ("U_ANN", "C_OPS", "/pending", "use the command"),
        ("U_ANN", "C_OPS", "  ", "Write something"),
    ],
)
async def test_what_slack_does_not_let_people_write(
    ws: Workspace, user: str, channel: str, text: str, why: str
) -> None:
    with pytest.raises(NotPossible, match=why):
        await ws.as_(user).say(channel, text)


async def test_commands_do_not_work_in_threads(ws: Workspace) -> None:
    ann = ws.as_("U_ANN")
    root = await ann.say("C_OPS", "root")
    with pytest.raises(NotPossible, match="not supported in threads"):
        await ann.command("/pending", channel="C_OPS", thread_ts=root.ts)
    with pytest.raises(NotPossible, match="not work in threads"):
        await ann.say("C_OPS", "/pending", thread_ts=root.ts)
    with pytest.raises(NotPossible, match="not a valid command"):
        await ann.command("/deploy")


async def test_a_click_carries_the_card_the_value_and_the_state(
    ws: Workspace, client: AsyncWebClient, clicked: list[Body]
) -> None:
    root = await ws.as_("U_ANN").say("C_OPS", "root")
    card = await client.chat_postMessage(channel="C_OPS", thread_ts=root.ts, text="card", blocks=CARD)
    ben = ws.as_("U_BEN")
    assert (await ben.click(card["ts"], "menu", choose="b")).ok
    assert (await ben.click(card["ts"], "boxes", choose=["x", "z"])).ok
    assert (await ben.click(card["ts"], "more", choose="reject")).ok
    assert (await ben.click(card["ts"], "day", selected_date="2026-12-01")).ok
    assert (await ben.click(card["ts"], "confirm")).ok
    await ws.wait_for(lambda: len(clicked) == 5)

    body = clicked[-1]
    assert body["user"]["id"] == "U_BEN"
    assert body["container"] == {
        "type": "message",
        "message_ts": card["ts"],
        "channel_id": "C_OPS",
        "is_ephemeral": False,
        "thread_ts": root.ts,
    }
    assert body["message"]["blocks"] == CARD
    assert body["actions"][0]["value"] == "id.1.abc"
    assert body["state"]["values"]["deciding"] == {
        "menu": {"type": "static_select", "selected_option": choices("b")[0]},
        "boxes": {"type": "checkboxes", "selected_options": choices("x", "z")},
        "day": {"type": "datepicker", "selected_date": "2026-12-01"},
    }
    assert clicked[2]["actions"][0]["selected_option"] == choices("reject")[0]


async def test_only_what_is_there_can_be_clicked(ws: Workspace, client: AsyncWebClient) -> None:
    card = await client.chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    ann = ws.as_("U_ANN")
    with pytest.raises(NotPossible, match="no option 'c'"):
        await ann.click(card["ts"], "menu", choose="c")
    await client.chat_update(channel="C_OPS", ts=card["ts"], text="done")
    with pytest.raises(NotPossible, match="no confirm to use here any more"):
        await ann.click(card["ts"], "confirm")
    await client.chat_delete(channel="C_OPS", ts=card["ts"])
    with pytest.raises(NotPossible, match="closed"):
        await ann.click(card["ts"], "confirm")


@hastily
async def test_anything_can_be_forged(ws: Workspace, clicked: list[Body]) -> None:
    made_up = ws.forge.message("C_OPS", "1.000001", CARD)
    payload = ws.forge.click("U_EVIL", made_up, action_id="confirm", value="id.9.zzz")
    assert (await ws.forge.send("interactive", payload)).ok
    await ws.wait_for(lambda: clicked)
    assert (clicked[0]["user"]["id"], clicked[0]["actions"][0]["value"]) == ("U_EVIL", "id.9.zzz")
    view = ws.forge.view(view_id="V_EVIL", values={"a": {"b": {"type": "plain_text_input", "value": "x"}}})
    forged = ws.forge.submission("U_EVIL", view)
    assert (forged["view"]["id"], forged["view"]["state"]["values"]["a"]["b"]["value"]) == ("V_EVIL", "x")
    assert not (await ws.forge.send("interactive", forged)).ok


async def test_stop_is_there_while_something_runs(ws: Workspace, client: AsyncWebClient) -> None:
    ann = ws.as_("U_ANN")
    root = await ann.say("C_OPS", "work")
    with pytest.raises(NotPossible, match="Nothing is running"):
        await ann.stop("C_OPS", root.ts)
    await client.agents_sessions_setStatus(channel_id="C_OPS", thread_ts=root.ts, status="processing")
    await ann.stop("C_OPS", root.ts)
    (stopped, *_) = await ws.wait_for(lambda: ws.deliveries("agent_session_stopped"))
    assert stopped.sent["event"]["thread_ts"] == root.ts


async def test_a_response_url_takes_five_posts(
    ws: Workspace, client: AsyncWebClient, clicked: list[Body]
) -> None:
    card = await client.chat_postMessage(channel="C_OPS", text="card", blocks=CARD)
    await ws.as_("U_ANN").click(card["ts"], "confirm")
    (body,) = await ws.wait_for(lambda: clicked)
    respond = AsyncWebhookClient(body["response_url"], retry_handlers=[])
    assert (await respond.send(text="only Ann sees this")).status_code == 200
    assert (await respond.send_dict({"text": "all do", "response_type": "in_channel"})).status_code == 200
    assert (await respond.send_dict({"text": "done", "replace_original": True})).status_code == 200
    assert [m.text for m in ws.as_("U_BEN").sees("C_OPS")] == ["done", "all do"]
    assert [m.text for m in ws.as_("U_ANN").sees("C_OPS")] == ["done", "only Ann sees this", "all do"]
    assert (await respond.send_dict({"delete_original": True})).status_code == 200
    assert (await respond.send_dict({"text": "x", "blocks": [{"type": "none"}]})).status_code == 400
    last = await respond.send(text="a sixth")
    assert (last.status_code, last.body) == (404, "used_url")


async def test_the_app_hears_its_own_words_but_never_as_a_mention(
    ws: Workspace, client: AsyncWebClient, clicked: list[Body]
) -> None:
    own = await client.chat_postMessage(channel="C_OPS", text="I am <@UBOT>")
    await ws.as_("U_ANN").say("C_OPS", "<@UBOT> hello")
    await ws.wait_for(lambda: len(ws.deliveries("message")) == 2 and ws.deliveries("app_mention"))
    assert [e.sent["event"]["user"] for e in ws.deliveries("app_mention")] == ["U_ANN"]
    (echo,) = [e.sent["event"] for e in ws.deliveries("message") if e.sent["event"]["ts"] == own["ts"]]
    assert (echo["bot_id"], echo["user"]) == ("BBOT", "UBOT")


FORM: list[Body] = [
    {
        "type": "input",
        "block_id": "words",
        "label": plain("What should change?"),
        "optional": True,
        "element": {"type": "plain_text_input", "action_id": "typed", "multiline": True},
    },
    {
        "type": "input",
        "block_id": "which",
        "label": plain("Which one?"),
        "element": {"type": "static_select", "action_id": "chosen", "options": choices("a", "b")},
    },
    {
        "type": "actions",
        "block_id": "doing",
        "elements": [{"type": "button", "action_id": "confirm", "text": plain("Go"), "value": "v"}],
    },
]


async def test_the_fields_of_a_message_travel_with_its_buttons(
    ws: Workspace, client: AsyncWebClient, clicked: list[Body]
) -> None:
    posted = await client.chat_postMessage(channel="C_OPS", text="a form", blocks=FORM)
    ann, ts = ws.as_("U_ANN"), posted["ts"]
    with pytest.raises(NotPossible, match="travels with the form"):
        await ann.click(ts, "typed", value="x")
    filled = {"words": {"typed": "take b.md too"}, "which": {"chosen": {"selected_option": choices("b")[0]}}}
    assert (await ann.click(ts, "confirm", state=filled)).ok
    assert clicked[-1]["state"]["values"] == {
        "words": {"typed": {"type": "plain_text_input", "value": "take b.md too"}},
        "which": {"chosen": {"type": "static_select", "selected_option": choices("b")[0]}},
    }


async def test_nobody_sends_what_another_one_typed_into_a_message(
    ws: Workspace, client: AsyncWebClient, clicked: list[Body]
) -> None:
    ts = (await client.chat_postMessage(channel="C_OPS", text="a form", blocks=FORM))["ts"]
    await ws.as_("U_ANN").click(ts, "confirm", state={"words": {"typed": "mine"}})
    await ws.as_("U_BEN").click(ts, "confirm")
    assert clicked[-1]["state"]["values"]["words"]["typed"]["value"] is None
    await client.chat_update(channel="C_OPS", ts=ts, text="the same form", blocks=FORM)
    await ws.as_("U_ANN").click(ts, "confirm")
    assert clicked[-1]["state"]["values"]["words"]["typed"]["value"] == "mine"
