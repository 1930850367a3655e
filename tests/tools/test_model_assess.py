"""The assessment of a request: structured, clamped and validated by code, whatever the model answers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from gate.rules.planner_port import CallReport, PlannerInterrupted, Propose, Say
from gate.rules.routing import route
from gate.rules.settings import Switches
from gate.rules.task import Flow, Missing, SettledPoint, Usage
from tests.model_stub import Answer, assesses, both, calls, says
from tests.tools.model_setup import ANN, brief, planning, reply, then, turn
from tools.model.control_tools import to_questions
from tools.model.planner import LIMITS

DELETE = ("files__delete_file", {"path": "a.md"})
REPAIRS = (
    "This could not be used",
    "Its arguments",
    "There is no tool",
    "cut off at the limit",
    "call assess",
)
QUESTION = {"question": "Which folder?", "missing": "inputs", "options": ["a", "b"], "assumption": "a"}


# promise: TASK-02
async def test_one_model_request_assesses_a_request() -> None:
    found = assesses(70, 6, clear=False, questions=[QUESTION], reason="many  steps")
    async with planning([], assessment=found) as (planner, stub):
        made = (await planner.assess(turn("tidy all of it"), brief("tidy all of it"))).assessment
    assert (made.complexity, made.steps, made.missing) == (70, 6, (Missing.INPUTS,))
    assert [(q.text, q.options, q.assumption) for q in made.questions] == [("Which folder?", ("a", "b"), "a")]
    assert (made.reason, made.usage) == ("many steps", Usage(1, 100, 20))
    (received,) = stub.requests
    assert next(iter(received.tools)) == "assess"
    assert received.body["tool_choice"] == "required"
    assert "tidy all of it" in received.text


@pytest.mark.parametrize("said", [True, False])
async def test_the_model_says_whether_something_is_to_be_thought_through_first(said: bool) -> None:
    async with planning([], assessment=assesses(60, 5, conversation=said)) as (planner, stub):
        made = (
            await planner.assess(turn("Help me design a login"), brief("Help me design a login"))
        ).assessment
    assert made.open_ended is said
    assert "conversation" in str(stub.requests[0].body["tools"])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    ("given", "kept"),
    [((140, 900), (100, 30)), ((-3, -1), (0, 0)), ((29.6, 2.4), (30, 2)), ((1e300, 1e300), (100, 30))],
)
async def test_numbers_are_clamped(given: tuple[float, float], kept: tuple[int, int]) -> None:
    async with planning([], assessment=assesses(*given)) as (planner, _):
        made = (await planner.assess(turn(), brief())).assessment
    assert (made.complexity, made.steps) == kept


@pytest.mark.parametrize(
    "bad",
    [
        calls(("assess", '{"complexity": ')),
        calls(("assess", {"complexity": "high"})),
        assesses(questions=[{**QUESTION, "missing": "soul"}]),
        assesses(questions=[{"question": "Why?"}]),
        calls(("files__delete_file", {"name": "a.md"})),
        calls(("files__remove_file", {"path": "a.md"})),
        calls(("files__delete_file", {"path": "a.md"})).cut_off(),
        calls(("list_pending", {})),
        calls(("ask_requester", {"questions": [QUESTION]})),
        calls(("files__delete_file", {"path": "a.md"}), ("assess", {})),
        both("", ("assess", {}), ("assess", {})),
        says("I would say it is simple."),
        says(""),
    ],
)
async def test_an_unusable_assessment_is_sent_back(bad: Answer) -> None:
    async with planning([bad, assesses(12)], assessment=None) as (planner, stub):
        made = (await planner.assess(turn(), brief())).assessment
    assert made.complexity == 12
    assert made.usage.requests == 2
    repaired = stub.requests[1].text
    assert any(why in repaired for why in REPAIRS)


# promise: TASK-03
@pytest.mark.parametrize("missing", ["purpose", "inputs", "outputs", "constraints"])
async def test_each_kind_of_missing_information_is_recorded(missing: str) -> None:
    found = assesses(40, clear=False, questions=[{**QUESTION, "missing": missing}])
    async with planning([], assessment=found) as (planner, _):
        made = (await planner.assess(turn(), brief())).assessment
    assert made.missing == (Missing(missing),)


async def test_a_model_that_never_gives_an_assessment_leads_to_a_plan() -> None:
    async with planning([says("no idea")] * 3, assessment=None) as (planner, stub):
        made = (await planner.assess(turn(), brief())).assessment
    assert (made.questions, made.usage.requests) == ((), 3)
    assert made.complexity >= 30  # a plan, which somebody looks at
    assert "could not be used" in made.reason
    assert len(stub.requests) == 3


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "```\n{}\n```"])
async def test_an_assessment_written_as_text_is_accepted(fence: str) -> None:
    ((_, written),) = assesses(44).calls
    async with planning([says(fence.replace("{}", written))], assessment=None) as (planner, _):
        assert ((await planner.assess(turn(), brief())).assessment).complexity == 44


async def test_an_unclear_request_always_has_a_question() -> None:
    async with planning([], assessment=assesses(clear=False)) as (planner, _):
        made = (await planner.assess(turn(), brief())).assessment
    (asked,) = made.questions
    assert asked.text.endswith("?")
    assert not asked.assumption
    assert (asked.missing,) == made.missing == (Missing.PURPOSE,)


async def test_an_answered_question_is_not_asked_again() -> None:
    (known,) = to_questions([QUESTION])
    other = {"question": "How many?", "missing": "constraints"}
    decided = (SettledPoint(known.id, known.text, "a", ANN),)
    for asked in (QUESTION, {**QUESTION, "question": "which folder"}):
        found = assesses(clear=False, questions=[asked, other])
        async with planning([], assessment=found) as (planner, stub):
            made = (await planner.assess(turn(), brief(decided=decided))).assessment
        assert [q.text for q in made.questions] == ["How many?"]
        assert "Which folder?" in stub.requests[0].text


def test_the_same_question_has_the_same_id() -> None:
    spellings: list[dict[str, Any]] = [QUESTION, {**QUESTION, "question": "which  FOLDER?"}]
    first, second = (to_questions([one])[0].id for one in spellings)
    assert first == second
    assert len(to_questions(spellings)) == 1


def test_questions_are_few_and_short() -> None:
    many = [
        {"question": f"{i} " + "long " * 200, "missing": "inputs", "options": ["x" * 200] * 9}
        for i in range(9)
    ]
    made = to_questions(many)
    assert len(made) == 4
    assert all(len(q.text) <= 300 and len(q.options) == 1 and len(q.options[0]) <= 75 for q in made)


async def test_a_model_may_begin_a_simple_request_with_its_calls() -> None:
    async with planning([both("I have prepared it.", DELETE)], assessment=None) as (planner, stub):
        made = await planner.assess(turn("delete a.md"), brief("delete a.md"))
    (received,) = stub.requests
    assert {"assess", "files__delete_file", "files__read_file"} <= set(received.tools)
    assert not {"ask_requester", "propose_plan", "list_pending"} & set(received.tools)
    assert (made.assessment.complexity, made.assessment.steps, made.assessment.usage.requests) == (10, 1, 1)
    assert made.reply is not None
    assert made.reply.usage == made.assessment.usage
    assert isinstance(made.reply.reply, Propose)
    assert [(call.tool, dict(call.args)) for call in made.reply.reply.calls] == [
        ("delete_file", {"path": "a.md"})
    ]


async def test_what_a_model_began_with_is_part_of_the_conversation_that_follows() -> None:
    script = [calls(DELETE), says("It is gone.")]
    async with planning(script, assessment=None) as (planner, stub):
        asked = turn("delete a.md")
        first = (await planner.assess(asked, brief("delete a.md"))).reply
        assert first
        told = CallReport(0, "succeeded", "It ran.", by=ANN)
        last = await reply(planner, then(asked, first, told), brief("delete a.md"))
    assert [name for name, _ in stub.requests[1].called] == ["files__delete_file"]
    assert "succeeded" in stub.requests[1].results[0]
    assert isinstance(last.reply, Say)
    code = re.search(r"The code is (\w+)", stub.requests[0].text)
    assert code
    assert code[0] in stub.requests[1].text


async def test_many_calls_at_once_are_no_simple_request() -> None:
    many = [("files__delete_file", {"path": f"{n}.md"}) for n in range(4)]
    async with planning([calls(*many)], assessment=None) as (planner, _):
        found = (await planner.assess(turn(), brief())).assessment
    assert route(found, Switches()).flow is Flow.PLAN


async def test_tools_are_searched_for_before_a_request_is_begun() -> None:
    script = [calls(("find_tools", {"query": "delete a file"})), calls(DELETE)]
    few = replace(LIMITS, schemas=10)
    async with planning(script, assessment=None, limits=few) as (planner, stub):
        made = await planner.assess(turn(), brief())
    assert "files: 4 tools" in stub.requests[0].system
    assert made.reply is not None
    assert isinstance(made.reply.reply, Propose)
    assert made.assessment.usage.requests == 2


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "known",
    [
        {"switches": Switches(intelligent_routing="aggressive")},
        {"switches": Switches(conversational=True)},
        {"switches": Switches(auto_approve_simple=False)},
        {"requirements": ("all of it",)},
    ],
)
async def test_where_people_want_more_than_calls_a_request_is_assessed_first(known: dict[str, Any]) -> None:
    async with planning([]) as (planner, stub):
        made = await planner.assess(turn(), brief(**known))
    assert made.reply is None
    assert list(stub.requests[0].tools) == ["assess"]
    assert "files: 4 tools" in stub.requests[0].text


async def test_a_model_is_not_asked_again_for_a_request_that_was_changed_meanwhile() -> None:
    async def changed() -> bool:
        return True

    async with planning([says("Hm."), says("Hm.")], assessment=None) as (planner, stub):
        with pytest.raises(PlannerInterrupted):
            await planner.assess(turn(), brief(interrupted=changed))
    assert len(stub.requests) == 1
