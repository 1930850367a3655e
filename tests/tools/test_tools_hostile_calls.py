"""Typed calls of a tool with a hostile schema: however many stand in a message, they share the work of a few."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gate.rules.action import Json
from gate.rules.planner_port import Call, Implement, Mode, PlannerContext, Propose, ProposePlan, Say
from gate.rules.task import Instruction
from gate.rules.tool import Problem, ToolSpec
from tests.cpu_time import seconds
from tests.tools.phrases_setup import AT, FILE, Listed, replied, turn
from tools.mcp.limits import ListingSize
from tools.mcp.schema import schema_error
from tools.phrases.conversation import TALKED_MUCH
from tools.phrases.interpret import Understanding
from tools.phrases.phrase_file import load_phrases
from tools.phrases.planner import Phrases
from tools.phrases.tokenize import hear
from tools.phrases.typed_values import coerced

DRAFT_3 = "http://json-schema.org/draft-03/schema#"
ODD = {
    "$schema": DRAFT_3,
    "type": "object",
    "additionalProperties": {"anyOf": [*[{"type": "integer"}] * 1_600, {"type": "string"}]},
}
PLAIN = {
    "type": "object",
    "properties": {"title": {"type": "string", "maxLength": 200}, "labels": {"type": "array"}},
    "required": ["title"],
    "oneOf": [{"required": ["title"]}, {"required": ["labels", "milestone"]}],  # not for the fast path
    "additionalProperties": False,
}
MUCH = (
    "I cannot check all of that at once, because what `h.odd` takes is complicated. Please ask for less in one "
    "message, such as one call of it at a time."
)


def spec(name: str, schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec(
        server="h", name=name, title=name.title(), description="", schema=schema, definition=f"h.{name}"
    )


@dataclass(frozen=True)
class Checking(Listed):
    """Notes what was checked."""

    checked: list[Json] = field(default_factory=list)

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        self.checked.append(value)
        return super().problems(schema, value)


@pytest.fixture
def tools() -> Checking:
    specs = (spec("odd", ODD), spec("plain", PLAIN))
    return Checking({one.full_name: one for one in specs})


@pytest.fixture
def planner(tools: Checking) -> Phrases:
    return Phrases(load_phrases(FILE), tools)


def crowded(lines: int, first: int = 0) -> str:
    """Lines that each spell out another call, and may be cut at eleven places."""
    pairs = "; ".join(f"k{n}=1" for n in range(12))
    return "\n".join(f"h.odd z{n}=1 {pairs}" for n in range(first, first + lines))


def test_the_schema_is_one_that_a_server_may_list() -> None:
    assert not ListingSize().too_large_with(ODD)
    assert schema_error(json.dumps(ODD)) == ""


def test_a_typed_call_is_checked_once_wherever_its_line_may_be_cut(tools: Checking, planner: Phrases) -> None:
    text = "\n".join(["h.plain title=a; labels=b; c=d"] * 10)
    assert isinstance(planner.understand(text), Say)
    assert tools.checked == []  # `c` is not known, which needs no check
    Understanding(planner.book, tools).instructions(hear(crowded(10)))
    assert tools.checked == []
    one = "h.plain title=a"
    assert isinstance(planner.understand("\n".join([one] * 12)), Propose)
    assert tools.checked == [{"title": "a"}]


async def test_one_message_of_many_calls_takes_the_work_of_a_few(planner: Phrases) -> None:
    text = crowded(10)

    def assessed() -> None:
        with pytest.raises(StopIteration):
            planner.assess(turn(text), PlannerContext(text)).send(None)

    assert seconds(assessed, 2, 1.2) < 1.2
    found = await planner.assess(turn(text), PlannerContext(text))
    assert found.reply is not None
    assert found.reply.reply == Say(MUCH)
    assert await replied(planner, text) == Say(MUCH)


async def test_both_readings_of_an_assessment_check_a_call_once(tools: Checking, planner: Phrases) -> None:
    text = crowded(1)
    found = await planner.assess(turn(text), PlannerContext(text))
    assert found.reply is not None
    assert isinstance(found.reply.reply, Propose)
    assert len(tools.checked) == 1


@pytest.mark.parametrize("lines", [1, 3])
def test_a_few_calls_of_such_a_tool_are_understood(planner: Phrases, lines: int) -> None:
    reply = planner.understand(crowded(lines))
    assert isinstance(reply, Propose)
    assert [call.args["z0"] for call in reply.calls[:1]] == ["1"]


def test_many_calls_of_a_usual_tool_are_understood(planner: Phrases) -> None:
    reply = planner.understand("\n".join(f'h.plain title="Call {n}" labels={n},x' for n in range(12)))
    assert isinstance(reply, Propose)
    assert len(reply.calls) == 12


def test_calls_joined_by_then_are_cut_apart_and_a_wrong_one_is_told_by_what_it_lacks(
    planner: Phrases,
) -> None:
    reply = planner.understand("h.plain title=a, then h.plain title=b; h.plain title=c;")
    assert isinstance(reply, Propose)
    assert [call.args["title"] for call in reply.calls] == ["a", "b", "c;"]
    said = planner.understand("h.plain labels=a then h.plain title=b")
    assert isinstance(said, Say)
    assert "`title` is missing" in said.text
    assert planner.understand("h.plain title=a; labels=b") == Propose(
        (Call("h", "plain", {"title": "a;", "labels": ["b"]}),)
    )


async def test_a_conversation_says_that_a_message_is_too_much_to_be_noted(planner: Phrases) -> None:
    assert await replied(planner, crowded(10), Mode.TALK) == Say(MUCH)
    noted = await replied(planner, crowded(2), Mode.TALK)
    assert isinstance(noted, Say)
    assert "Noted:" in noted.text


async def test_what_was_said_before_shares_the_work_of_a_few_messages(
    tools: Checking, planner: Phrases
) -> None:
    before = tuple(turn(crowded(2, 2 * n), Mode.TALK, f"t{n}") for n in range(40))
    brief = PlannerContext("do it", earlier=before)
    assert await replied(planner, "do it", Mode.TALK, brief) == Say(TALKED_MUCH)
    assert len(tools.checked) < 40
    brief = replace(brief, earlier=(before[0], turn(crowded(10), Mode.TALK, "t"), before[1]))
    reply = await replied(planner, "do it", Mode.TALK, brief)
    assert isinstance(reply, Implement)
    assert len(reply.requirements) == 4  # nothing was noted of the one between them


async def test_the_requirements_of_a_plan_share_the_work_of_a_few_messages(
    tools: Checking, planner: Phrases
) -> None:
    texts = tuple(crowded(2, 2 * n) for n in range(40))
    assert await replied(planner, "x", Mode.PLAN, PlannerContext("x", requirements=texts)) == Say(MUCH)
    assert len(tools.checked) < 40
    few = PlannerContext("x", requirements=texts[:4])
    assert isinstance(await replied(planner, "x", Mode.PLAN, few), ProposePlan)


async def test_what_is_said_of_a_plan_is_kept_where_it_cannot_all_be_checked(planner: Phrases) -> None:
    brief = PlannerContext(
        "x", requirements=("h.plain title=a",), instructions=(Instruction("i", "U1", crowded(10), AT),)
    )
    reply = await replied(planner, "x", Mode.PLAN, brief)
    assert isinstance(reply, ProposePlan)
    assert "has too many parts to be taken in at once" in reply.note


def test_the_values_of_a_typed_list_are_read_by_what_is_asked_of_them_once() -> None:
    """20,000 values took 30 s where the schema names 1,600 kinds of them."""
    schema = {"type": "array", "items": {"anyOf": [{"type": "integer"}] * 1_600}}
    assert seconds(lambda: coerced("1," * 20_000, schema), 2, 0.25) < 0.25
    assert coerced("1, 2 and x", schema) == [1, 2, "x"]
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(60):
        deep = {"type": "array", "items": deep}
    assert seconds(lambda: coerced("a," * 20_000, deep), 2, 0.4) < 0.4
    rows = {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}
    assert coerced("1, 2", rows) == [[1], [2]]
    assert coerced("[[1, 2], [3]]", rows) == [[1, 2], [3]]
