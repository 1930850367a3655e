"""Plans without a model: made of what was asked for, and changed by what is said of them, never by guessing."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gate.rules.plan_changes import rebuilt_plan
from gate.rules.planner_port import (
    Clarify,
    Done,
    Exchange,
    Mode,
    PlannerContext,
    ProposedStep,
    ProposePlan,
    Reply,
    Say,
)
from gate.rules.task import Instruction, Plan, SettledPoint, Step, StepState
from tests.cpu_time import within
from tests.tools.phrases_setup import AT, bundled, replied_over, turn
from tools.phrases.phrasebook import Runbook
from tools.phrases.planner import Phrases
from tools.strict_config import validate

THREE = "list reports\nmove a.md to archive\ndelete b.md"


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Phrases:
    return bundled(tmp_path_factory.mktemp("plans"))


async def replied(planner: Phrases, text: str, mode: Mode, brief: PlannerContext | None = None) -> Reply:
    """What the planner answers to these words where there are no files."""
    return await replied_over(planner, text, mode, brief or PlannerContext(text))


def plan(reply: Reply) -> ProposePlan:
    assert isinstance(reply, ProposePlan), reply
    return reply


def says(reply: Reply) -> str:
    assert isinstance(reply, Say), reply
    return reply.text


def short(steps: tuple[ProposedStep, ...]) -> list[str]:
    """Each step as its tool's verb and its first argument."""
    return [f"{s.call.tool.split('_')[0]} {next(iter(s.call.args.values()), '')}".strip() for s in steps]


async def first(planner: Phrases, text: str = THREE) -> tuple[Step, ...]:
    """The plan of a request, as its flow keeps it."""
    steps, _ = rebuilt_plan(None, plan(await replied(planner, text, Mode.PLAN)).steps)
    return steps


def about(steps: tuple[Step, ...], said: str, over: int = 0, **more: Any) -> PlannerContext:
    """What a planner is told when the plan is to be made again; the first `over` steps are done."""
    done = tuple(replace(step, state=StepState.DONE) for step in steps[:over])
    return PlannerContext("the request", reason=said, done=done, left=steps[over:], **more)


async def again(planner: Phrases, said: str, over: int = 0, text: str = THREE) -> Reply:
    return await replied(planner, said, Mode.PLAN, about(await first(planner, text), said, over))


async def test_a_request_becomes_a_plan_in_its_order(planner: Phrases) -> None:
    proposed = plan(await replied(planner, THREE, Mode.PLAN))
    assert short(proposed.steps) == ["list reports", "move a.md", "delete b.md"]
    assert [step.title for step in proposed.steps] == ["List reports", "Move a.md to archive", "delete b.md"]
    assert proposed.note == ""
    assert all(step.step == "" for step in proposed.steps)


async def test_the_plan_is_made_of_the_request_and_not_of_what_was_said_last(planner: Phrases) -> None:
    reply = await replied(planner, "archive", Mode.PLAN, PlannerContext("list reports"))
    assert short(plan(reply).steps) == ["list reports"]


async def test_confirmed_requirements_are_planned_one_after_the_other(planner: Phrases) -> None:
    needs = ('write to x.md:\n```\na "quote\n```', "run publish-note for n, text=y", "copy x.md")
    brief = PlannerContext("hello", requirements=needs)
    reply = await replied(planner, "", Mode.PLAN, brief)
    assert isinstance(reply, Clarify)
    (question,) = reply.questions
    decided = (SettledPoint(question.id, question.text, "archive", "U1"),)
    proposed = plan(await replied(planner, "", Mode.PLAN, replace(brief, decided=decided)))
    assert short(proposed.steps) == ["write x.md", "write drafts/n.md", "copy reports", "read", "copy x.md"]
    assert proposed.steps[3].refs == {"path": "{steps.3.destination}"}


async def test_what_was_never_understood_is_said(planner: Phrases) -> None:
    assert "I did not understand “sing a song”" in says(await replied(planner, "sing a song", Mode.PLAN))


async def test_a_runbook_that_looks_first_cannot_join_a_plan(planner: Phrases) -> None:
    runbook = {
        "name": "gather",
        "parameters": [{"name": "folder", "question": "?"}],
        "looks": [
            {"name": "found", "call": "filesystem.search_files", "args": {"path": "{folder}", "pattern": "*"}}
        ],
        "steps": [{"say": "copy {each.path} to x", "each": "looks.found.matches"}],
    }
    book = replace(planner.book, runbooks=(validate(Runbook, runbook),))
    reply = await again(replace(planner, book=book), "also run gather for a")
    assert "it cannot join a plan that is there" in says(reply)


async def test_a_turn_is_over_after_its_plan(planner: Phrases) -> None:
    asked = turn("list", Mode.PLAN)
    made = (await planner.reply(asked, PlannerContext("list"), ())).reply
    assert (
        await planner.reply(replace(asked, exchanges=(Exchange(made),)), PlannerContext("list"), ())
    ).reply == Done()


