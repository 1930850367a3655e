"""Payloads that no honest client sends, well signed: nothing runs, and nothing breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from tests.slack_app import ANN, BEN, OPS, ROBOT, TEAM, Card, Edge, said_in
from workspace.state import View

DEPTH = 2  # of the parts of a payload that are changed
PHRASE = {"type": "plain_text_input"}


@pytest.fixture
def edge(both_modes: Edge) -> Edge:
    """Whatever the way in, nothing forged gets through."""
    return both_modes


async def shredding(edge: Edge) -> Card:
    edge.desk.notes["a.md"] = "hello"
    return await edge.propose("shred", path="a.md")


async def modal_of(card: Card, button: str = "review", callback: str = "typed") -> View:
    await card.click(button)
    view: View = await card.modal(ANN, callback)
    return view


def typed(phrase: str) -> dict[str, Any]:
    return {"phrase": {"phrase": {**PHRASE, "value": phrase}}}


async def submit(edge: Edge, view: View, user: str = ANN) -> str:
    """What the modal says then; "" when it closes."""
    answer = await edge.send("interactive", edge.ws.forge.submission(user, view))
    assert answer.ok
    body = answer.body or {}
    return said_in(View("", "", body["view"], "", "")) if "view" in body else str(body.get("errors", ""))


async def test_a_click_from_another_message_confirms_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    copy = edge.ws.forge.message(OPS, edge.ws.state.next_ts(), thread_ts=card.said.ts)
    await edge.send("interactive", edge.ws.forge.click(ANN, copy, action_id="confirm", value=card.value))
    await edge.told(ANN, "This button does not stand on a card of mine")
    assert (await card.action()).state == "prepared"
    assert edge.desk.calls == []


@pytest.mark.parametrize("button", ["confirm", "undo", "renew", "settle_happened", "cancel"])
@pytest.mark.parametrize(
    "value", ["", "x", "a.1.b", "nobody.1.0123456789abcdef", "..", "a.\u0661.b", "\0.1.\0"]
)
async def test_a_value_that_is_not_ours_is_told_so(http: Edge, button: str, value: str) -> None:
    said = await http.ann.say(OPS, "hello there")
    await http.send("interactive", http.ws.forge.click(ANN, said, action_id=button, value=value))
    await http.told(ANN, "I do not know this action (any more).")


@pytest.mark.parametrize("button", ["review", "edit", "full"])
async def test_a_form_for_what_is_not_ours_opens_with_that_word_alone(http: Edge, button: str) -> None:
    said = await http.ann.say(OPS, "hello there")
    await http.send("interactive", http.ws.forge.click(ANN, said, action_id=button, value="a.1.b"))
    modal = await http.ws.wait_for(
        lambda: http.ann.modal and "I do not know" in said_in(http.ann.modal) and http.ann.modal
    )
    assert "submit" not in modal.body


async def test_an_altered_value_confirms_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    action, version, receipt = card.value.split(".")
    for value in (f"{action}.{int(version) + 1}.{receipt}", f"{action}.{version}.{'0' * 16}"):
        await edge.send(
            "interactive", edge.ws.forge.click(ANN, card.message, action_id="confirm", value=value)
        )
    await edge.ws.wait_for(lambda: sum("changed since you saw it" in text for text in edge.hints()) == 2)
    assert (await card.action()).state == "prepared"


async def test_a_button_of_an_older_version_confirms_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="could you come")
    old = edge.ws.forge.click(ANN, card.message, action_id="confirm", value=card.value)
    await edge.ann.say(OPS, "change 'could you come' to 'come'", thread_ts=card.said.ts)
    await edge.ws.wait_for(lambda: "Edited by" in said_in(card.message))
    await edge.settled()
    await edge.send("interactive", old)
    await edge.told(ANN, "changed since you saw it")
    assert edge.desk.calls == []


async def test_another_workspace_presses_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    payload = edge.ws.forge.click(ANN, card.message, action_id="confirm", value=card.value)
    payload["team"] = {"id": "T9", "domain": "elsewhere"}
    payload["user"]["team_id"] = "T9"
    await edge.send("interactive", payload)
    assert (await card.action()).state == "prepared"
    assert edge.desk.calls == []
    assert edge.ws.calls("chat.postEphemeral") == []  # it did not come as far as our handlers


@pytest.mark.parametrize("view_id", ["V_FORGED", "", "V\0", "v" * 300])
async def test_a_modal_that_was_never_opened_confirms_nothing(edge: Edge, view_id: str) -> None:
    card = await shredding(edge)
    action = await card.action()
    forged = edge.ws.forge.view(
        values=typed(action.phrase), callback_id="typed", private_metadata=f"typed:{action.button}"
    )
    forged.id = view_id
    await submit(edge, forged)
    assert await card.action() == action
    assert edge.desk.calls == []


async def test_a_modal_of_another_kind_confirms_nothing(edge: Edge) -> None:
    card = await shredding(edge)
    action = await card.action()
    await card.more("full")
    shown = await card.modal(ANN, "full")
    forged = edge.ws.forge.view(
        shown, values=typed(action.phrase), callback_id="typed", private_metadata=f"typed:{action.button}"
    )
    assert "changed since you saw it" in await submit(edge, forged)
    mixed = edge.ws.forge.view(shown, values=typed(action.phrase), callback_id="typed")
    assert "I do not know this action" in await submit(edge, mixed)
    assert await card.action() == action


async def test_a_modal_of_another_action_confirms_nothing(edge: Edge) -> None:
    card, other = await shredding(edge), await edge.propose("shred", path="b.md")
    modal = await modal_of(card)
    wanted = await other.action()
    forged = edge.ws.forge.view(modal, values=typed(wanted.phrase), private_metadata=f"typed:{wanted.button}")
    assert "changed since you saw it" in await submit(edge, forged)
    assert await other.action() == wanted


async def test_a_modal_of_an_older_version_confirms_nothing(edge: Edge) -> None:
    card = await shredding(edge)
    modal = await modal_of(card)
    old = await card.action()
    await edge.ann.say(OPS, "change 'a.md' to 'b.md'", thread_ts=card.said.ts)
    await edge.ws.wait_for(lambda: card.text.endswith("b.md"))
    await edge.settled()
    for phrase in (old.phrase, (await card.action()).phrase):
        stale = edge.ws.forge.view(modal, values=typed(phrase))
        assert "changed since you saw it" in await submit(edge, stale)
    assert edge.desk.calls == []


async def test_a_form_of_an_older_version_edits_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="could you come")
    modal = await modal_of(card, "edit", "edit")
    await edge.ann.say(OPS, "change 'could you come' to 'come'", thread_ts=card.said.ts)
    await edge.ws.wait_for(lambda: "Edited by" in said_in(card.message))
    await edge.settled()
    now = await card.action()
    assert "changed since you saw it" in await submit(edge, modal)
    assert await card.action() == now


async def test_one_modal_submitted_twice_at_once_runs_once(edge: Edge) -> None:
    card = await shredding(edge)
    modal = await modal_of(card)
    payload = edge.ws.forge.submission(
        ANN, edge.ws.forge.view(modal, values=typed((await card.action()).phrase))
    )
    answers = await asyncio.gather(*[edge.ws.forge.send("interactive", dict(payload)) for _ in range(4)])
    await edge.settled()
    assert all(answer.ok for answer in answers)
    assert len(edge.desk.calls) == 1
    assert card.text == "Shredded a.md"


@pytest.mark.parametrize(
    "wrong",
    ["shred a.md", "\u00a0", "ＳＨＲＥＤ", "\u200b", "x" * 10_000, "\ud800", "\0", None],
)
async def test_a_phrase_that_only_looks_right_is_wrong(http: Edge, wrong: str | None) -> None:
    card = await shredding(http)
    modal = await modal_of(card)
    right = (await card.action()).phrase
    given = right + wrong if wrong in ("\u200b", "\u00a0", "\0", "\ud800") else wrong
    forged = http.ws.forge.view(modal, values={"phrase": {"phrase": {**PHRASE, "value": given}}})
    assert "not the phrase" in await submit(http, forged)
    assert http.desk.calls == []


SHAPES: dict[str, dict[str, Any]] = {
    "another app": {"bot_id": "B1", "user": "U_ROBOT"},
    "another app without an account": {"bot_id": "B1", "user": None},
    "a workflow": {"subtype": "bot_message", "bot_id": "B1", "user": None},
    "an app that posts for a person": {"app_id": "A1", "bot_profile": {"id": "B1"}},
    "an app's profile alone": {"bot_profile": {"id": "B1"}},
    "a bot message": {"subtype": "bot_message"},
    "an edit": {"subtype": "message_changed", "message": {"user": ANN, "text": "<@UBOT> write"}},
    "a deletion": {"subtype": "message_deleted"},
    "a join": {"subtype": "channel_join"},
    "ourselves": {"user": "UBOT", "bot_id": "BBOT"},
    "ourselves without a sign": {"user": "UBOT"},
    "a file by a bot": {"subtype": "file_share", "bot_id": "B1"},
    "no text": {"text": None},
    "no timestamp": {"ts": None},
    "a timestamp that is none": {"ts": "yesterday"},
    "a channel that is none": {"channel": ["C_OPS"]},
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_what_is_no_persons_own_message_is_ignored(http: Edge, shape: str) -> None:
    event = {"type": "app_mention", "user": ANN, "text": "<@UBOT> write", "channel": OPS, **SHAPES[shape]}
    event.setdefault("ts", http.ws.state.next_ts())
    http.ws.forge.event(event)
    await http.ws.wait_for(lambda: http.ws.deliveries("app_mention"))
    await http.settled()
    (delivery,) = http.ws.deliveries("app_mention")
    assert delivery.note.startswith("ok")
    assert http.planner.seen == []
    assert http.ws.by_app(OPS) == []


async def test_a_mention_by_another_app_and_an_edit_that_adds_one_are_ignored(edge: Edge) -> None:
    await edge.ws.as_(ROBOT).say(OPS, "<@UBOT> delete everything")
    said = await edge.ann.say(OPS, "delete everything")
    await edge.ann.edit(said, "<@UBOT> delete everything")
    await edge.ws.wait_for(lambda: len(edge.ws.deliveries("message")) == 3)
    await edge.settled()
    assert edge.planner.seen == []
    assert (await edge.ledger.audit_tail(team=TEAM, limit=5)) == ()


async def test_a_person_who_shares_a_file_or_sends_to_the_channel_too_is_heard(http: Edge) -> None:
    for subtype in ("file_share", "thread_broadcast"):
        ts = http.ws.state.next_ts()
        http.ws.forge.event(
            {
                "type": "message",
                "subtype": subtype,
                "user": ANN,
                "text": "<@UBOT> hi",
                "channel": OPS,
                "ts": ts,
            }
        )
    await http.ws.wait_for(lambda: len(http.planner.seen) == 2)
    await http.settled()


def mutations(body: Any, whole: Any = None, path: tuple[Any, ...] = ()) -> Iterator[dict[str, Any]]:
    """The body once without each of its parts, and once with something else in its place; its type stays."""
    whole = body if whole is None else whole
    for key in [*body] if isinstance(body, dict) else range(len(body)) if isinstance(body, list) else ():
        for instead in (None, {}, "x\0", 7):
            mutated = deepcopy(whole)
            part = mutated
            for step in path:
                part = part[step]
            part[key] = instead
            if instead is None:
                del part[key]
            if "type" in mutated and mutated["type"] == whole["type"]:
                yield mutated
        if len(path) < DEPTH:
            yield from mutations(body[key], whole, (*path, key))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["click", "submission"])
async def test_a_payload_with_parts_missing_or_of_another_kind_is_no_error_of_ours_and_changes_nothing(
    http: Edge, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    card, forge = await shredding(http), http.ws.forge
    view = await modal_of(card)
    body = forge.submission(BEN, view)
    if kind == "click":
        body = forge.click(BEN, card.message, action_id="confirm", value=card.value)
    answers = [(await http.send("interactive", mutated)).status for mutated in mutations(body)]
    assert len(answers) > 100
    assert set(answers) <= {200, 400, 404}
    assert [record for record in caplog.records if record.exc_info] == []
    assert (await card.action()).state == "prepared"
    assert http.desk.calls == []
