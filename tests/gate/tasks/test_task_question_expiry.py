"""A question waits for its answer for a time; then the task is let go, and its thread is free again."""

from __future__ import annotations

import math

from gate.rules.planner_port import Call, Clarify, Propose, Say
from gate.rules.ports import Limits
from gate.rules.task import Task
from gate.rules.task_states import TaskState as S
from gate.tasks import clarify
from tests.gate.gate_setup import ANN, YEAR, Scene
from tests.gate.plan_setup import entries
from tests.gate.tasks.test_task_clarify import HOW, WHERE, asked, only, press, unclear


async def left(stage: Scene) -> list[int]:
    """The minutes that each task still waits, begun ones included."""
    return [math.ceil(one.left / 60) for one in await stage.ledger.due(YEAR)]


async def timer(stage: Scene) -> Task:
    """The time of the question comes to its end."""
    await stage.play(timers=True)
    return (await stage.ledger.tasks_of(stage.session))[0]


async def test_a_question_waits_for_seven_days_unless_the_operator_says_otherwise(stage: Scene):
    await asked(stage, WHERE)
    assert await left(stage) == [7 * 24 * 60]
    await timer(stage)
    stage.ledger.limits = Limits(question=60)
    stage.planner.assessments = [unclear(WHERE)]
    await stage.say("move the reports")
    assert await left(stage) == [1]


async def test_what_nobody_answered_in_time_is_let_go_and_said(both: Scene):
    before = await asked(both, WHERE)
    task = await timer(both)
    assert (task.state, task.reason) == (S.CANCELLED, clarify.UNANSWERED)
    assert both.wall.tasks[task.id].state is S.CANCELLED  # its card is drawn anew
    assert f"<@{ANN}> {clarify.UNANSWERED} {clarify.AGAIN}" in both.texts
    (entry,) = await entries(both, "task_cancel")
    assert (entry.actor, entry.user_confirmed, entry.reason) == ("system", False, clarify.UNANSWERED)
    said = await clarify.answer(both.world, press(before, where="archive"))
    assert (said.ok, said.text) == (False, "This was cancelled already.")
    assert both.desk.calls == []


async def test_a_timer_that_rings_twice_says_so_once(stage: Scene):
    task = await asked(stage, WHERE)
    for _ in range(2):
        await clarify.expire_questions(stage.world, task.id, task.asked)
        await stage.play()
    assert sum(clarify.UNANSWERED in text for text in stage.texts) == 1


async def test_what_was_answered_or_asked_anew_is_not_let_go(stage: Scene):
    task = await asked(stage, WHERE)
    stage.planner.script = [
        Clarify((HOW,)),
        Propose((Call("desk", "write", {"path": "a", "content": "b"}),)),
        Say("ok"),
    ]
    await clarify.answer(stage.world, press(task, where="archive"))
    await stage.play()
    await clarify.expire_questions(stage.world, task.id, 1)
    assert (await only(stage)).state is S.CLARIFYING  # another question waits, with a time of its own
    await clarify.answer(stage.world, press(await only(stage), how="all"))
    await stage.play()
    await clarify.expire_questions(stage.world, task.id, 2)
    assert (await only(stage)).state is S.RUNNING