L, M, D = "list reports", "move a.md", "delete b.md"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("skip step 2", [L, D]),
        ("Please drop step 2.", [L, D]),
        ("leave out steps 1 and 3", [M]),
        ("without the last step", [L, M]),
        ("remove the second step, thanks", [L, D]),
        ("first do step 3", [D, L, M]),
        ("do step 2 first", [M, L, D]),
        ("start with step 3", [D, L, M]),
        ("move step 3 to 1", [D, L, M]),
        ("move step 1 to 2", [M, L, D]),
        ("move step 1 to the end", [M, D, L]),
        ("put step 1 after step 2", [M, L, D]),
        ("put step 3 before step 2", [L, D, M]),
        ("swap steps 1 and 3", [D, M, L]),
        ("swap step 1 with step 2", [M, L, D]),
        ("also read c.md", [L, M, D, "read c.md"]),
        ("then copy x.md to y then list", [L, M, D, "copy x.md", "list ."]),
        ("copy x.md to y", [L, M, D, "copy x.md"]),
        ("first read a.md", ["read a.md", L, M, D]),
        ("before step 3, read b.md", [L, M, "read b.md", D]),
        ("after step 1: read b.md", [L, "read b.md", M, D]),
        ("use c.md instead of b.md", [L, M, "delete c.md"]),
        ("instead of reports use drafts", ["list drafts", M, D]),
        ("change 'a.md' to 'x y.md'", [L, "move x y.md", D]),
        ("change reports to drafts", ["list drafts", M, D]),
        ("set source to z.md", [L, "move z.md", D]),
        ("step 3: set path to z.md", [L, M, "delete z.md"]),
        ("in step 1, change 'reports' to 'drafts'", ["list drafts", M, D]),
        ("skip step 1 then use z instead of a.md", ["move z", D]),
        ("skip step 1\nalso list", [M, D, "list ."]),
        ("move a.md to somewhere instead", [L, M, D]),
    ],
)
async def test_a_plan_is_changed_by_what_is_said(said: str, expected: list[str], planner: Phrases) -> None:
    proposed = plan(await again(planner, said))
    assert short(proposed.steps) == expected
    assert proposed.note == ""


async def test_steps_keep_their_names_whether_they_stay_or_are_changed(planner: Phrases) -> None:
    steps = plan(await again(planner, "do step 3 first\nuse z instead of a.md")).steps
    assert [step.step for step in steps] == ["s3", "s1", "s2"]
    assert steps[2].title == "Move z to archive"


async def test_instead_takes_the_place_of_the_step_that_is_most_alike(planner: Phrases) -> None:
    steps = plan(await again(planner, "no, move a.md to drafts")).steps
    assert steps[1].call.args == {"source": "a.md", "destination": "drafts"}
    assert len(steps) == 3


async def test_only_whole_words_are_replaced_without_quotes(planner: Phrases) -> None:
    steps = plan(await again(planner, "use x instead of a", text="move a/a.md to aa\nlist a\nlist b")).steps
    assert steps[0].call.args == {"source": "x/x.md", "destination": "aa"}


async def test_people_can_be_asked_at_a_step(planner: Phrases) -> None:
    steps = plan(await again(planner, "ask me before step 2")).steps
    assert [(step.step, step.ask) for step in steps] == [("s1", False), ("s2", True), ("s3", False)]


async def test_numbers_are_those_on_the_card_and_what_is_done_stays_done(planner: Phrases) -> None:
    assert short(plan(await again(planner, "skip step 3", over=1)).steps) == [M]
    assert says(await again(planner, "skip step 1", over=1)) == "Step 1 is over already."
    assert short(plan(await again(planner, "skip the next step", over=1)).steps) == [D]


async def test_further_steps_follow_a_plan_that_is_all_done(planner: Phrases) -> None:
    assert short(plan(await again(planner, "also read c.md", over=3)).steps) == ["read c.md"]
    assert short(plan(await again(planner, "read c.md", over=3)).steps) == ["read c.md"]
    assert "I kept “nicer please”" in says(await again(planner, "nicer please", over=3))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("make it nicer", "I kept “make it nicer”, but I cannot act on it."),
        ("skip step 7", "There is no step 7: the last one is 3."),
        ("skip step 0", "There is no step 0"),
        ("skip steps 1, 2 and 3", "Nothing would be left of the plan. Cancel it instead."),
        ("use x instead of nowhere", "I cannot find “nowhere” in what is left of the plan."),
        ("set colour to red", "No step takes “colour”."),
        ("set path to z", "Several steps take “path” (1, 3). Write for example “step 1: set path to z”."),
        ("step 1: set limit to 0", "`limit` must be at least 1"),
        ("list z instead", "I kept “list z instead”"),
    ],
)
async def test_what_cannot_be_followed_is_said_and_changes_nothing(
    said: str, told: str, planner: Phrases
) -> None:
    assert told in says(await again(planner, said))


async def test_one_that_cannot_be_followed_does_not_keep_the_others(planner: Phrases) -> None:
    proposed = plan(await again(planner, "skip step 1\nsing a song"))
    assert short(proposed.steps) == [M, D]
    assert "I kept “sing a song”" in proposed.note


