"""Words to the bot in the thread of a paused plan: it hears them, and stays paused."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from gate.rules.planner_port import Say
from gate.rules.task import Instruction, PauseReason, StopRequest
from gate.rules.task_states import TaskState as S
from gate.tasks import control
from gate.tasks.task_transitions import FULL, INSTRUCTIONS
from tests.gate.gate_setup import ANN, Scene
from tests.gate.plan_setup import approved, keep, planned, proposes, steps, waiting, write
from tests.gate.tasks.test_task_plain_words import later, newest, nothing_comes_of, paused

STAY = [
    "please leave it paused for now",
    "do not run the next step before I have asked Ben",
    "don't go on before noon",
    "never mind the rest",
    "cancel the rest",
    "why is this paused?",
    "show me b.md",
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("text", STAY)
async def test_words_that_mention_the_bot_let_no_paused_plan_go_on(stage: Scene, text: str) -> None:
    task = await paused(stage)
    stage.planner.script = [proposes(*(keep(one) for one in steps(task)))]
    await stage.say(text, ts=later())
    again = await newest(stage)
    assert (again.state, again.why, again.pauses, stage.desk.notes) == (S.PAUSED, PauseReason.WISH, 2, {})
    assert [(one.text, one.used) for one in again.instructions] == [(text, "before step 1")]


async def test_a_question_in_a_pause_is_answered_in_words_and_it_stays_paused(stage: Scene) -> None:
    await paused(stage)
    stage.planner.script = [Say("You have asked for it.")]
    await stage.say("why is this paused?", ts=later())
    assert ((await newest(stage)).state, stage.desk.notes) == (S.PAUSED, {})
    assert "You have asked for it." in stage.texts


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("word", ["continue", "yes", "go on", "resume"])
async def test_an_instruction_in_a_pause_makes_another_plan_that_waits_for_a_word(
    stage: Scene, word: str
) -> None:
    first, *_ = steps(await paused(stage))
    stage.planner.script = [proposes(keep(first), write("d.md"))]
    await stage.say("instead of b.md write d.md, and not c.md", ts=later())
    task = await newest(stage)
    assert (task.state, task.wish, stage.desk.notes) == (S.PAUSED, StopRequest.NONE, {})
    assert [step.args["path"] for step in steps(task)] == ["a.md", "d.md"]
    await stage.say(word, mentioned=False, ts=f"{time.time() + 120:.6f}")
    assert stage.desk.notes == {"a.md": "new"}  # what is new in it asks for itself
    assert b'"d.md"' in (await waiting(stage)).args


async def test_words_at_a_failed_step_are_kept_until_it_is_decided_on(stage: Scene) -> None:
    task = await planned(stage, write("a.md"), write("b.md"))
    stage.desk.behave = "says no"
    task = await approved(stage, task)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.STEP)
    calls = list(stage.desk.calls)
    await stage.say("please do not try it again before noon", ts=later())
    again = await newest(stage)
    assert (again.state, again.why, again.pauses, stage.desk.calls) == (
        S.PAUSED,
        task.why,
        task.pauses,
        calls,
    )
    assert stage.texts[-1] == control.TAKEN_IN_LATER
    assert [one.used for one in again.instructions] == [""]


async def test_words_about_a_result_that_is_looked_at_do_not_accept_it(stage: Scene) -> None:
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    await stage.say("is that what Ben wanted?", ts=later())
    again = await newest(stage)
    assert (again.state, again.why, again.pauses) == (S.PAUSED, task.why, task.pauses)
    assert stage.texts[-1] == control.TAKEN_IN_LATER


async def test_a_paused_task_keeps_no_more_than_so_many_instructions(stage: Scene) -> None:
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))
    said = Instruction("one", ANN, "look", await stage.ledger.now())
    async with stage.ledger.begin() as tx:
        await tx.update_task(task, input=replace(task.input, instructions=(said,) * INSTRUCTIONS))
    await nothing_comes_of(stage, "and look once more", FULL, mentioned=True, ts=later())
