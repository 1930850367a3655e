"""No plain word in a thread decides what an agent asked for there, though its person may steer it and stop it."""

from __future__ import annotations

from typing import Any

import pytest

from gate.rules.planner_port import Call, Implement, Propose, Say
from gate.rules.task import Assessment, Missing, PauseReason, Question, StopRequest, Task
from gate.rules.task_states import TaskState as S
from gate.tasks import control
from gate.tasks.plain_words import BY_AGENT
from tests.api.api_server import Api
from tests.api.test_api_actions import WRITE
from tests.gate.plan_setup import approved, confirmed, on_pause, planned, pressed, proposes, write

CHANGE = Propose((Call("desk", "write", {"path": "own.md", "content": "mine"}),))
SIMPLE, MANY = Assessment(10, 1), Assessment(80, 2)
YES = ["yes", "ok", "go ahead"]
GOES_ON = [*YES, "continue", "retry", "skip", "and use b.md"]
PLAN = proposes(write("a.md"), write("b.md"))


async def asked(api: Api, *replies: Any, assessment: Assessment = MANY, **sent: Any) -> Task:
    """A task of an agent in the thread of the scene, which was opened for it."""
    agent = await api.agent()
    api.gate.planner.assessments.append(assessment)
    api.gate.planner.script += replies
    sent = {"text": "tidy up", "session_id": api.open_scene(agent).key, **sent}
    made = await agent.post("/tasks", sent, 201)
    await api.gate.play()
    return await now(api, made["id"])


async def now(api: Api, task_id: str) -> Task:
    task = await api.gate.ledger.task(task_id)
    assert task is not None
    return task


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", YES)
async def test_a_yes_approves_no_plan_of_an_agent(api: Api, word: str) -> None:
    task = await asked(api, PLAN)
    await api.gate.say(word, mentioned=False)
    assert (await now(api, task.id)).state is S.PLAN_REVIEW
    assert (api.gate.texts[-1], api.gate.desk.calls) == (BY_AGENT, [])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", GOES_ON)
async def test_no_word_lets_a_paused_plan_of_an_agent_go_on(api: Api, word: str) -> None:
    """The result that waits for a look would be told to the agent."""
    task = await approved(api.gate, await asked(api, PLAN))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    await api.gate.say(word, mentioned=False)
    assert (await now(api, task.id)).pauses == task.pauses
    assert (await now(api, task.id)).state is S.PAUSED
    assert (api.gate.texts[-1], len(api.gate.desk.calls)) == (BY_AGENT, 1)
    assert (await pressed(api.gate, control.resume, on_pause(task))).ok


async def test_words_stop_a_paused_plan_of_an_agent(api: Api) -> None:
    task = await approved(api.gate, await asked(api, PLAN))
    await api.gate.say("stop", mentioned=False)
    assert (await now(api, task.id)).state is S.STOPPED_BY_USER


async def test_no_word_takes_back_a_pause_of_an_agents_task(api: Api) -> None:
    stage = api.gate
    task = await asked(api, CHANGE, assessment=SIMPLE)
    await stage.say("pause", mentioned=False)
    assert (await now(api, task.id)).wish is StopRequest.PAUSE
    await stage.say("continue", mentioned=False)
    assert ((await now(api, task.id)).wish, stage.texts[-1]) == (StopRequest.PAUSE, BY_AGENT)


async def test_a_yes_answers_no_question_of_an_agents_task(api: Api) -> None:
    question = Question("file", "Which file?", Missing.INPUTS)
    task = await asked(api, assessment=Assessment(20, 1, (Missing.INPUTS,), (question,)))
    await api.gate.say("ok", mentioned=False)
    task = await now(api, task.id)
    assert (task.state, task.questions, api.gate.texts[-1]) == (S.CLARIFYING, (question,), BY_AGENT)
    await api.gate.say("a.md", mentioned=False)
    assert [point.answer for point in (await now(api, task.id)).decided] == ["a.md"]


async def test_a_yes_confirms_no_requirements_of_an_agents_task(api: Api) -> None:
    compiled = Implement(("a login",))
    task = await asked(api, Say("Which?"), assessment=Assessment(70, 6, (Missing.PURPOSE,), open_ended=True))
    api.gate.planner.script += [compiled]
    await api.gate.say("that is all", mentioned=False)
    assert (await now(api, task.id)).requirements == compiled.requirements
    await api.gate.say("yes", mentioned=False)
    assert ((await now(api, task.id)).state, api.gate.texts[-1]) == (S.TALKING, BY_AGENT)


async def test_an_ok_to_their_own_result_approves_no_plan_of_an_agent(api: Api) -> None:
    stage = api.gate
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    own = await confirmed(stage)
    assert own.state is S.SATISFACTION
    task = await asked(api, PLAN)
    await stage.say("ok", mentioned=False)
    assert ((await now(api, task.id)).state, len(stage.desk.calls)) == (S.PLAN_REVIEW, 1)
    assert stage.texts[-1] == BY_AGENT


async def test_what_its_person_has_started_over_is_still_an_agents(api: Api) -> None:
    stage = api.gate
    task = await asked(api, CHANGE, assessment=SIMPLE)
    await confirmed(stage)
    await pressed(stage, control.resume, on_pause(await now(api, task.id)))
    assert (await now(api, task.id)).state is S.SATISFACTION
    stage.planner.assessments, stage.planner.script = [MANY], [PLAN]
    await stage.say("start over", mentioned=False)
    (again,) = [one for one in await stage.ledger.tasks_of(stage.session) if one.id != task.id]
    assert again.state is S.PLAN_REVIEW
    await stage.say("yes", mentioned=False)
    assert (await now(api, again.id)).state is S.PLAN_REVIEW
    assert stage.texts[-1] == BY_AGENT


async def test_a_yes_approves_no_plan_while_a_card_of_an_agent_waits(api: Api) -> None:
    """Whichever of the two it is meant for."""
    stage, agent = api.gate, await api.agent()
    task = await planned(stage, write("a.md"), write("b.md"))
    thread = api.open_scene(agent).key
    await agent.post("/actions", {**WRITE, "session_id": thread}, 201)
    await stage.play()
    for word in YES:
        await stage.say(word, mentioned=False)
        assert (await now(api, task.id)).state is S.PLAN_REVIEW
    assert stage.desk.calls == []
