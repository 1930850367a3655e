"""What is missing is asked for first; answers and assumptions are kept; then the request takes its way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions.button_press import TaskPress
from gate.rules.action import Ref
from gate.rules.planner_port import Call, Clarify, Propose, Say
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Flow, Missing, Question, Task
from gate.rules.task_states import TaskState as S
from gate.tasks import clarify
from tests.gate.gate_setup import ANN, BEN, GIL, TEAM, Scene
from tests.gate.plan_setup import entries, planned, write

WHERE = Question("where", "Where to?", Missing.OUTPUTS)
HOW = Question("how", "How many?", Missing.CONSTRAINTS, assumption="all of them")
VALUE = Question("value:path", "Which path?", Missing.VALUE)


def unclear(*questions: Question) -> Assessment:
    return Assessment(20, 1, tuple(q.missing for q in questions), questions)


async def only(stage: Scene) -> Task:
    (task,) = await stage.ledger.tasks_of(stage.session)
    return task


def press(task: Task, user: str = ANN, number: int | None = None, **values: str) -> TaskPress:
    return TaskPress(Ref(task.id, task.asked if number is None else number, "0"), TEAM, user, values=values)


async def asked(stage: Scene, *questions: Question) -> Task:
    stage.planner.assessments = [unclear(*questions)]
    await stage.say("move the reports")
    return await only(stage)


async def test_a_clear_simple_request_asks_nothing(stage: Scene):
    stage.planner.script = [Say("hello")]
    await stage.say("hello")
    task = await only(stage)
    assert (task.flow, task.state, task.asked) == (Flow.SIMPLE, S.DONE, 0)


# promise: TASK-01
async def test_what_is_missing_is_asked_before_anything_else_happens(stage: Scene):
    task = await asked(stage, WHERE)
    assert (task.state, task.questions, task.asked) == (S.CLARIFYING, (WHERE,), 1)
    assert stage.planner.seen == []
    assert stage.desk.calls == []


# promise: TASK-04
async def test_the_answers_reach_the_planner_and_are_kept(stage: Scene):
    task = await asked(stage, WHERE)
    stage.planner.script = [Say("ok")]
    said = await clarify.answer(stage.world, press(task, where="archive"))
    assert said.ok
    await stage.play()
    (decided,) = stage.planner.briefs[-1].decided
    assert (decided.id, decided.answer, decided.by) == ("where", "archive", ANN)
    assert (await only(stage)).decided == (decided,)


async def test_a_reply_in_the_thread_answers_too(stage: Scene):
    stage.world = with_switches(stage, Switches(intelligent_routing="aggressive"))
    await asked(stage, WHERE, HOW)
    stage.planner.script = [Say("ok")]
    await stage.say("archive\nthree", mentioned=False)
    assert [one.answer for one in stage.planner.briefs[-1].decided] == ["archive", "three"]


async def test_skipping_goes_on_with_stated_assumptions(stage: Scene):
    stage.world = with_switches(stage, Switches(intelligent_routing="aggressive"))
    task = await asked(stage, HOW)
    stage.planner.script = [Say("ok")]
    assert (await clarify.skip(stage.world, press(task))).ok
    await stage.play()
    (decided,) = (await only(stage)).decided
    assert (decided.answer, decided.by) == ("all of them", "")


async def test_a_question_without_an_assumption_is_left_to_the_planner_when_it_is_skipped(stage: Scene):
    task = await asked(stage, WHERE)
    stage.planner.assessments = [unclear(WHERE)]
    stage.planner.script = [Say("ok")]
    assert (await clarify.skip(stage.world, press(task))).ok
    await stage.play()
    (decided,) = (await only(stage)).decided
    assert (decided.answer, decided.by) == ("whatever seems sensible", "")
    assert stage.planner.briefs[-1].decided == (decided,)


async def test_a_value_that_a_tool_needs_cannot_be_skipped(stage: Scene):
    task = await asked(stage, VALUE)
    said = await clarify.skip(stage.world, press(task))
    assert (said.code, "Which path?" in said.text) == ("needed", True)
    assert (await only(stage)).questions == (VALUE,)


async def test_an_empty_answer_changes_nothing(stage: Scene):
    task = await asked(stage, WHERE)
    assert (await clarify.answer(stage.world, press(task, where="  "))).code == "empty"
    assert (await only(stage)).questions == (WHERE,)


@pytest.mark.parametrize("user", [BEN, GIL])
async def test_only_the_requester_answers(stage: Scene, user: str):
    task = await asked(stage, WHERE)
    said = await clarify.answer(stage.world, press(task, user, where="the bin"))
    assert said.code == "not_allowed"
    assert said.text
    await stage.say("the bin", user=user, mentioned=False)
    assert (await only(stage)).decided == ()


async def test_an_older_card_or_a_second_press_changes_nothing(stage: Scene):
    task = await asked(stage, WHERE)
    assert (await clarify.answer(stage.world, press(task, number=7, where="x"))).code == "stale"
    assert (await clarify.answer(stage.world, press(task, where="archive"))).ok
    late = await clarify.answer(stage.world, press(task, where="elsewhere"))
    assert late.code == "late"
    assert [one.answer for one in (await only(stage)).decided] == ["archive"]


async def test_minimal_routing_assumes_what_can_be_assumed(stage: Scene):
    stage.planner.assessments = [unclear(HOW)]
    stage.planner.script = [Say("ok")]
    await stage.say("move the reports")
    task = await only(stage)
    assert task.asked == 0
    (decided,) = task.decided
    assert (decided.question, decided.answer, decided.by) == ("How many?", "all of them", "")
    assert stage.planner.briefs[-1].decided == (decided,)


async def test_after_three_rounds_it_says_what_it_still_misses(stage: Scene):
    stage.planner.assessments = [unclear(WHERE)] * 4
    await stage.say("move the reports")
    for _ in range(3):
        await clarify.answer(stage.world, press(await only(stage), where="hm"))
        await stage.play()
    task = await only(stage)
    assert task.state is S.FAILED
    assert any("Where to?" in text for text in stage.texts)


async def test_a_question_on_the_way_is_asked_on_a_card_and_its_answer_goes_on(stage: Scene):
    stage.planner.script = [
        Clarify((WHERE,)),
        Propose((Call("desk", "write", {"path": "a", "content": "b"}),)),
    ]
    await stage.say("move the reports")
    task = await only(stage)
    assert (task.state, task.questions) == (S.CLARIFYING, (WHERE,))
    await clarify.answer(stage.world, press(task, where="archive"))
    await stage.play()
    (action,) = await stage.ledger.pending(TEAM)
    assert action.tool == "write"
    assert (await only(stage)).state is S.RUNNING


async def test_no_cancels_what_is_being_asked_about(stage: Scene):
    await asked(stage, WHERE)
    await stage.say("never mind", mentioned=False)
    assert (await only(stage)).state is S.CANCELLED


def with_switches(stage: Scene, switches: Switches):
    return replace(stage.world, switches=lambda channel: switches)


async def test_why_a_request_took_its_way_is_on_the_record(stage: Scene):
    await planned(stage, write("a.md"))
    assert [one.reason for one in await entries(stage, "task_plan")] == ["it takes several steps"]
