"""Pause, continue, stop, retry, skip and abort: what runs finishes first, and what ended starts nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from gate.actions import claim_click, execute, reissue, result_review
from gate.actions.button_press import TaskPress
from gate.rules.action import CallClass, Ref
from gate.rules.action_states import State
from gate.rules.planner_port import Call, Incoming, Propose, ProposedStep, Say
from gate.rules.reviews import Phase, Review
from gate.rules.task import Assessment, PauseReason, StepState, StopRequest
from gate.rules.task_states import TaskState as S
from gate.rules.tool import Recipe
from gate.tasks import control, feedback, steer, step_action, step_review, task_runner
from gate.tasks import plan as flow
from gate.tasks.plan import AS_IT_WAS, StepChange
from tests.gate.gate_setup import ANN, BEN, BOT, DORA, GIL, SAM, TEAM, Scene
from tests.gate.plan_setup import (
    approved,
    confirmed,
    keep,
    look,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    shred,
    states,
    steps,
    twice,
    waiting,
    write,
    wrote,
)
from tests.gate.tasks.test_task_step_review import reviewing

ASKED, DONE, SKIPPED, WAITING = StepState.ASKED, StepState.DONE, StepState.SKIPPED, StepState.WAITING


async def broken(stage: Scene, *more: ProposedStep):
    """A plan whose first step has failed."""
    stage.desk.behave = "says no"
    task = await approved(stage, await planned(stage, write("a.md"), *more))
    stage.desk.behave = "well"
    assert task.state is S.PAUSED
    return task


async def under_way(stage: Scene, *more: ProposedStep):
    """A plan whose first step is being carried out at this moment, and the work that does it."""
    task = await planned(stage, write("a.md"), *more)
    stage.desk.gate = asyncio.Event()
    await flow.approve_all(stage.world, on_plan(task))
    work = asyncio.create_task(stage.play())
    await asyncio.wait_for(stage.desk.entered.wait(), 30)
    return await only(stage), work


async def finished(stage: Scene, work: asyncio.Task[None]) -> None:
    assert stage.desk.gate
    stage.desk.gate.set()
    await asyncio.wait_for(work, 30)
    await stage.play()


# Pause and continue


# promise: TASK-16
async def test_pause_lets_the_current_step_finish(both: Scene):
    task, work = await under_way(both, write("b.md"))
    said = await control.pause(both.world, on_plan(task))
    assert (said.ok, said.text) == (True, "I pause once the current step is over.")
    await finished(both, work)
    task = await only(both)
    assert (task.state, task.why, task.wish) == (S.PAUSED, PauseReason.WISH, StopRequest.NONE)
    assert task.reason == "Paused before step 2."
    assert wrote(both) == ["a.md"]
    assert (await pressed(both, control.resume, on_pause(task))).ok
    assert wrote(both) == ["a.md", "b.md"]
    assert (await only(both)).state is S.SATISFACTION


# promise: TASK-16
async def test_pause_is_at_once_while_a_step_waits_and_leaves_its_card(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    said = await pressed(stage, control.pause, on_plan(task))
    assert (said.ok, said.text) == (True, "")
    task = await only(stage)
    assert (task.state, task.why, task.pauses) == (S.PAUSED, PauseReason.WISH, 1)
    assert "Step 1 still waits for a decision on its card." in task.reason
    task = await confirmed(stage)
    assert (task.state, task.why, task.pauses) == (S.PAUSED, PauseReason.WISH, 2)
    assert (task.reason, wrote(stage)) == ("Paused before step 2.", ["a.md"])
    assert (await pressed(stage, control.resume, on_pause(task))).ok
    assert wrote(stage) == ["a.md", "b.md"]


async def test_continue_goes_on_to_the_very_card_that_waited(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    step = await waiting(stage)
    await pressed(stage, control.pause, on_plan(task))
    assert (await pressed(stage, control.resume, on_pause(await only(stage)))).ok
    assert ((await only(stage)).state, (await waiting(stage)).id) == (S.RUNNING, step.id)
    task = await confirmed(stage)
    assert (task.state, wrote(stage)) == (S.SATISFACTION, ["a.md", "b.md"])


async def test_a_no_to_the_card_that_waits_in_a_pause_is_a_step_that_did_not_go_through(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    await pressed(stage, control.pause, on_plan(task))
    assert (await claim_click.cancel(stage.world, stage.press(await waiting(stage)))).ok
    await stage.play()
    task = await only(stage)
    assert (task.state, task.why, wrote(stage)) == (S.PAUSED, PauseReason.STEP, [])


@pytest.mark.parametrize("runs", [False, True])
async def test_stop_in_a_pause_withdraws_the_card_that_waits_and_lets_what_runs_finish(
    stage: Scene, runs: bool
):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    await pressed(stage, control.pause, on_plan(task))
    action = await waiting(stage)
    work = None
    if runs:
        stage.desk.gate = asyncio.Event()
        assert (await stage.confirm(action)).ok
        work = asyncio.create_task(stage.play())
        await asyncio.wait_for(stage.desk.entered.wait(), 30)
    assert (await control.stop(stage.world, on_pause(await only(stage)))).ok
    if work:
        assert stage.desk.gate
        stage.desk.gate.set()
        await asyncio.wait_for(work, 30)
    await stage.play()
    task = await only(stage)
    assert (task.state, task.ended_by) == (S.STOPPED_BY_USER, ANN)
    assert (states(task)[0], wrote(stage)) == ((DONE, ["a.md"]) if runs else (StepState.ASKED, []))


async def test_pause_is_at_once_where_nothing_runs(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    said = await control.pause(stage.world, on_plan(await only(stage)))
    assert (said.ok, said.text) == (True, "")
    await stage.play()
    assert ((await only(stage)).state, wrote(stage)) == (S.PAUSED, [])


# promise: TASK-17
async def test_what_is_said_with_continue_is_taken_in_first(stage: Scene):
    task, work = await under_way(stage, write("b.md"))
    await control.pause(stage.world, on_plan(task))
    await finished(stage, work)
    stage.planner.script = [proposes(write("c.md"))]
    assert (await pressed(stage, control.resume, on_pause(await only(stage), text="c.md, please"))).ok
    assert wrote(stage) == ["a.md"]
    assert b"c.md" in (await waiting(stage)).args
    (said,) = (await only(stage)).instructions
    assert (said.text, said.used) == ("c.md, please", "before step 2")


async def test_continue_takes_a_pause_back_that_has_not_come_about(stage: Scene):
    task, work = await under_way(stage, write("b.md"))
    assert (await control.pause(stage.world, on_plan(task))).text == control.PAUSING
    assert (await control.pause(stage.world, on_plan(task))).text == control.ALREADY_PAUSING
    assert (await control.unpause(stage.world, on_plan(task))).text == control.PAUSE_WITHDRAWN
    assert (await control.unpause(stage.world, on_plan(task))).text == control.RUNNING
    assert ((await only(stage)).wish, (await only(stage)).instructions) == (StopRequest.NONE, ())
    await finished(stage, work)
    assert ((await only(stage)).state, wrote(stage)) == (S.SATISFACTION, ["a.md", "b.md"])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("words", ["stop", "Stop!", "please stop"])
async def test_stop_in_the_thread_ends_a_plan_and_not_the_step_alone_that_waits(stage: Scene, words: str):
    await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    step = await waiting(stage)
    await stage.say(words, mentioned=False)
    assert (await only(stage)).state is S.STOPPED_BY_USER
    assert (await stage.now(step.id)).state is State.CANCELLED
    assert stage.desk.calls == []


async def test_words_in_the_thread_pause_and_continue(stage: Scene):
    await approved(stage, await planned(stage, shred("a.md"), write("b.md")))
    await stage.say("pause", mentioned=False)
    task = await confirmed(stage)
    assert task.state is S.PAUSED
    await stage.say("continue", mentioned=False)
    assert wrote(stage) == ["a.md", "b.md"]


async def test_pausing_may_be_switched_off(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), pause_enabled=False))
    said = await pressed(stage, control.pause, on_plan(task))
    assert (said.ok, said.code) == (False, "no_pause")
    assert "switched off" in said.text
    assert (await only(stage)).wish is StopRequest.NONE


async def test_pausing_twice_is_pausing_once(both: Scene):
    task = await approved(both, await planned(both, write("a.md", ask=True)))
    assert all(said.ok for said in await twice(control.pause, both, on_plan(task)))
    await both.play()
    task = await confirmed(both)
    assert (task.state, task.pauses) == (S.SATISFACTION, 1)  # nothing was left to pause before


# promise: REVIEW-13
@pytest.mark.slow
async def test_continuing_twice_goes_on_once(both: Scene):
    task = await broken(both, write("b.md"))
    said = await twice(control.retry, both, on_pause(task))
    assert sorted(one.ok for one in said) == [False, True]
    await both.play()
    await confirmed(both)
    assert wrote(both) == ["a.md", "a.md", "b.md"]


async def test_the_card_of_an_earlier_pause_does_nothing(stage: Scene):
    old = await broken(stage)
    stage.desk.behave = "says no"
    await pressed(stage, control.retry, on_pause(old))
    await confirmed(stage)
    for verb in (control.resume, control.retry, control.skip_step):
        assert (await pressed(stage, verb, on_pause(old))).code == "stale"
    assert (await only(stage)).pauses == 2


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "verb", [control.resume, control.retry, control.skip_step, control.abort, control.stop]
)
async def test_nobody_else_controls_a_task(stage: Scene, verb):
    task = await broken(stage, write("b.md"))
    for user in (BEN, GIL, SAM, DORA, BOT, "U_NOBODY"):
        assert (await pressed(stage, verb, on_pause(task, user))).code == "not_allowed"
    assert (await only(stage)).revision == task.revision


async def test_an_admin_may_pause_and_stop(stage: Scene):
    stage.rule(admins=frozenset({BEN}))
    task = await approved(stage, await planned(stage, write("a.md", ask=True)))
    assert (await pressed(stage, control.pause, on_plan(task, BEN))).ok
    assert (await pressed(stage, control.pause, on_plan(task, GIL))).code == "not_allowed"
    assert (await pressed(stage, control.stop, on_plan(task, BEN))).ok
    task = await only(stage)
    assert (task.state, task.ended_by) == (S.STOPPED_BY_USER, BEN)


# Stop


async def test_stop_withdraws_what_waits(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    action = await waiting(stage)
    assert (await pressed(stage, control.stop, on_plan(task))).ok
    task = await only(stage)
    assert (task.state, task.ended_by) == (S.STOPPED_BY_USER, ANN)
    gone = await stage.now(action.id)
    assert (gone.state, gone.decision) == (State.CANCELLED, "The task was stopped")
    assert await stage.world.leases.get(action.id) is None
    assert (await stage.confirm(action)).code == "late"
    assert wrote(stage) == []
    assert task.result == "0 of 2 steps done, 1 not decided, 1 not begun."


async def test_stop_lets_what_runs_finish_and_starts_nothing_more(both: Scene):
    task, work = await under_way(both, write("b.md"))
    said = await control.stop(both.world, on_plan(task))
    assert (said.ok, said.code) == (True, "stopping")
    assert (await only(both)).state is S.RUNNING
    await finished(both, work)
    task = await only(both)
    assert (task.state, task.ended_by) == (S.STOPPED_BY_USER, ANN)
    assert states(task) == [DONE, WAITING]
    assert wrote(both) == ["a.md"]
    assert task.result.startswith("1 of 2 steps done, 1 not begun")


async def test_what_was_approved_and_not_begun_does_not_run_after_stop(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    await task_runner.run_task(stage.world, task.id)  # approved, and not carried out yet
    assert (await control.stop(stage.world, on_plan(await only(stage)))).ok
    await stage.play()
    assert wrote(stage) == []
    assert (await only(stage)).state is S.STOPPED_BY_USER


async def test_stop_before_anything_began(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    assert (await control.stop(stage.world, on_plan(task))).ok
    await stage.play()
    assert wrote(stage) == []


async def test_stop_ends_a_plan_that_is_not_approved_and_a_pause(stage: Scene):
    task = await planned(stage, write("a.md"))
    assert (await pressed(stage, control.stop, on_plan(task))).ok
    assert (await only(stage)).state is S.STOPPED_BY_USER
    assert (await pressed(stage, control.stop, on_plan(task))).code == "late"


@pytest.mark.parametrize("behave", ["says no", "breaks the line"])
async def test_stop_holds_however_the_step_ends(stage: Scene, behave: str):
    task, work = await under_way(stage, write("b.md"))
    stage.desk.behave = behave
    await control.stop(stage.world, on_plan(task))
    await finished(stage, work)
    task = await only(stage)
    assert (task.state, task.pauses) == (S.STOPPED_BY_USER, 0)
    assert wrote(stage) == ["a.md"]


async def test_nothing_of_a_stopped_task_asks_again(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", ask=True)))
    old = await waiting(stage)
    stage.travel(301)
    await stage.play(timers=True)
    task = await only(stage)
    assert (await pressed(stage, control.stop, on_pause(task))).ok
    assert (await reissue.reissue_by_press(stage.world, stage.press(await stage.now(old.id)))).ok
    await stage.play()
    assert await stage.ledger.pending(TEAM) == ()
    assert [note.kind for note in stage.wall.notes][-1] == "refused"
    assert wrote(stage) == []


async def test_a_renewed_card_goes_when_the_task_is_stopped(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", ask=True)))
    old = await waiting(stage)
    stage.travel(301)
    await stage.play(timers=True)
    await reissue.reissue_by_press(stage.world, stage.press(await stage.now(old.id)))
    await stage.play()
    fresh = await waiting(stage)
    assert (await pressed(stage, control.stop, on_pause(await only(stage)))).ok
    assert (await stage.now(fresh.id)).state is State.CANCELLED
    assert wrote(stage) == []


async def test_stop_by_command(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", ask=True)))
    await stage.say("stop")
    assert (await only(stage)).state is S.STOPPED_BY_USER
    assert await stage.ledger.pending(TEAM) == ()


async def test_stop_of_a_simple_task_withdraws_its_card(stage: Scene):
    stage.planner.assessments = [Assessment(10, 1)]
    stage.planner.script = [Propose((Call("desk", "write", {"path": "a.md", "content": "x"}),))]
    await stage.say("write a.md")
    task, action = await only(stage), await waiting(stage)
    press = TaskPress(Ref(task.id, 0, "0"), TEAM, ANN)
    assert (await pressed(stage, control.stop, press)).ok
    assert (await only(stage)).state is S.STOPPED_BY_USER
    assert (await stage.now(action.id)).state is State.CANCELLED


# Retry, skip, abort


# promise: ACT-27
async def test_retry_begins_the_step_once_more_and_asks(stage: Scene):
    task = await broken(stage, write("b.md"))
    assert (await pressed(stage, control.retry, on_pause(task))).ok
    assert wrote(stage) == ["a.md"]
    action = await waiting(stage)
    assert steps(await only(stage))[0].attempt == 2
    assert action.id != steps(task)[0].action
    task = await confirmed(stage)
    assert wrote(stage) == ["a.md", "a.md", "b.md"]
    assert task.state is S.SATISFACTION


async def test_skip_goes_on_without_the_step(stage: Scene):
    task = await broken(stage, write("b.md"))
    assert (await pressed(stage, control.skip_step, on_pause(task))).ok
    task = await only(stage)
    assert states(task) == [SKIPPED, DONE]
    assert (task.state, wrote(stage)) == (S.SATISFACTION, ["a.md", "b.md"])
    assert task.result == "1 of 2 steps done, 1 skipped: Wrote b.md."


async def test_what_needs_a_skipped_result_says_so(stage: Scene):
    uses = ProposedStep(Call("desk", "write", {"path": "b.md"}), refs={"content": "{steps.1.sha}"})
    task = await broken(stage, uses)
    await pressed(stage, control.skip_step, on_pause(task))
    task = await only(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.STEP)
    assert task.reason == "Step 2 takes its `content` from the result of step 1, which was skipped."
    assert wrote(stage) == ["a.md"]


async def test_abort_ends_it(stage: Scene):
    task = await broken(stage, write("b.md"))
    assert (await pressed(stage, control.abort, on_pause(task))).ok
    task = await only(stage)
    assert (task.state, wrote(stage)) == (S.STOPPED_BY_USER, ["a.md"])
    assert task.result == "0 of 2 steps done, 1 did not go through, 1 not begun."


async def test_a_step_that_goes_through_after_all_is_not_begun_again(both: Scene):
    """The card asked again while the task was paused, and somebody confirmed it."""
    await approved(both, await planned(both, write("a.md", ask=True), write("b.md")))
    old = await waiting(both)
    both.travel(301)
    await both.play(timers=True)
    task = await only(both)
    await reissue.reissue_by_press(both.world, both.press(await both.now(old.id)))
    await both.play()
    fresh = await waiting(both)
    assert (await both.confirm(fresh)).ok
    both.desk.gate = asyncio.Event()
    work = asyncio.create_task(both.play())
    await asyncio.wait_for(both.desk.entered.wait(), 30)
    for verb in (control.retry, control.skip_step, control.resume):
        assert (await verb(both.world, on_pause(task))).code == "busy"
    await finished(both, work)
    assert wrote(both) == ["a.md", "b.md"]
    assert (await only(both)).state is S.SATISFACTION


async def test_stop_while_a_renewed_step_runs_waits_for_its_end(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    old = await waiting(stage)
    stage.travel(301)
    await stage.play(timers=True)
    task = await only(stage)
    await reissue.reissue_by_press(stage.world, stage.press(await stage.now(old.id)))
    await stage.play()
    await stage.confirm(await waiting(stage))
    stage.desk.gate = asyncio.Event()
    work = asyncio.create_task(stage.play())
    await asyncio.wait_for(stage.desk.entered.wait(), 30)
    assert (await control.stop(stage.world, on_pause(task))).code == "stopping"
    await finished(stage, work)
    task = await only(stage)
    assert (task.state, states(task), wrote(stage)) == (S.STOPPED_BY_USER, [DONE, WAITING], ["a.md"])


async def test_skipping_withdraws_the_card_that_asks_again(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    old = await waiting(stage)
    stage.travel(301)
    await stage.play(timers=True)
    await reissue.reissue_by_press(stage.world, stage.press(await stage.now(old.id)))
    await stage.play()
    fresh = await waiting(stage)
    await pressed(stage, control.skip_step, on_pause(await only(stage)))
    assert (await stage.now(fresh.id)).state is State.CANCELLED
    assert wrote(stage) == ["b.md"]


async def test_retry_and_skip_are_for_steps_that_did_not_go_through(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    await control.pause(stage.world, on_plan(task))
    task = await confirmed(stage)
    assert task.why is PauseReason.WISH
    assert (await pressed(stage, control.retry, on_pause(task))).code == "late"
    assert (await pressed(stage, control.skip_step, on_pause(task))).code == "late"


async def test_what_is_said_after_a_failure_changes_what_is_left(stage: Scene):
    task = await broken(stage, write("b.md"))
    stage.planner.script = [proposes(look("a.md"), write("b.md", step="s2"))]
    assert (await pressed(stage, control.resume, on_pause(task, text="leave a.md, just look"))).ok
    task = await only(stage)
    assert [step.id for step in steps(task)] == ["s3", "s2"]
    (asked,) = await stage.ledger.pending(TEAM)  # it was approved as what follows the step that is gone
    assert (await stage.confirm(asked)).ok
    await stage.play()
    task = await only(stage)
    assert (task.state, wrote(stage)) == (S.SATISFACTION, ["a.md", "b.md"])


async def test_replanning_a_pause_from_its_plan(stage: Scene):
    task = await broken(stage, write("b.md"))
    stage.planner.script = [proposes(write("c.md"))]
    assert (await pressed(stage, flow.replan, on_plan(task, text="c.md"))).ok
    task = await only(stage)
    assert task.state is S.PLAN_REVIEW
    await approved(stage, task)
    assert wrote(stage) == ["a.md", "c.md"]


async def paused_before_a_card(stage: Scene):
    """A plan that pauses while the card of its first step waits, and that step's action."""
    task = await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    action = await waiting(stage)
    assert (await control.pause(stage.world, on_plan(task))).ok
    await stage.play()
    task = await only(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.WISH)
    return task, action


