"""A question waits for its answer for a time; then the task is let go, and its thread is free again."""

from __future__ import annotations

from dataclasses import replace

from gate.flows import clarify
from gate.runs import Run
from gate.talk import Call, Clarify, Propose, Say
from gate.task import Task
from gate.task_states import TaskState as S
from gate.world import Limits
from tests.flows.planning import entries
from tests.flows.scene import ANN, Scene
from tests.flows.test_flow_clarify import HOW, WHERE, asked, only, press, unclear


def timers(stage: Scene) -> list[Run]:
    return [run for run in stage.runs if run.name == "lapse_question"]


async def ring(stage: Scene, timer: Run) -> Task:
    await clarify.lapse(stage.world, timer.args[0], int(timer.args[1]))
    await stage.play()
    return (await stage.ledger.tasks_of(stage.session))[0]


async def test_a_question_waits_for_seven_days_unless_the_operator_says_otherwise(stage: Scene):
    first = await asked(stage, WHERE)
    await ring(stage, *timers(stage))
    stage.world = replace(stage.world, limits=Limits(question=60))
    stage.planner.assessments = [unclear(WHERE)]
    await stage.say("move the reports")
    assert [run.delay for run in timers(stage)] == [7 * 24 * 3600, 60]
    assert timers(stage)[0].args == (first.id, "1")


async def test_what_nobody_answered_in_time_is_let_go_and_said(both: Scene):
    before = await asked(both, WHERE)
    task = await ring(both, *timers(both))
    assert (task.state, task.reason) == (S.CANCELLED, clarify.UNANSWERED)
    assert both.wall.tasks[task.id].state is S.CANCELLED  # its card is drawn anew
    assert f"<@{ANN}> {clarify.UNANSWERED} {clarify.AGAIN}" in both.texts
    (entry,) = await entries(both, "task_cancel")
    assert (entry.actor, entry.user_confirmed, entry.reason) == ("system", False, clarify.UNANSWERED)
    said = await clarify.answer(both.world, press(before, where="archive"))
    assert (said.ok, said.text) == (False, "This was cancelled already.")
    assert both.desk.calls == []


async def test_a_timer_that_rings_twice_says_so_once(stage: Scene):
    await asked(stage, WHERE)
    for _ in range(2):
        await ring(stage, *timers(stage))
    assert sum(clarify.UNANSWERED in text for text in stage.texts) == 1


async def test_what_was_answered_or_asked_anew_is_not_let_go(stage: Scene):
    task = await asked(stage, WHERE)
    (first,) = timers(stage)
    stage.planner.script = [
        Clarify((HOW,)),
        Propose((Call("desk", "write", {"path": "a", "content": "b"}),)),
        Say("ok"),
    ]
    await clarify.answer(stage.world, press(task, where="archive"))
    await stage.play()
    assert (await ring(stage, first)).state is S.CLARIFYING  # another question waits, with a time of its own
    assert [run.args for run in timers(stage)] == [(task.id, "1"), (task.id, "2")]
    await clarify.answer(stage.world, press(await only(stage), how="all"))
    await stage.play()
    assert (await ring(stage, timers(stage)[-1])).state is S.RUNNING
