"""A change that was made long ago may come to ask whether it was what they needed: a word after that may answer it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gate.rules.planner_port import Call, Done, PlannerReply, Propose, Say
from tests.slack_app import ANN, OPS, Card, Edge
from workspace.faults import Fault, Silent


def writing(path: str) -> PlannerReply:
    return PlannerReply(Propose((Call("desk", "write", {"path": path, "content": "x"}),)))


class Slowly:
    """The last words about a.md come once `go` is set, as a model's do after some seconds."""

    def __init__(self) -> None:
        self.go = asyncio.Event()

    async def reply(self, turn: Any, brief: Any, pending: Any) -> PlannerReply:
        first = "first" in turn.text
        if not turn.exchanges:
            return writing("a.md" if first else "b.md")
        if first:
            await self.go.wait()
        return PlannerReply(Say("Wrote it. Shall I tell Ben?") if first else Done())


async def asked_late(http: Edge, fault: Fault | None = None) -> Card:
    """A change whose card comes to ask once that of another one waits below it; by a Slack with this fault."""
    http.planner.thinks = thinks = Slowly()
    card = Card(http, await http.ann.say(OPS, "<@UBOT> the first"), OPS)
    await http.ws.wait_for(lambda: http.ws.by_app(OPS, card.said.ts))
    await http.settled()
    await http.ann.click(card.message, "confirm")
    await http.ws.wait_for(lambda: card.text == "Wrote a.md")
    await http.ann.say(OPS, "<@UBOT> the second", thread_ts=card.said.ts)
    await http.ws.wait_for(lambda: any("b.md" in one.text for one in http.ws.by_app(OPS, card.said.ts)))
    if fault:
        http.ws.faults.on("chat.update", fault)
    thinks.go.set()
    await http.ws.wait_for(lambda: "meet your needs" in str(card.message.blocks))
    return card


@pytest.mark.parametrize("word", ["ok", "yes", "go ahead"])
async def test_a_word_after_a_question_confirms_no_card_that_came_before_it(http: Edge, word: str) -> None:
    card = await asked_late(http)
    await http.settled()
    with http.nothing_ran():
        await http.ann.say(OPS, word, thread_ts=card.said.ts)
        await http.told(ANN, "Is this about what I wrote last")


async def test_a_question_that_slack_did_not_answer_for_may_have_been_asked(http: Edge) -> None:
    card = await asked_late(http, Silent(accepted=True))
    with http.nothing_ran():
        await http.ann.say(OPS, "yes", thread_ts=card.said.ts)
        await http.told(ANN, "Is this about what I wrote last")
