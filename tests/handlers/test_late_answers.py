"""A model or a server that has not answered yet: people are told within 15 seconds, and the message goes again."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from gate.rules.action import Action, Session
from gate.rules.planner_port import (
    Call,
    Mode,
    PlannerAssessment,
    PlannerContext,
    PlannerReply,
    Propose,
    Reply,
    Say,
    Turn,
)
from gate.rules.task import Assessment
from gate.rules.tool import Answer
from gate.tasks.slow_answers import TOLD_AFTER
from tests.slack_app import AGES, OPS, Edge
from workspace.faults import Refused
from workspace.state import Message


@dataclass
class Thinking:
    """A planner that takes its time. Implements gate.rules.planner_port.Planner."""

    given: Reply
    answers: asyncio.Event = field(default_factory=asyncio.Event)
    follows = True

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        return PlannerAssessment(Assessment(10, 1))

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        await self.answers.wait()
        return PlannerReply(self.given)


def texts(edge: Edge, ts: str) -> list[str]:
    return [message.text for message in edge.ws.by_app(OPS, ts)]


def late(edge: Edge, ts: str) -> list[str]:
    return [text for text in texts(edge, ts) if "has not answered yet" in text]


async def asked(edge: Edge, thinking: Thinking) -> Message:
    edge.planner.thinks = thinking
    edge.world.clock.tells_at_once = True  # type: ignore[attr-defined]
    said = await edge.ann.say(OPS, "<@UBOT> how are you?")
    return await edge.ws.wait_for(lambda: said if late(edge, said.ts) else None, AGES)


def test_people_are_told_within_fifteen_seconds() -> None:
    assert TOLD_AFTER <= 12


async def test_a_model_that_has_not_answered_yet_is_told_of_and_the_message_goes_with_the_answer(
    edge: Edge,
) -> None:
    thinking = Thinking(Say("Very well."))
    said = await asked(edge, thinking)
    (told,) = texts(edge, said.ts)
    assert told == "The model has not answered yet. I keep waiting; this message goes once it has."
    thinking.answers.set()
    await edge.ws.wait_for(lambda: texts(edge, said.ts) == ["Very well."], AGES)


async def test_where_the_message_cannot_be_deleted_it_says_that_the_answer_came(http: Edge) -> None:
    thinking = Thinking(Say("Very well."))
    said = await asked(http, thinking)
    http.ws.faults.on("chat.delete", Refused("cant_delete_message"), times=9)
    thinking.answers.set()
    over = ["It took long, and has an answer now.", "Very well."]
    await http.ws.wait_for(lambda: sorted(texts(http, said.ts)) == over, AGES)


async def test_an_answer_in_time_leaves_no_word_of_it(edge: Edge) -> None:
    thinking = Thinking(Say("Very well."))
    thinking.answers.set()
    edge.planner.thinks = thinking
    said = await edge.ann.say(OPS, "<@UBOT> how are you?")
    await edge.ws.wait_for(lambda: texts(edge, said.ts), AGES)
    await edge.settled()
    assert texts(edge, said.ts) == ["Very well."]


async def test_a_server_that_has_not_answered_yet_is_told_of(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    edge.desk.notes["a.md"] = "alpha"
    answers, call = asyncio.Event(), edge.desk.call

    async def slow(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        await answers.wait()
        return await call(server, tool, args, seconds, definition)

    monkeypatch.setattr(edge.desk, "call", slow)
    edge.world.clock.tells_at_once = True  # type: ignore[attr-defined]
    edge.planner.script.append(Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),)))
    said = await edge.ann.say(OPS, "<@UBOT> write a.md")
    await edge.ws.wait_for(lambda: late(edge, said.ts), AGES)
    told = "The server “desk” has not answered yet. I keep waiting; this message goes once it has."
    assert told in texts(edge, said.ts)
    answers.set()
    await edge.ws.wait_for(lambda: texts(edge, said.ts) == ["Prepared: Write a.md"], AGES)
    await edge.settled()
    assert late(edge, said.ts) == []


async def test_a_stop_takes_the_message_back(edge: Edge) -> None:
    thinking = Thinking(Say("Very well."))
    said = await asked(edge, thinking)
    (task,) = await edge.ledger.tasks_of(Session("T1", OPS, said.ts))
    assert (await edge.ledger.turn(task.turn)).mode is Mode.ACT  # type: ignore[union-attr]
    await edge.ann.say(OPS, "<@UBOT> stop", said.ts)
    thinking.answers.set()
    await edge.ws.wait_for(lambda: not late(edge, said.ts), AGES)
