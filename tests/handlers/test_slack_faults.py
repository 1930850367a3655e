"""A Slack that limits, breaks, hangs and forgets: each card stands there once in the end, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bot.cards import Cards
from gate.actions.prepare import CallRequest, prepare
from gate.rules.action import Action
from gate.rules.jobs import Run
from gate.rules.messages import CardKey, CardKind
from gate.rules.planner_port import Call, Propose
from gate.rules.ports import Posted
from tests.slack_app import ANN, BEN, OPS, Card, Edge, noted, said_in
from workspace.faults import BadGateway, Dropped, Fault, RateLimited, Refused, ServerError, Silent

FAULTS: dict[str, Fault] = {
    "429": RateLimited(1),
    "429 in the body": Refused("ratelimited"),
    "500": ServerError(),
    "502 in HTML": BadGateway(),
    "an error inside of Slack": Refused("internal_error"),
    "a token that is not taken for a moment": Refused("invalid_auth"),
    "dropped before": Dropped(),
    "dropped after": Dropped(accepted=True),
    "silent": Silent(),
    "silent after": Silent(accepted=True),
}
EVERY = pytest.mark.parametrize("fault", FAULTS)
pytestmark = pytest.mark.usefixtures("no_traceback")


async def write(edge: Edge) -> Card:
    return await edge.propose("write", path="a.md", content="hello")


@pytest.mark.slow(but=2)
@EVERY
async def test_a_card_is_posted_once_in_the_end(hasty_http: Edge, fault: str) -> None:
    hasty_http.ws.faults.on("chat.postMessage", FAULTS[fault])
    card = await write(hasty_http)
    assert len(hasty_http.ws.by_app(OPS, card.said.ts)) == 1
    await card.click("confirm")
    assert card.text == "Wrote a.md"
    assert len(hasty_http.desk.calls) == 1


@pytest.mark.slow
@EVERY
async def test_a_card_is_redrawn_in_the_end(hasty_http: Edge, fault: str) -> None:
    card = await write(hasty_http)
    hasty_http.ws.faults.on("chat.update", FAULTS[fault], times=2)
    await card.click("confirm")
    assert card.text == "Wrote a.md"  # of the only card of the action


async def test_a_post_that_got_through_unheard_is_found_behind_many_replies(
    hasty_http: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.slack_messages.PAGE", 2)
    edge = hasty_http
    said = await edge.ann.say(OPS, "a thread")
    for number in range(5):
        await edge.ws.as_(BEN).say(OPS, f"reply {number}", thread_ts=said.ts)
    edge.ws.faults.on("chat.postMessage", Dropped(accepted=True))
    edge.ws.faults.on("conversations.replies", ServerError())
    edge.planner.script.append(Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),)))
    await edge.ann.say(OPS, "<@UBOT> do it", thread_ts=said.ts)
    await edge.ws.wait_for(lambda: edge.ws.calls("chat.update"))
    await edge.settled()
    assert [m.text for m in edge.ws.by_app(OPS, said.ts)] == ["Prepared: Write a.md"]
    assert len(edge.ws.calls("conversations.replies")) >= 4


@pytest.mark.parametrize("fault", ["500", "dropped after"])
async def test_a_private_card_is_posted_once_to_its_person(hasty_http: Edge, fault: str) -> None:
    edge = hasty_http
    edge.ws.faults.on("chat.postMessage", FAULTS[fault])
    edge.planner.script.append(Propose((Call("desk", "whisper", {"at": "a.md"}),)))
    await edge.ann.say(OPS, "<@UBOT> whisper")
    (card,) = await edge.ws.wait_for(lambda: edge.ws.by_app(edge.ann.im))
    await edge.settled()
    assert len(edge.ws.by_app(edge.ann.im)) == 1
    assert edge.ws.by_app(OPS) == []
    await edge.ann.click(card, "confirm")
    await edge.settled()
    assert [m.text for m in edge.ws.by_app(edge.ann.im)] == ["Poked a.md"]


@pytest.mark.slow(but=2)
@EVERY
async def test_an_answer_to_one_person_comes_in_the_end(hasty_http: Edge, fault: str) -> None:
    hasty_http.ws.faults.on("chat.postEphemeral", FAULTS[fault])
    await hasty_http.ann.say(OPS, "<@UBOT> help")
    await hasty_http.told(ANN, "How to work with me")
    await hasty_http.settled()


@pytest.mark.slow(but=2)
@EVERY
async def test_a_hint_that_cannot_be_shown_breaks_nothing(hasty_http: Edge, fault: str) -> None:
    card = await write(hasty_http)
    hasty_http.ws.faults.on("chat.postEphemeral", FAULTS[fault], times=4)
    assert (await card.click("confirm", BEN)).ok
    assert (await card.click("confirm", ANN)).ok
    assert card.text == "Wrote a.md"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "fault",
    [Refused("expired_trigger_id"), ServerError(), BadGateway(), Dropped(), RateLimited(1), Silent()],
    ids=repr,
)
async def test_a_modal_that_cannot_be_opened_is_told(hasty_http: Edge, fault: Fault) -> None:
    card = await write(hasty_http)
    hasty_http.ws.faults.on("views.open", fault)
    assert (await card.click("edit")).ok
    await hasty_http.told(ANN, "I could not open the window in time.")
    await card.click("edit")
    await card.modal(ANN, "edit")


@pytest.mark.parametrize(
    "fault", [ServerError(), Refused("not_found"), Refused("hash_conflict"), Dropped()], ids=repr
)
async def test_a_modal_that_cannot_be_filled_changes_nothing(hasty_http: Edge, fault: Fault) -> None:
    card = await write(hasty_http)
    before = await card.action()
    hasty_http.ws.faults.on("views.update", fault)
    assert (await card.click("edit")).ok
    await hasty_http.ws.wait_for(lambda: hasty_http.ws.calls("views.update"))
    assert await card.action() == before


async def test_a_modal_that_slack_refuses_shows_a_sentence_instead(hasty_http: Edge) -> None:
    card = await write(hasty_http)
    hasty_http.ws.faults.on("views.update", Refused("view_too_large"))
    await card.click("edit")
    await hasty_http.ws.wait_for(
        lambda: hasty_http.ann.modal and "did not take" in said_in(hasty_http.ann.modal)
    )


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_too_long"])
async def test_a_card_that_slack_refuses_becomes_one_without_buttons(http: Edge, code: str) -> None:
    http.ws.faults.on("chat.postMessage", Refused(code))
    card = await write(http)
    assert card.buttons == []
    assert "Nothing can be confirmed from this message." in card.text


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("code", ["channel_not_found", "is_archived", "not_in_channel", "restricted_action"])
async def test_who_asked_is_told_once_of_a_card_that_can_stand_nowhere(http: Edge, code: str) -> None:
    http.ws.faults.on("chat.postMessage", Refused(code))
    http.planner.script.append(Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),)))
    said = await http.ann.say(OPS, "<@UBOT> do it")
    card = Card(http, said, OPS)
    await http.ws.wait_for(lambda: http.ws.calls("chat.postMessage"))
    await http.settled()
    assert http.ws.by_app(OPS) == []
    (told,) = http.ws.by_app(http.ann.im)
    assert f"I cannot post in <#{OPS}> ({code})" in told.text
    await http.ann.say(OPS, "yes", thread_ts=said.ts)
    await http.told(ANN, "The card was not there yet")
    assert (await card.action()).state == "prepared"


async def test_a_deleted_card_is_posted_anew_and_only_the_new_one_counts(http: Edge) -> None:
    card = await http.propose("write", path="a.md", content="could you come")
    gone = card.message
    http.ws.state.remove(gone)
    await http.ann.say(OPS, "change 'could you come' to 'come'", thread_ts=card.said.ts)
    await http.ws.wait_for(lambda: http.ws.by_app(OPS, card.said.ts))
    await http.settled()
    assert card.message.ts != gone.ts
    value = (await card.action()).button
    await http.send("interactive", http.ws.forge.click(ANN, gone, action_id="confirm", value=value))
    await http.told(ANN, "This button does not stand on a card of mine")
    await card.click("confirm")
    assert card.text == "Wrote a.md"


async def test_an_error_of_the_session_status_breaks_nothing(http: Edge) -> None:
    for fault in (ServerError(), Refused("thread_not_found"), Dropped()):
        http.ws.faults.on("agents.sessions.setStatus", fault)
        card = await write(http)
        await card.click("confirm")
        assert card.text == "Wrote a.md"
    assert http.ws.state.statuses[(OPS, card.said.ts)] == "active"
    calls = len(http.ws.calls("agents.sessions.setStatus"))
    http.ws.faults.on("agents.sessions.setStatus", Refused("unknown_method"))
    await write(http)
    await write(http)
    assert len(http.ws.calls("agents.sessions.setStatus")) == calls + 1


async def test_a_home_that_cannot_be_published_is_published_next_time(http: Edge) -> None:
    http.ws.faults.on("views.publish", ServerError())
    await http.ann.open_home()
    await http.ws.wait_for(lambda: http.ws.calls("views.publish"))
    await http.ann.open_home()
    await http.ws.wait_for(lambda: http.ann.home)


async def test_two_draws_of_one_card_at_once_post_it_once(http: Edge) -> None:
    card = await write(http)
    call = Call("desk", "write", {"path": "b.md", "content": "hello"})
    await prepare(http.world, CallRequest("twice", card.session, ANN, call))
    for key in ("again", "and again"):
        http.pump.start(Run("card", key, ("action", "twice", "0")))
    await http.settled()
    assert len([m for m in http.ws.by_app(OPS, card.said.ts) if m.text.endswith("b.md")]) == 1


class Behind:
    """The ledger as a slow replica saw it: how the action and its card stood before another replica drew it anew."""

    def __init__(self, ledger: Any, posted: Posted, action: Action) -> None:
        self._ledger, self._old, self._action = ledger, posted, [action]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    async def begin_drawing(self, key: str) -> Posted | None:
        return self._old

    async def voted(self, key: str) -> Any:
        return (self._action.pop(), ()) if self._action else await self._ledger.voted(key)


async def test_an_older_state_that_comes_to_slack_last_does_not_stay(hasty_http: Edge) -> None:
    edge = hasty_http
    card = await write(edge)
    before, older = await edge.world.ledger.posted(card.id), await card.action()
    assert before is not None
    await card.click("confirm")
    assert card.text == "Wrote a.md"
    slow = Cards(edge.cards._client, Behind(edge.world.ledger, replace(before, revision=0), older))
    drawn: list[Any] = []
    await slow.draw(CardKey(CardKind.ACTION, card.id), 0.0, noted(drawn))
    assert [action.state for action in drawn] == ["prepared", "succeeded"]
    assert card.text == "Wrote a.md"