NOTE = 'run publish-note for n, text="y"'


async def test_results_of_earlier_steps_follow_their_steps(planner: Phrases) -> None:
    steps = plan(await again(planner, "first list", text=NOTE)).steps
    assert [dict(step.refs) for step in steps] == [
        {},
        {},
        {"source": "{steps.2.path}"},
        {"path": "{steps.3.destination}"},
    ]
    kept, _ = rebuilt_plan(Plan(1, await first(planner, NOTE), last=3), steps)
    assert [dict(step.refs) for step in kept][2:] == [
        {"source": "{steps.s1.path}"},
        {"path": "{steps.s2.destination}"},
    ]


async def test_results_of_steps_that_are_done_are_named_by_their_ids(planner: Phrases) -> None:
    steps = plan(await again(planner, "also list", over=1, text=NOTE)).steps
    assert [dict(step.refs) for step in steps] == [
        {"source": "{steps.s1.path}"},
        {"path": "{steps.1.destination}"},
        {},
    ]


async def test_a_result_that_somebody_set_is_not_taken_from_a_step(planner: Phrases) -> None:
    steps = plan(await again(planner, "step 2: set source to x.md\nskip step 1", text=NOTE)).steps
    assert steps[0].call.args == {"source": "x.md", "destination": "reports"}
    assert steps[0].refs == {}


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("skip step 1", "Step 2 needs what step 1 gives: skip both, or none of them."),
        ("do step 2 first", "That order does not work: step 1 needs what “Write 1 B to drafts/n.md” gives."),
        ("swap steps 2 and 3", "That order does not work"),
    ],
)
async def test_no_step_loses_the_result_that_it_needs(said: str, told: str, planner: Phrases) -> None:
    assert told in says(await again(planner, said, text=NOTE))


async def test_instructions_are_followed_once_and_used_ones_not_again(planner: Phrases) -> None:
    new = Instruction("i2", "U1", "skip step 3", AT)
    used = Instruction("i1", "U1", "skip step 1", AT, used="before step 2")
    steps = await first(planner)
    brief = about(steps, "skip step 3", instructions=(used, new))
    assert short(plan(await replied(planner, "x", Mode.PLAN, brief)).steps) == [L, M]
    fresh = PlannerContext(THREE, instructions=(used, new))
    assert short(plan(await replied(planner, "x", Mode.PLAN, fresh)).steps) == [L, M]


async def test_a_further_instruction_is_asked_about_where_it_lacks_something(planner: Phrases) -> None:
    reply = await again(planner, "also copy c.md")
    assert isinstance(reply, Clarify)
    (question,) = reply.questions
    decided = (SettledPoint(question.id, question.text, "archive", "U1"),)
    brief = about(await first(planner), "also copy c.md", decided=decided)
    assert short(plan(await replied(planner, "x", Mode.PLAN, brief)).steps) == [L, M, D, "copy c.md"]


async def test_feedback_that_is_a_phrase_is_the_new_request(planner: Phrases) -> None:
    brief = PlannerContext("list reports", reason="read a.md", attempts=2)
    reply = await replied(planner, "read a.md", Mode.ACT, brief)
    assert not isinstance(reply, Say | ProposePlan)
    assert "You can write" in says(
        await replied(planner, "not like this", Mode.ACT, replace(brief, reason="x"))
    )


PIECES = [
    "skip ",
    "step 2",
    "steps 1, ",
    "and ",
    "then ",
    "use ",
    "instead of ",
    "a.md",
    " ",
    "   ",
    ";",
    "\n",
    "'",
    "to ",
    "first ",
    "also ",
    "set path to ",
    "\t",
    "=",
    "run tidy-drafts ",
    "keep=",
    "for ",
]


@pytest.mark.slow
@settings(max_examples=200)
@given(words=st.lists(st.sampled_from(PIECES), max_size=14))
def test_whatever_is_said_of_a_plan_is_answered(words: list[str], planner: Phrases) -> None:
    steps = rebuilt_plan(None, planner_plan(planner))[0]
    reply = asyncio.run(replied(planner, "x", Mode.PLAN, about(steps, "".join(words))))
    assert isinstance(reply, ProposePlan | Say | Clarify)


def planner_plan(planner: Phrases) -> tuple[ProposedStep, ...]:
    return plan(asyncio.run(replied(planner, THREE, Mode.PLAN))).steps


@pytest.mark.parametrize(
    "text",
    [
        "instead of a" + " " * 3900,
        "use a" + " " * 3900 + "instead",
        "skip step 1" + ", 1" * 1200,
        "skip #1; " * 440,
        "run tidy-drafts" + " " * 3900 + "x",
        "run tidy-drafts " + "keep=a, " * 400,
        "list a" + " ," * 1900 + "instead x",
        ("also " * 800),
        ("instead of x   " * 260),
    ],
)
async def test_long_hostile_words_about_a_plan_are_answered_soon(text: str, planner: Phrases) -> None:
    steps = await first(planner)
    with within(10, time.process_time):
        await replied(planner, "x", Mode.PLAN, about(steps, text))
        await replied(planner, text, Mode.PLAN)
