"""The assessment of a request: structured, clamped and validated by code, whatever the model answers."""

from __future__ import annotations

from typing import Any

import pytest

from gate.rules.task import Decided, Missing, Usage
from tests.model_stub import Answer, assesses, both, calls, says
from tests.tools.model_setup import ANN, brief, planning, turn
from tools.model.control_tools import to_questions

QUESTION = {"question": "Which folder?", "missing": "inputs", "options": ["a", "b"], "assumption": "a"}


# promise: TASK-02
async def test_one_model_request_assesses_a_request() -> None:
    found = assesses(70, 6, clear=False, missing=["inputs"], questions=[QUESTION], reason="many  steps")
    async with planning([], assessment=found) as (planner, stub):
        made = await planner.assess(turn("tidy all of it"), brief("tidy all of it"))
    assert (made.complexity, made.steps, made.missing) == (70, 6, (Missing.INPUTS,))
    assert [(q.text, q.options, q.assumption) for q in made.questions] == [("Which folder?", ("a", "b"), "a")]
    assert (made.reason, made.usage) == ("many steps", Usage(1, 100, 20))
    (received,) = stub.requests
    assert list(received.tools) == ["assess"]
    assert received.body["tool_choice"] == "required"
    assert "tidy all of it" in received.text
    assert "files: 4 tools" in received.text


@pytest.mark.parametrize("said", [True, False])
async def test_the_model_says_whether_something_is_to_be_thought_through_first(said: bool) -> None:
    async with planning([], assessment=assesses(60, 5, conversation=said)) as (planner, stub):
        made = await planner.assess(turn("Help me design a login"), brief("Help me design a login"))
    assert made.open_ended is said
    assert "conversation" in str(stub.requests[0].body["tools"])


@pytest.mark.parametrize(
    ("given", "kept"),
    [((140, 900), (100, 30)), ((-3, -1), (0, 0)), ((29.6, 2.4), (30, 2)), ((1e300, 1e300), (100, 30))],
)
async def test_numbers_are_clamped(given: tuple[float, float], kept: tuple[int, int]) -> None:
    async with planning([], assessment=assesses(*given)) as (planner, _):
        made = await planner.assess(turn(), brief())
    assert (made.complexity, made.steps) == kept


@pytest.mark.parametrize(
    "bad",
    [
        calls(("assess", '{"complexity": ')),
        calls(("assess", {"complexity": "high"})),
        assesses(missing=["soul"]),
        assesses(questions=[{"question": "Why?"}]),
        calls(("files__delete_file", {"path": "a.md"})),
        both("", ("assess", {}), ("assess", {})),
        says("I would say it is simple."),
        says(""),
    ],
)
async def test_an_unusable_assessment_is_sent_back(bad: Answer) -> None:
    async with planning([bad, assesses(12)], assessment=None) as (planner, stub):
        made = await planner.assess(turn(), brief())
    assert made.complexity == 12
    assert made.usage.requests == 2
    assert "This could not be used" in stub.requests[1].text


# promise: TASK-03
@pytest.mark.parametrize("missing", ["purpose", "inputs", "outputs", "constraints"])
async def test_each_kind_of_missing_information_is_recorded(missing: str) -> None:
    found = assesses(40, clear=False, missing=[missing], questions=[QUESTION])
    async with planning([], assessment=found) as (planner, _):
        made = await planner.assess(turn(), brief())
    assert made.missing == (Missing(missing),)


async def test_a_model_that_never_gives_an_assessment_leads_to_a_plan() -> None:
    async with planning([says("no idea")] * 3, assessment=None) as (planner, stub):
        made = await planner.assess(turn(), brief())
    assert (made.questions, made.usage.requests) == ((), 3)
    assert made.complexity >= 30  # a plan, which somebody looks at
    assert "could not be used" in made.reason
    assert len(stub.requests) == 3


@pytest.mark.parametrize("fence", ["{}", "```json\n{}\n```", "```\n{}\n```"])
async def test_an_assessment_written_as_text_is_accepted(fence: str) -> None:
    ((_, written),) = assesses(44).calls
    async with planning([says(fence.replace("{}", written))], assessment=None) as (planner, _):
        assert (await planner.assess(turn(), brief())).complexity == 44


async def test_an_unclear_request_always_has_a_question() -> None:
    found = assesses(clear=False, missing=["outputs", "constraints"])
    async with planning([], assessment=found) as (planner, _):
        made = await planner.assess(turn(), brief())
    assert [q.missing for q in made.questions] == [Missing.OUTPUTS, Missing.CONSTRAINTS]
    assert all(q.text.endswith("?") and not q.assumption for q in made.questions)


async def test_an_answered_question_is_not_asked_again() -> None:
    (known,) = to_questions([QUESTION])
    other = {"question": "How many?", "missing": "constraints"}
    decided = (Decided(known.id, known.text, "a", ANN),)
    for asked in (QUESTION, {**QUESTION, "question": "which folder"}):
        found = assesses(clear=False, questions=[asked, other])
        async with planning([], assessment=found) as (planner, stub):
            made = await planner.assess(turn(), brief(decided=decided))
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