async def test_a_card_of_a_plan_that_is_made_anew_is_withdrawn(both: Scene):
    task, action = await paused_before_a_card(both)
    first, second = steps(task)
    both.planner.script = [proposes(keep(first), keep(second))]
    assert (await pressed(both, flow.replan, on_plan(task, text="be brief"))).ok
    assert (await both.now(action.id)).state is State.CANCELLED
    assert not (await both.confirm(action)).ok
    await approved(both, await only(both))
    await confirmed(both)
    assert wrote(both) == ["a.md", "b.md"]


async def test_a_plan_is_not_made_anew_while_one_of_its_steps_runs(both: Scene):
    """It was listed as if it had not begun, and *Approve all* ran it a second time."""
    task, action = await paused_before_a_card(both)
    both.desk.gate = asyncio.Event()
    assert (await both.confirm(action)).ok
    work = asyncio.create_task(both.play())
    await asyncio.wait_for(both.desk.entered.wait(), 30)
    assert (await flow.replan(both.world, on_plan(task, text="be brief"))).code == "busy"
    await finished(both, work)
    task = await only(both)
    assert (task.state, states(task), wrote(both)) == (S.PAUSED, [DONE, WAITING], ["a.md"])
    _, left = steps(task)
    both.planner.script = [proposes(keep(left))]
    assert (await pressed(both, flow.replan, on_plan(task, text="be brief"))).ok
    await approved(both, await only(both))
    assert wrote(both) == ["a.md", "b.md"]


