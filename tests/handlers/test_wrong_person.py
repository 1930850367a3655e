"""Everybody but the right person: told who may, and nothing changed."""

from __future__ import annotations

import pytest

from gate.rules.action import Action
from tests.slack_app import ANN, BEN, CLEO, DORA, GIL, OPS, ROBOT, SAM, TEAM, Card, Edge, said_in, says

OWN = "<@U_ANN>"
GUEST = "Guests cannot do this. Ask a full member of the workspace."
STRANGER = "Only members of this workspace can do this"
GONE_ACCOUNT = "This account is deactivated."
BOTS = "Bots and apps cannot decide anything here."
NO_MEMBERS = {GIL: GUEST, SAM: STRANGER, DORA: GONE_ACCOUNT, ROBOT: BOTS}


async def prepared(edge: Edge) -> Card:
    return await edge.propose("write", path="a.md", content="hello")


async def destructive(edge: Edge) -> Card:
    edge.desk.notes["a.md"] = "hello"
    return await edge.propose("shred", path="a.md")


async def done(edge: Edge) -> Card:
    card = await prepared(edge)
    await card.click("confirm")
    return card


async def expired(edge: Edge) -> Card:
    card = await prepared(edge)
    edge.travel(301)
    await edge.sweep()
    return card


async def unknown(edge: Edge) -> Card:
    edge.desk.behave = "breaks the line"
    return await done(edge)


PLAIN = {
    "confirm": prepared,
    "cancel": prepared,
    "undo": done,
    "renew": expired,
    "settle_happened": unknown,
    "settle_not": unknown,
    "settle_check": unknown,
}
OPENING = {"review": destructive, "edit": prepared, "reject": prepared}


async def unchanged(card: Card, before: Action) -> None:
    """The row is the same, and a card was not redrawn."""
    assert await card.action() == before


async def press(card: Card, button: str, user: str) -> None:
    """Also by people whose client would not let them: as a forged, well signed click."""
    value = (await card.action()).button
    if button == "reject":
        option = {"selected_option": {"value": f"reject:{value}"}, "type": "overflow"}
        payload = card.edge.ws.forge.click(user, card.message, action_id="more", **option)
    else:
        payload = card.edge.ws.forge.click(user, card.message, action_id=button, value=value)
    assert (await card.edge.send("interactive", payload)).ok


@pytest.mark.parametrize("button", PLAIN)
async def test_a_colleague_presses_and_is_told_who_may(edge: Edge, button: str) -> None:
    card = await PLAIN[button](edge)
    before = await card.action()
    with edge.nothing_ran():
        assert (await card.click(button, BEN)).ok
    assert OWN in await edge.told(BEN, "Only")
    await unchanged(card, before)
    assert edge.hints(ANN) == []
    assert (await edge.ledger.audit_tail(team=TEAM, limit=1))[0].entry.event == "turned_away"


@pytest.mark.parametrize("button", OPENING)
async def test_a_colleague_opens_a_form_and_is_told_who_may(edge: Edge, button: str) -> None:
    card = await OPENING[button](edge)
    before = await card.action()
    await press(card, button, BEN)
    modal = await card.modal(BEN, "message")
    assert OWN in said_in(modal)
    assert "submit" not in modal.body
    await unchanged(card, before)


@pytest.mark.parametrize("button", PLAIN)
async def test_who_is_no_full_member_presses_nothing(http: Edge, button: str) -> None:
    http.ws.invite(OPS, DORA)
    card = await PLAIN[button](http)
    before = await card.action()
    for user, told in NO_MEMBERS.items():
        with http.nothing_ran():
            await press(card, button, user)
        await unchanged(card, before)
        await http.told(user, told)
        assert len([text for text in http.hints(user) if told in text]) == 1, user


@pytest.mark.parametrize("button", [*OPENING, "full"])
async def test_who_is_no_full_member_opens_nothing(http: Edge, button: str) -> None:
    card = await {**OPENING, "full": prepared}[button](http)
    before = await card.action()
    for user, told in NO_MEMBERS.items():
        await press(card, button, user)
        assert told in said_in(await card.modal(user, "message")), user
        await unchanged(card, before)


@pytest.mark.parametrize("user", [BEN, GIL, SAM, DORA, ROBOT])
async def test_a_forged_submission_in_anothers_name_does_nothing(http: Edge, user: str) -> None:
    for button, callback, given in (
        ("review", "typed", {"phrase": {"phrase": {"type": "plain_text_input", "value": "?"}}}),
        ("edit", "edit", {}),
        ("reject", "reject", {"reason": {"reason": {"type": "plain_text_input", "value": "no"}}}),
    ):
        card = await OPENING[button](http)
        before = await card.action()
        await press(card, button, ANN)
        modal = await card.modal(ANN, callback)
        if callback == "typed":
            given["phrase"]["phrase"]["value"] = before.phrase
        with http.nothing_ran():
            answer = await http.send(
                "interactive", http.ws.forge.submission(user, http.ws.forge.view(modal, values=given))
            )
        assert answer.ok
        assert answer.body["response_action"] == "update"
        await unchanged(card, before)


