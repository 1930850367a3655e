"""A simple request that turns out to be more, in a thread that somebody else's plan holds, ends with a sentence."""

from __future__ import annotations

import pytest

from gate.rules.planner_port import Call, Clarify, Propose, Reply
from gate.rules.task import Missing, Question
from gate.rules.task_states import TaskState
from tests.gate.gate_setup import ANN, BEN, TEAM, Scene
from tests.gate.plan_setup import MANY, proposes, write


@pytest.mark.parametrize("steered", [False, True])
@pytest.mark.parametrize(
    "more", [proposes(write("d.md"), write("e.md")), Clarify((Question("q", "Which one?", Missing.OUTPUTS),))]
)
async def test_a_request_that_becomes_a_plan_beside_another_plan_is_told_to_wait(
    stage: Scene, more: Reply, steered: bool
) -> None:
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "new"}),))]
    await stage.say("write it", user=BEN)
    (action,) = await stage.ledger.pending(TEAM)
    stage.planner.assessments.append(MANY)
    stage.planner.script = [proposes(write("b.md"), write("c.md"))]
    await stage.say("tidy up the desk", user=ANN)
    stage.planner.script = [more]
    if steered:
        await stage.say("rather write d and then e", user=BEN)
    else:
        assert (await stage.confirm(action, BEN)).ok
        await stage.play()
    states = {task.requester: task.state for task in await stage.ledger.tasks_of(stage.session)}
    assert states == {ANN: TaskState.PLAN_REVIEW, BEN: TaskState.FAILED}
    assert any(f"<@{ANN}> has a task open in this thread" in text for text in stage.texts)