@pytest.mark.parametrize("became", ["well", "breaks the line"])
async def test_a_plan_is_not_made_anew_before_it_says_what_became_of_its_step(stage: Scene, became: str):
    task, action = await paused_before_a_card(stage)
    stage.desk.behave = became
    assert (await stage.confirm(action)).ok
    await execute.execute(stage.world, action.id)  # and no run has told the task of it yet
    unknown = (await stage.now(action.id)).state is State.UNKNOWN
    assert unknown == (became != "well")
    said = await pressed(stage, flow.replan, on_plan(task, text="be brief"))
    assert said.text == (step_action.STEP_UNKNOWN if unknown else step_action.STEP_SUCCEEDED)
    assert await only(stage) != task
    assert wrote(stage) == ["a.md"]


@pytest.mark.parametrize("became", ["unknown", "rejected"])
async def test_a_step_that_is_planned_a_second_time_asks_for_itself(both: Scene, became: str):
    """Of unknown outcome, or run and rejected, it ran again by *Approve all*, without a card of its own."""
    if became == "rejected":
        reviewing(both, Phase.AFTER, "desk.write")
    blind = Recipe(
        cls=CallClass.WRITE, summary="Write {args.path}", verb="Write"
    )  # no look shows what it did
    both.desk.specs_now["write"] = replace(both.desk.specs_now["write"], recipe=blind)
    both.desk.behave = "breaks the line" if became == "unknown" else "well"
    task = await approved(both, await planned(both, write("a.md"), write("b.md")))
    both.desk.behave = "well"
    if became == "rejected":
        assert (await pressed(both, step_review.reject_output, on_pause(task))).ok
        task = await only(both)
    assert (task.state, wrote(both)) == (S.PAUSED, ["a.md"])
    first, second = steps(task)
    both.planner.script = [proposes(keep(first), keep(second))]
    assert (await pressed(both, flow.replan, on_plan(task, text="be brief"))).ok
    task = await approved(both, await only(both))
    assert (states(task), wrote(both)) == ([ASKED, WAITING], ["a.md"])
    assert (await waiting(both)).step == first.id