async def test_a_guest_who_asks_is_told_why_not(edge: Edge) -> None:
    await edge.ws.as_(GIL).say(OPS, "<@UBOT> write something")
    await edge.told(GIL, GUEST)
    assert edge.planner.seen == []


async def test_in_a_channel_that_another_workspace_made_its_people_are_strangers_and_ours_are_not(
    edge: Edge,
) -> None:
    edge.ws.state.channels[OPS].made_by = "T2"
    await edge.ws.as_(SAM).say(OPS, "<@UBOT> write something")
    await edge.told(SAM, STRANGER)
    assert edge.planner.seen == []
    card = await prepared(edge)
    assert (await card.action()).session.team == TEAM
    with edge.nothing_ran():
        await edge.ws.as_(SAM).say(OPS, "yes", thread_ts=card.said.ts)
        await edge.settled()
    await card.click("confirm", ANN)
    assert edge.desk.notes["a.md"] == "hello"


async def test_an_event_that_names_no_workspace_it_was_installed_in_is_not_taken_in(edge: Edge) -> None:
    event = {
        "type": "app_mention",
        "user": SAM,
        "text": "<@UBOT> write it",
        "ts": "1.5",
        "channel": OPS,
        "team": "T2",
    }
    nobody = {"team_id": None, "enterprise_id": "E1", "user_id": "UBOT", "is_bot": True}
    sent = {
        "type": "event_callback",
        "event_id": "E9",
        "event": event,
        "team_id": "T2",
        "authorizations": [nobody],
    }
    await edge.send("events_api", sent)
    assert edge.planner.seen == []
    assert not edge.ws.by_app(OPS, "1.5")


async def test_the_named_approvers_decide_and_the_requester_does_not(edge: Edge) -> None:
    card = await edge.propose("poke", at="a.md")
    before = await card.action()
    await card.click("confirm", ANN)
    assert "must confirm it" in await edge.told(ANN, "You asked for this")
    assert "<!subteam^S_OPS>" in await edge.told(ANN, "You asked for this")
    await unchanged(card, before)
    await card.click("confirm", BEN)
    assert says(card.text, "Done")
    assert "<@U_BEN>" in said_in(card.message)
    assert len(edge.desk.calls) == 1


async def test_two_others_have_to_agree(edge: Edge) -> None:
    card = await edge.propose("put_back", path="a.md", content="hello")
    await card.click("confirm", ANN)
    await edge.told(ANN, "2 other members")
    await card.click("confirm", BEN)
    assert "1 of 2 have confirmed: <@U_BEN>" in said_in(card.message)
    await card.click("confirm", BEN)
    await edge.told(BEN, "You have already confirmed this")
    assert edge.desk.calls == []
    await card.click("confirm", CLEO)
    assert says(card.text, "Done")
    assert len(edge.desk.calls) == 1


async def test_an_admin_may_cancel_and_not_confirm(edge: Edge) -> None:
    card = await prepared(edge)
    await card.click("confirm", CLEO)
    await edge.told(CLEO, "Only <@U_ANN> can confirm this.")
    await card.click("cancel", CLEO)
    assert card.text == "Cancelled: Write a.md"
    assert "<@U_CLEO>" in said_in(card.message)


async def test_who_was_not_first_is_told_who_was(edge: Edge) -> None:
    card = await edge.propose("poke", at="a.md")
    stale = edge.ws.forge.click(CLEO, card.message, action_id="confirm", value=card.value)
    await card.click("confirm", BEN)
    await edge.send("interactive", stale)
    await edge.told(CLEO, "This was already confirmed by <@U_BEN> and is done.")
    assert len(edge.desk.calls) == 1


async def test_a_yes_from_somebody_else_in_the_thread_is_no_yes(edge: Edge) -> None:
    card = await prepared(edge)
    await edge.ws.as_(BEN).say(OPS, "yes", thread_ts=card.said.ts)
    await edge.told(BEN, "Only <@U_ANN> can confirm this.")
    assert edge.desk.calls == []


async def test_lists_show_a_person_their_own(edge: Edge) -> None:
    await done(edge)
    await edge.propose("write", path="b.md", content="hello")
    for command, empty in (("/pending", "Nothing waits"), ("/undo", "There is nothing that I could take")):
        await edge.ws.as_(BEN).command(command, channel=OPS)
        assert empty in edge.hints(BEN)[-1]
    await edge.ws.as_(BEN).command("/audit", channel=OPS)
    assert "Nothing is on the record yet." in edge.hints(BEN)[-1]
    await edge.ws.as_(CLEO).command("/audit", channel=OPS)
    assert "entries of the record" in edge.hints(CLEO)[-1]
