"""A message of ours that Slack has taken, and not told us of yet, stands below the card: a word may be about that."""

from __future__ import annotations

import pytest

from gate.rules.planner_port import Call, ProposedStep, ProposePlan, Say
from gate.rules.task import Assessment
from tests.slack_app import ANN, BEN, OPS, Edge
from workspace.faults import Refused, Silent

ASKS = "I see c.md is old, too. Shall I tell you what is in it?"
ABOUT = "Is this about what I wrote last"


async def asked_unheard(http: Edge, thread: str, user: str) -> None:
    """The bot answers somebody with a question, and does not hear that Slack shows it."""
    http.planner.script.append(Say(ASKS))
    http.ws.faults.on("chat.postMessage", Silent(accepted=True))
    await http.ws.as_(user).say(OPS, "<@UBOT> what about c.md?", thread_ts=thread)
    await http.ws.wait_for(lambda: any(ASKS in f"{m.text}{m.blocks}" for m in http.ws.by_app(OPS, thread)))


@pytest.mark.parametrize("word", ["ok", "yes", "go ahead"])
async def test_a_word_after_an_answer_that_is_on_its_way_confirms_no_card_above_it(
    http: Edge, word: str
) -> None:
    card = await http.propose("write", path="b.md", content="two")
    await asked_unheard(http, card.said.ts, ANN)
    with http.nothing_ran():
        await http.ann.say(OPS, word, thread_ts=card.said.ts)
        await http.told(ANN, ABOUT)


async def test_a_yes_after_an_answer_that_is_on_its_way_approves_no_plan_above_it(http: Edge) -> None:
    steps = [
        ProposedStep(Call("desk", "write", {"path": path, "content": "x"}), path)
        for path in ("a.md", "b.md", "c.md")
    ]
    http.planner.assessments.append(Assessment(60, 4))
    http.planner.script.append(ProposePlan(tuple(steps)))
    said = await http.ann.say(OPS, "<@UBOT> tidy up")
    await http.ws.wait_for(lambda: any("Approve all" in str(m.blocks) for m in http.ws.by_app(OPS, said.ts)))
    await http.settled()
    await asked_unheard(http, said.ts, BEN)
    with http.nothing_ran():
        await http.ann.say(OPS, "<@UBOT> yes", thread_ts=said.ts)
        await http.told(ANN, ABOUT)


async def test_what_slack_did_not_take_is_not_on_its_way(http: Edge) -> None:
    card = await http.propose("write", path="b.md", content="two")
    http.planner.script.append(Say(ASKS))
    http.ws.faults.on("chat.postMessage", Refused("restricted_action"))
    await http.ws.as_(BEN).say(OPS, "<@UBOT> what about c.md?", thread_ts=card.said.ts)
    await http.settled()
    await http.ann.say(OPS, "<@UBOT> yes", thread_ts=card.said.ts)
    await http.ws.wait_for(lambda: "b.md" in http.desk.notes)
    await http.settled()