async def test_a_plan_that_is_stopped_names_its_step_that_ran_before_or_may_have(stage: Scene):
    """It said that none had begun, where one had changed a file."""
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.planner.script = [proposes(*map(keep, steps(task)))]
    assert (await pressed(stage, flow.replan, on_plan(task, text="be brief"))).ok
    assert (await pressed(stage, control.stop, on_plan(await only(stage)))).ok
    told = "0 of 2 steps done, 1 not begun, step 1 ran before, or may have."
    assert ((await only(stage)).result, wrote(stage)) == (told, ["a.md"])


async def test_a_step_that_failed_begins_anew_where_the_planner_makes_no_other_plan(stage: Scene):
    """It was left as it was, and *Approve all* then ended the plan: nothing comes after a step that failed."""
    task = await broken(stage, write("b.md"))
    stage.planner.script = [Say("I do not know")]
    assert (await pressed(stage, flow.replan, on_plan(task, text="be brief"))).ok
    assert stage.texts[-1] == AS_IT_WAS
    await approved(stage, await only(stage))
    await confirmed(stage)
    assert (states(await only(stage)), wrote(stage)) == ([DONE, DONE], ["a.md", "a.md", "b.md"])


async def test_a_plan_that_stays_as_it_was_says_what_was_done_where_its_step_waited(stage: Scene):
    """The step that waited took other arguments, while its card did what it had shown before."""
    task, action = await paused_before_a_card(stage)
    stage.planner.script = [Say("I do not know")]
    assert (await pressed(stage, flow.replan, on_plan(task, text="be brief"))).ok
    other = StepChange("s1", 1, ask=True, args={"path": "z.md", "content": "new"})
    assert (await pressed(stage, flow.modify, on_plan(await only(stage)), [other])).ok
    await approved(stage, await only(stage))
    assert not (await stage.confirm(action)).ok
    task = await confirmed(stage)
    assert ([step.args["path"] for step in steps(task)], wrote(stage)) == (["z.md", "b.md"], ["z.md", "b.md"])


