"""What a click is answered with, for one person alone, stands below the cards: a word after it may be about that."""

from __future__ import annotations

import pytest

from gate.rules.planner_port import Call, Propose
from tests.slack_app import ANN, BEN, OPS, Card, Edge
from workspace.faults import Dropped, Fault, Silent


async def told_below_a_card(http: Edge, user: str, fault: Fault | None = None) -> Card:
    """A card that waits, below which somebody was told that an undo cannot be had; by a Slack with this fault."""
    first = await http.propose("write", path="a.md", content="one")
    await first.click("confirm")
    http.planner.script.append(Propose((Call("desk", "write", {"path": "b.md", "content": "two"}),)))
    await http.ann.say(OPS, "<@UBOT> now the other one", thread_ts=first.said.ts)
    await http.ws.wait_for(lambda: any("b.md" in one.text for one in http.ws.by_app(OPS, first.said.ts)))
    await http.settled()
    gone = {name: http.desk.specs_now.pop(name) for name in ("put_back", "shred")}
    if fault:
        http.ws.faults.on("chat.postEphemeral", fault)
    await first.click("undo", user=user)
    await http.told(user, "Only" if user == BEN else "not connected at the moment")
    http.desk.specs_now.update(gone)
    return first


@pytest.mark.parametrize("word", ["ok", "yes", "go ahead"])
async def test_a_word_after_a_hint_confirms_no_card_above_it(http: Edge, word: str) -> None:
    card = await told_below_a_card(http, ANN)
    with http.nothing_ran():
        await http.ann.say(OPS, word, thread_ts=card.said.ts)
        await http.told(ANN, "Is this about what I wrote last")


async def test_what_somebody_else_was_told_alone_is_no_matter(http: Edge) -> None:
    card = await told_below_a_card(http, BEN)
    await http.ann.say(OPS, "yes", thread_ts=card.said.ts)
    await http.ws.wait_for(lambda: "b.md" in http.desk.notes)
    await http.settled()


@pytest.mark.parametrize("fault", [Silent(accepted=True), Dropped(accepted=True)])
async def test_a_hint_that_slack_did_not_answer_for_stands_below_the_card(http: Edge, fault: Fault) -> None:
    card = await told_below_a_card(http, ANN, fault)
    with http.nothing_ran():
        await http.ann.say(OPS, "yes", thread_ts=card.said.ts)
        await http.told(ANN, "Is this about what I wrote last")


async def test_a_card_below_a_hint_whose_answer_was_lost_is_confirmed_by_a_word(hasty_http: Edge) -> None:
    card = await told_below_a_card(hasty_http, ANN, Dropped(accepted=True))
    await hasty_http.settled()
    await hasty_http.ann.say(OPS, "cancel", thread_ts=card.said.ts)
    await hasty_http.settled()
    hasty_http.planner.script.append(Propose((Call("desk", "write", {"path": "c.md", "content": "three"}),)))
    await hasty_http.ann.say(OPS, "<@UBOT> another one", thread_ts=card.said.ts)
    await hasty_http.ws.wait_for(
        lambda: any("c.md" in one.text for one in hasty_http.ws.by_app(OPS, card.said.ts))
    )
    await hasty_http.settled()
    await hasty_http.ann.say(OPS, "yes", thread_ts=card.said.ts)
    await hasty_http.ws.wait_for(lambda: "c.md" in hasty_http.desk.notes)
    await hasty_http.settled()
