"""A plain word decides nothing about a task where it may be meant for something else that waits in the thread."""

from __future__ import annotations

import pytest

from gate.rules.action_states import State
from gate.rules.planner_port import Call, Propose
from gate.rules.task import Task
from gate.rules.task_states import TaskState as S
from gate.tasks.plain_words import AMBIGUOUS, ELSEWHERE
from tests.gate.gate_setup import Scene
from tests.gate.plan_setup import MANY, approved, planned, proposes, waiting, write

CHANGE = Propose((Call("desk", "write", {"path": "own.md", "content": "mine"}),))
PLAN = proposes(write("a.md"), write("b.md"))


async def newest(stage: Scene) -> Task:
    return (await stage.ledger.tasks_of(stage.session))[0]


async def beside_a_plan(stage: Scene) -> Task:
    """A plan that waits, asked for while the card of something else of theirs did."""
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    stage.planner.assessments, stage.planner.script = [MANY], [PLAN]
    await stage.say("and tidy up")
    task = await newest(stage)
    assert task.state is S.PLAN_REVIEW
    return task


@pytest.mark.parametrize("word", ["continue", "go on", "retry", "skip", "and use b.md"])
async def test_no_word_lets_a_plan_go_on_while_another_card_waits(stage: Scene, word: str) -> None:
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))
    assert task.state is S.PAUSED
    card = await stage.prepare(path="own.md", content="mine")
    calls = list(stage.desk.calls)
    await stage.say(word, mentioned=False)
    assert ((await newest(stage)).state, stage.texts[-1], stage.desk.calls) == (S.PAUSED, ELSEWHERE, calls)
    assert (await stage.now(card.id)).state is State.PREPARED


async def test_a_yes_approves_no_plan_while_another_card_waits(stage: Scene) -> None:
    task = await beside_a_plan(stage)
    await stage.say("yes", mentioned=False)
    assert ((await newest(stage)).plan, stage.texts[-1], stage.desk.calls) == (task.plan, ELSEWHERE, [])


async def test_ok_after_a_result_approves_no_plan_that_stood_there_before(stage: Scene) -> None:
    await beside_a_plan(stage)
    await stage.confirm(await waiting(stage))
    await stage.play()
    calls = list(stage.desk.calls)
    await stage.say("ok", mentioned=False)
    assert ((await newest(stage)).state, stage.texts[-1]) == (S.PLAN_REVIEW, AMBIGUOUS)
    assert stage.desk.calls == calls
    await stage.say("go ahead", mentioned=False)  # that can only be meant for what waits
    assert len(stage.desk.calls) > len(calls)


async def test_ok_approves_a_plan_whose_card_came_after_the_result(stage: Scene) -> None:
    stage.planner.script = [CHANGE]
    await stage.say("write it")
    await stage.confirm(await waiting(stage))
    await stage.play()
    stage.planner.assessments, stage.planner.script = [MANY], [PLAN]
    await stage.say("and tidy up")
    await stage.say("ok", mentioned=False)
    assert len(stage.desk.calls) > 1