async def test_a_step_that_failed_begins_anew_also_where_no_plan_is_to_be_approved(stage: Scene):
    stage.desk.behave = "says no"
    task = await planned(stage, write("a.md"), write("b.md"), plan_approval=False)
    await confirmed(stage)
    stage.desk.behave = "well"
    stage.planner.script = [Say("I do not know")]
    assert (await pressed(stage, flow.replan, on_plan(await only(stage), text="be brief"))).ok
    task = await only(stage)
    assert (task.state, task.why, states(task)) == (S.PAUSED, PauseReason.WISH, [WAITING, WAITING])
    assert (await pressed(stage, control.resume, on_pause(task))).ok
    assert (await waiting(stage)).step == "s1"


@pytest.mark.parametrize("left_out", ["skip", "words", "replan"])
async def test_a_call_of_unknown_outcome_that_was_left_out_asks_for_itself_when_it_comes_back(
    stage: Scene, left_out: str
):
    task = await planned(stage, write("a.md"), write("b.md", ask=True))
    stage.desk.behave = "breaks the line"
    task = await approved(stage, task)
    stage.desk.behave = "well"
    stage.planner.script += [] if left_out == "skip" else [proposes(keep(steps(task)[1]))]
    words = "leave a.md for now"
    if left_out == "skip":
        assert (await pressed(stage, control.skip_step, on_pause(task))).ok
    elif left_out == "words":
        assert (await pressed(stage, control.resume, on_pause(task, text=words))).ok
    else:
        assert (await pressed(stage, flow.replan, on_plan(task, text=words))).ok
    if (await only(stage)).state is S.RUNNING:
        assert (await pressed(stage, control.pause, on_plan(await only(stage)))).ok
    task = await only(stage)
    stage.planner.script[:] = [
        proposes(write("./a.md"), *[keep(s) for s in steps(task) if not s.is_finished])
    ]
    assert (await pressed(stage, flow.replan, on_plan(task, text="a.md, too"))).ok
    assert (await pressed(stage, flow.approve_all, on_plan(await only(stage)))).ok
    assert wrote(stage) == ["a.md"]
    assert (await waiting(stage)).state is State.PREPARED


