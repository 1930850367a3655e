"""A model over real HTTP in the real flows: what it proposes waits for people, and it is told what became of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from gate.actions import confirm
from gate.rules.ports import PlannerUnavailable, Unavailable
from gate.rules.settings import Switches
from gate.rules.states import State
from gate.rules.task import StepState
from gate.rules.task_states import TaskState
from gate.tasks import plan as plans
from tests.gate.gate_setup import ANN, Scene
from tests.gate.plan_setup import on_plan, only, states
from tests.model_stub import SIMPLE, Answer, Heard, ModelStub, Script, assesses, calls, fails, says
from tools.model.client import ProviderModel
from tools.model.planner import ModelPlanner

LOOK = ("desk__look", {"path": "a.md"})
WRITE = ("desk__write", {"path": "a.md", "content": "new"})
PLAN = {
    "steps": [
        {"tool": "desk__write", "title": "Write a", "arguments": {"path": "a.md", "content": "new"}},
        {
            "tool": "desk__write",
            "title": "Note what it became",
            "arguments": {"path": "b.md"},
            "from_results": {"content": "{steps.1.sha}"},
        },
    ]
}


@asynccontextmanager
async def thinking(
    stage: Scene, script: Script, assessment: Answer | None = SIMPLE
) -> AsyncIterator[ModelStub]:
    """The scene, with a model for a planner. Without an `assessment` the script has it."""
    async with ModelStub(script, assessment=assessment) as stub:
        model = ProviderModel(stub.config())
        try:
            planner = ModelPlanner(model, stage.desk, stage.world.policy, b"a key")
            stage.world = replace(stage.world, planner=planner)
            yield stub
        finally:
            await model.close()


async def test_it_reads_then_proposes_then_says_what_a_person_made_of_it(stage: Scene) -> None:
    stage.desk.notes["a.md"] = "old"
    script = [calls(LOOK), calls(WRITE), says("The note says new from now on.")]
    async with thinking(stage, script) as stub:
        await stage.say("make a.md say new")
        (waiting,) = await stage.ledger.pending("T1")
        assert stage.desk.notes["a.md"] == "old"
        assert (await stage.confirm(waiting)).ok
        await stage.play()
    assert stage.desk.notes["a.md"] == "new"
    assert "old" in stub.replies[1].results[0]
    assert (
        stub.replies[2]
        .results[1]
        .startswith(f"status: succeeded. It ran, and this is its answer.\nDecided by <@{ANN}>")
    )
    task = await only(stage)
    assert task.plan
    assert [step.closing for step in task.plan.steps] == ["", "The note says new from now on."]
    assert stage.texts == []  # what it read is its own to tell of
    assert (task.state, task.planning.usage.requests) == (TaskState.SATISFACTION, 4)  # with the assessment


async def test_a_rejection_reaches_it_with_its_reason_and_the_same_call_is_not_asked_again(
    stage: Scene,
) -> None:
    def script(heard: Heard) -> Answer:
        return calls(WRITE) if len(heard.results) < 2 else says("Done, I have written it.")

    async with thinking(stage, script) as stub:
        await stage.say("make a.md say new")
        (waiting,) = await stage.ledger.pending("T1")
        said = await confirm.reject(stage.world, stage.press(waiting, reason="we still need the old one"))
        assert said.ok
        await stage.play()
    assert stage.desk.calls == []
    assert "we still need the old one" in stub.replies[1].results[0]
    assert stub.replies[2].results[1].startswith("refused: it was rejected")
    assert len(stub.replies) == 3
    (text,) = (text for text in stage.texts if "This is what happened" in text)
    assert f"Write was rejected by <@{ANN}>" in text
    assert (await stage.now(waiting.id)).state is State.REJECTED


async def test_its_plan_is_approved_and_a_later_step_uses_an_earlier_result(stage: Scene) -> None:
    async with thinking(stage, [calls(("propose_plan", PLAN))], assesses(60, 4)) as stub:
        await stage.say("write a.md, then note what it became")
        task = await only(stage)
        assert task.state is TaskState.PLAN_REVIEW
        assert stage.desk.calls == []
        assert (await plans.approve_all(stage.world, on_plan(task))).ok
        await stage.play()
        for waiting in await stage.ledger.pending("T1"):  # what was not known yet asks for itself
            await stage.confirm(waiting)
            await stage.play()
        task = await only(stage)
    assert states(task) == [StepState.DONE, StepState.DONE]
    assert stage.desk.notes["a.md"] == "new"
    assert len(stage.desk.notes["b.md"]) == 64
    assert not stub.ran_dry


async def test_a_model_that_is_away_changes_nothing_and_the_request_goes_on_later(stage: Scene) -> None:
    script = [Answer(status=503, raw="{}"), says("There is nothing on the desk.")]
    async with thinking(stage, script):
        with pytest.raises(Unavailable, match="cannot be reached now"):
            await stage.say("what is there?")  # the engine carries the run out again
        stage.done -= {run.key for run in stage.runs if run.name == "turn"}
        await stage.play()
    assert "There is nothing on the desk." in stage.texts


async def test_a_conversation_comes_to_requirements_only_when_it_is_to_be_built(stage: Scene) -> None:
    stage.world = replace(stage.world, switches=lambda channel: Switches(conversational=True))
    script = [
        calls(WRITE),  # refused: this is a conversation
        says("I would write it into a.md."),
        calls(("implement", {"requirements": ["a.md says new", "b.md stays"]})),
    ]
    async with thinking(stage, script) as stub:
        await stage.say("how would you make a.md say new?")
        task = await only(stage)
        assert (task.state, task.requirements) == (TaskState.TALKING, ())
        assert "I would write it into a.md." in stage.texts
        await stage.say("yes, implement it", ts="1900000000.000000")
        task = await only(stage)
    assert task.requirements == ("a.md says new", "b.md stays")
    assert stage.desk.calls == []
    assert "this is a conversation" in stub.replies[1].results[0]
    assert not stub.ran_dry


async def test_it_asks_for_what_is_missing_and_goes_on_with_the_answer(stage: Scene) -> None:
    question = {"question": "Which note?", "missing": "inputs"}
    asks = assesses(10, 1, clear=False, missing=["inputs"], questions=[question])

    def script(heard: Heard) -> Answer:
        if heard.assessing:
            return assesses() if "I mean a.md" in heard.text else asks
        return calls(LOOK) if not heard.results else says("It is empty.")

    async with ModelStub(script, assessment=None) as stub:
        model = ProviderModel(stub.config())
        stage.world = replace(
            stage.world, planner=ModelPlanner(model, stage.desk, stage.world.policy, b"a key")
        )
        await stage.say("read the note")
        task = await only(stage)
        assert [one.text for one in task.questions] == ["Which note?"]
        await stage.say("I mean a.md", ts="1900000000.000000")
        await model.close()
    task = await only(stage)
    assert [(one.question, one.answer, one.by) for one in task.decided] == [
        ("Which note?", "I mean a.md", ANN)
    ]
    assert "It is empty." in stage.texts
    assert "I mean a.md" in stub.replies[0].text


@pytest.mark.parametrize("failing", ["assessment", "reply"])
async def test_people_are_told_once_that_the_model_is_away_and_the_request_goes_on_later(
    stage: Scene, failing: str
) -> None:
    away = [fails(503), fails(503)]
    script = (
        [*away, assesses(), says("Here I am.")] if failing == "assessment" else [*away, says("Here I am.")]
    )
    async with thinking(stage, script, None if failing == "assessment" else SIMPLE):
        with pytest.raises(PlannerUnavailable):
            await stage.say("hello?")
        for _ in range(2):  # the engine tries the run again
            stage.done -= {run.key for run in stage.runs if run.name in ("task", "turn")}
            with contextlib.suppress(PlannerUnavailable):
                await stage.play()
    away_notes = [text for text in stage.texts if "cannot reach the model" in text]
    assert (len(away_notes), stage.texts[-1]) == (1, "Here I am.")


async def test_a_confirmed_write_costs_two_requests_to_the_model(stage: Scene) -> None:
    script = [calls(WRITE), says("The note says new from now on.")]
    async with thinking(stage, script, assessment=None) as stub:
        await stage.say("make a.md say new")
        (waiting,) = await stage.ledger.pending("T1")
        assert (await only(stage)).state is TaskState.RUNNING
        assert stage.desk.calls == []
        assert (await stage.confirm(waiting)).ok
        await stage.play()
    assert stage.desk.notes["a.md"] == "new"
    task = await only(stage)
    assert (task.state, task.planning.usage.requests) == (TaskState.SATISFACTION, 2)
    assert sum(len(json.dumps(heard.body)) for heard in stub.requests) < 15_000


async def test_a_read_that_a_model_begins_with_runs_at_once_and_is_told_of(stage: Scene) -> None:
    stage.desk.notes["a.md"] = "old"
    async with thinking(stage, [calls(LOOK), says("It says old.")], assessment=None):
        await stage.say("what does a.md say?")
    assert (stage.desk.reads, stage.desk.calls) == (1, [])
    assert (await only(stage)).planning.usage.requests == 2
    assert "It says old." in str(stage.texts)
