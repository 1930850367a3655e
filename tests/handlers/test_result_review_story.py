"""A result that is held for its review, on its card in Slack: released, changed, rejected; and who comes too late."""

from __future__ import annotations

from typing import Any

from gate.rules.action_states import State
from gate.rules.reviews import released
from gate.tasks import review_queue
from tests.handlers.test_lists import listed, newest
from tests.slack_app import AGES, ANN, BEN, OPS, TEAM, Card, Edge, said_in, says
from tests.views.samples import shown
from views.edit_form import VALUE
from views.result_review_card import COMMENTED, RESULT


async def held(http: Edge) -> Card:
    """A write outside of plans has run, and its result waits on its card."""
    card = await http.propose("jot", path="a.md", content="new")
    await card.click("confirm")
    assert card.text.startswith("Done, its result waits for review:")
    assert card.buttons == ["held_release", "held_change", "held_reject", "full"]
    assert "whoever asked for it gets nothing of this before it is released" in shown(card.message.blocks)
    return card


async def window(http: Edge, callback: str) -> Any:
    """The window of this kind on top of Ann's screen."""

    def find() -> Any:
        top = http.ws.as_(ANN).modal
        return top if top and top.body["callback_id"] == callback else None

    return await http.ws.wait_for(find, AGES)


async def sent(http: Edge, callback: str, given: dict[str, dict[str, str]]) -> Card:
    """The card of a held result whose window of this kind was sent with these values."""
    card = await held(http)
    await card.click(callback)
    await http.ws.as_(ANN).submit(await window(http, callback), given)
    await http.settled()
    return card


async def records(http: Edge, card: Card) -> list[tuple[str, str, str]]:
    found = await review_queue.history(http.world, TEAM, card.id)
    return [(one.trigger_phase.name, one.decision.value, one.comment) for one in found]


async def test_a_result_is_released_on_its_card_by_its_requester_alone(http: Edge) -> None:
    card = await held(http)
    await card.click("held_release", BEN)
    assert await records(http, card) == []
    await card.click("held_release")
    assert says(card.text, "Done")
    assert "<@U_ANN> released its result." in shown(card.message.blocks)
    assert await records(http, card) == [("AFTER", "APPROVE", "")]


async def test_a_result_that_waits_is_listed_for_its_requester_and_rejected_from_the_list(http: Edge) -> None:
    card = await held(http)
    message = await listed(http, "/pending")
    assert message.text == "1 waiting"
    assert "Done, its result waits for review: Write a.md" in said_in(message)
    assert (await listed(http, "/pending", user=BEN)).text == "Nothing waits for a decision."
    await http.ann.click(message, "held_reject")
    await http.ws.as_(ANN).submit(await window(http, "held_reject"), {COMMENTED: {COMMENTED: "no"}})
    await http.settled()
    assert "<@U_ANN> rejected its result" in shown(card.message.blocks)
    assert (await listed(http, "/pending")).text == "Nothing waits for a decision."


async def test_a_result_that_waits_is_listed_in_its_thread_and_at_home(edge: Edge) -> None:
    card = await held(edge)
    await edge.ann.say(OPS, "<@UBOT> pending", thread_ts=card.said.ts)
    await edge.told(ANN, "1 waiting")
    assert "release or change its result on its card" in said_in(newest(edge))
    await edge.ann.open_home()
    home = await edge.ws.wait_for(lambda: edge.ann.home)
    assert "Done, its result waits for review: " in said_in(home)
    assert (await edge.ann.click("home", "held_reject")).ok
    assert "What the call gave is dropped" in said_in(await card.modal(ANN, "held_reject"))


async def test_a_result_is_changed_in_its_window(http: Edge) -> None:
    given = {
        f"{RESULT}.text": {VALUE: ""},
        f"{RESULT}.content": {VALUE: "by hand"},
        COMMENTED: {COMMENTED: "a typo"},
    }
    card = await sent(http, "held_change", given)
    outcome = released(await card.action())
    assert outcome is not None
    assert outcome.structured["content"] == "by hand"
    assert "<@U_ANN> changed its result." in shown(card.message.blocks)
    assert await records(http, card) == [("AFTER", "APPROVE", "a typo")]


async def test_a_result_that_nobody_changed_in_its_window_is_released_with_the_comment(http: Edge) -> None:
    card = await sent(http, "held_change", {COMMENTED: {COMMENTED: "as it should be"}})
    outcome = released(await card.action())
    assert outcome is not None
    assert "<@U_ANN> released its result." in shown(card.message.blocks)
    assert await records(http, card) == [("AFTER", "APPROVE", "as it should be")]


async def test_a_rejected_result_is_dropped_and_the_call_is_undone_from_its_card(http: Edge) -> None:
    card = await sent(http, "held_reject", {COMMENTED: {COMMENTED: "wrong file"}})
    told = shown(card.message.blocks)
    assert "<@U_ANN> rejected its result, so it is dropped. What it changed is still changed." in told
    assert "“wrong file”" in told
    await card.click("undo")
    assert (await card.action()).state is State.UNDONE
    assert http.desk.notes == {}
    assert await records(http, card) == [("AFTER", "REJECT", "wrong file")]


# promise: REVIEW-23
async def test_who_comes_too_late_is_told_who_was_first(http: Edge) -> None:
    card = await held(http)
    await card.click("held_reject")
    view = await window(http, "held_reject")
    await card.click("held_release")
    await http.ws.as_(ANN).submit(view, {COMMENTED: {COMMENTED: "no"}})
    await http.settled()
    assert "<@U_ANN> has released its result already." in said_in(http.ws.as_(ANN).modal)
    assert await records(http, card) == [("AFTER", "APPROVE", "")]