@pytest.mark.parametrize("how", ["for a step that waits", "the other way round", "by a person"])
async def test_a_call_of_unknown_outcome_that_another_step_takes_over_asks_for_itself(stage: Scene, how: str):
    task = await planned(stage, write("a.md"), write("b.md"))
    stage.desk.behave = "breaks the line"
    task = await approved(stage, task)
    stage.desk.behave = "well"
    first, second = (step.id for step in steps(task))
    again = replace(write("a.md"), step=second)
    proposed = {
        "for a step that waits": [again],
        "the other way round": [replace(write("b.md"), step=first), again],
        "by a person": [keep(steps(task)[1])],
    }
    stage.planner.script[:] = [proposes(*proposed[how])]
    assert (await pressed(stage, flow.replan, on_plan(task, text="again"))).ok
    if how == "by a person":
        other = StepChange(second, 1, args={"path": "a.md", "content": "new"})
        assert (await pressed(stage, flow.modify, on_plan(await only(stage)), [other])).ok
    assert (await pressed(stage, flow.approve_all, on_plan(await only(stage)))).ok
    while b"a.md" not in (await waiting(stage)).args:
        await confirmed(stage)
    assert wrote(stage).count("a.md") == 1


@pytest.mark.parametrize("how", ["skip", "plan anew"])
async def test_a_call_of_unknown_outcome_that_stands_in_the_plan_twice_asks_for_itself(
    stage: Scene, how: str
):
    task = await planned(stage, write("a.md"), write("a.md"), write("b.md"))
    stage.desk.behave = "breaks the line"
    task = await approved(stage, task)
    stage.desk.behave = "well"
    if how == "skip":
        assert (await pressed(stage, control.skip_step, on_pause(task))).ok
    else:
        stage.planner.script[:] = [proposes(*map(keep, steps(task)[1:]))]
        assert (await pressed(stage, flow.replan, on_plan(task, text="go on"))).ok
        assert (await pressed(stage, flow.approve_all, on_plan(await only(stage)))).ok
    assert (wrote(stage), (await waiting(stage)).step) == (["a.md"], steps(task)[1].id)
    await confirmed(stage)
    assert wrote(stage) == ["a.md", "a.md", "b.md"]


async def test_a_call_of_unknown_outcome_shares_no_card_when_it_comes_back(stage: Scene):
    """Confirm all made it a second time."""
    stage.planner.follows = True
    first, other, third = (
        Call("desk", "write", {"path": p, "content": "new"}) for p in ("a.md", "b.md", "c.md")
    )
    stage.planner.script += [Propose((first,)), Propose((first, other, third)), Say("ok")]
    await stage.say("write it")
    action = await waiting(stage)
    stage.desk.behave = "breaks the line"
    await confirmed(stage, action)
    stage.desk.behave = "well"
    again = await stage.ledger.pending(TEAM)
    assert ({one.group for one in again}, len(again)) == ({""}, 3)


@pytest.mark.parametrize("path", ["a.md", "./a.md"])
@pytest.mark.parametrize("how", ["at once", "after feedback", "its result was rejected"])
async def test_a_simple_call_that_ran_or_may_have_asks_for_itself_in_the_plan_after_it(
    stage: Scene, path: str, how: str
):
    """The request became a plan with the same call, and Approve all covered it."""
    stage.planner.follows = True
    if how == "its result was rejected":
        review = Review("r", Phase.AFTER, ("desk.write",))
        stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=(review,)))
    says = [Say("I do not know.")] if how == "after feedback" else []
    call = Call("desk", "write", {"path": "a.md", "content": "new"})
    stage.planner.script += [Propose((call,)), *says, proposes(write(path), write("b.md", ask=True))]
    await stage.say("write it")
    action = await waiting(stage)
    stage.desk.behave = "breaks the line" if "rejected" not in how else "well"
    await confirmed(stage, action)
    stage.desk.behave = "well"
    task = await only(stage)
    if how == "after feedback":
        press = replace(on_pause(task, text="b.md is missing"), ref=Ref(task.id, task.ends, "0"))
        assert (await pressed(stage, feedback.needs_changes, press)).ok
    elif how == "its result was rejected":
        again = stage.press(await stage.now(action.id), ANN, reason="not like that")
        assert (await pressed(stage, result_review.reject, again)).ok
    assert (await pressed(stage, flow.approve_all, on_plan(await only(stage)))).ok
    assert (wrote(stage), b"a.md" in (await waiting(stage)).args) == (["a.md"], True)


async def test_an_instruction_and_a_stop_at_once(both: Scene):
    task = await approved(both, await planned(both, write("a.md", ask=True)))
    said = Incoming("k1", both.session, ANN, "hurry up", "4100000000.0", False)
    await asyncio.gather(
        steer.handle_thread_message(both.world, said), control.stop(both.world, on_plan(task))
    )
    await both.play()
    assert (await only(both)).state is S.STOPPED_BY_USER
    assert await both.ledger.pending(TEAM) == ()
