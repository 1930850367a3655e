"""A plan runs step by step: results flow on, failures pause and explain, steering is taken in between steps."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gate.actions import claim_click, edit, expiry, reissue
from gate.actions.button_press import Press
from gate.rules.action import CallClass
from gate.rules.action_states import State
from gate.rules.ids import derive_id
from gate.rules.planner_port import Call, Done, Incoming, Mode, PlannerReply, ProposedStep, Say
from gate.rules.policy import Rule
from gate.rules.ports import Unavailable
from gate.rules.task import PauseReason, StepState
from gate.rules.task_states import TaskState as S
from gate.rules.tool import Answer
from gate.tasks import control, inbox, task_runner
from gate.tasks import plan as flow
from tests.gate.gate_setup import ANN, CHANNEL, TEAM, Scene
from tests.gate.plan_setup import (
    approved,
    call,
    confirmed,
    keep,
    look,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    proposes,
    settled,
    shred,
    states,
    steps,
    waiting,
    write,
    wrote,
)
from tests.tasks import having
from views.task_progress import headline
from views.task_wording import mark

DONE, ASKED, FAILED, WAITING = StepState.DONE, StepState.ASKED, StepState.FAILED, StepState.WAITING


def copies(source: str, path: str) -> ProposedStep:
    """Writes what an earlier step has read."""
    return ProposedStep(
        Call("desk", "write", {"path": path}), refs={"content": f"{{steps.{source}.content}}"}
    )


# Going well


async def test_a_plan_runs_to_its_end_and_asks_once_whether_it_was_right(both: Scene):
    both.desk.notes["a.md"] = "old"
    task = await approved(both, await planned(both, look("a.md"), write("a.md"), write("b.md")))
    assert (task.state, task.ends, task.changed) == (S.SATISFACTION, 1, True)
    assert states(task) == [DONE, DONE, DONE]
    assert wrote(both) == ["a.md", "b.md"]
    assert task.result == "3 of 3 steps done: Looked a.md; Wrote a.md; Wrote b.md."


async def test_later_steps_use_what_earlier_ones_gave(stage: Scene):
    stage.desk.notes["a.md"] = "the text"
    task = await approved(stage, await planned(stage, look("a.md"), copies("1", "b.md")))
    assert wrote(stage) == []
    action = await waiting(stage)  # it was not known when the plan was approved, so it asks
    assert b'"content":"the text"' in action.args
    task = await confirmed(stage)
    assert stage.desk.notes["b.md"] == "the text"
    assert task.state is S.SATISFACTION


async def test_a_result_of_a_write_can_be_used_too(stage: Scene):
    uses = ProposedStep(Call("desk", "write", {"path": "b.md"}), refs={"content": "sha {steps.1.sha}"})
    task = await approved(stage, await planned(stage, write("a.md"), uses))
    task = await confirmed(stage)
    assert stage.desk.notes["b.md"].startswith("sha ")
    assert task.state is S.SATISFACTION


# promise: GATE-07
async def test_what_destroys_asks_in_its_turn_and_needs_its_phrase(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    task = await approved(stage, await planned(stage, shred("a.md"), write("b.md")))
    assert wrote(stage) == []
    action = await waiting(stage)
    assert action.phrase
    assert (await stage.confirm(action)).code == "needs_phrase"
    task = await confirmed(stage)
    assert (task.why, wrote(stage)) == (
        PauseReason.REVIEW,
        ["a.md"],
    )  # and is looked at before anything follows
    await pressed(stage, control.resume, on_pause(task))
    assert wrote(stage) == ["a.md", "b.md"]
    assert (await only(stage)).state is S.SATISFACTION


async def test_what_changed_since_the_approval_asks(stage: Scene):
    stage.desk.notes["b.md"] = "old"
    task = await planned(stage, write("a.md"), write("b.md"))
    stage.desk.notes["b.md"] = "somebody else was here"
    task = await approved(stage, task)
    assert wrote(stage) == ["a.md"]
    action = await waiting(stage)
    assert "-somebody else was here" in action.preview.diff
    assert action.proposal.source.again == "b.md changed since you approved the plan, so please look again."
    assert states(task) == [DONE, ASKED]
    assert headline(task, task.plan) == "Waiting for a decision on step 2 of 2"
    assert mark(steps(task)[1])[1] == "waits for a decision"
    await confirmed(stage)
    assert stage.desk.notes["b.md"] == "new"


async def test_a_step_that_changes_the_target_of_a_later_one_makes_that_one_ask(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", "one"), write("a.md", "two")))
    assert stage.desk.notes == {"a.md": "one"}
    assert "-one" in (await waiting(stage)).preview.diff


async def test_when_rules_change_after_the_approval_it_asks(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    stage.rule(Rule("slow", ("desk.write",), ttl=100))
    await stage.play()
    assert wrote(stage) == []
    action = await waiting(stage)
    again = "The tool or its rules changed since you approved the plan, so please look again."
    assert (action.step, action.proposal.source.again) == ("s1", again)


async def test_a_consent_of_somebody_else_covers_nothing(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    async with stage.ledger.begin() as tx:
        now = await tx.task(task.id)
        assert now
        assert now.plan
        await tx.update_task(now, plan=replace(now.plan, approved_by="U_BEN"))
    await stage.play()
    assert wrote(stage) == []


# promise: ACT-24
async def test_reads_never_pause(stage: Scene):
    task = await approved(stage, await planned(stage, look("a.md"), look("b.md"), review="both"))
    assert task.state is S.SATISFACTION
    assert not task.changed
    assert task.pauses == 0


async def test_satisfaction_is_asked_only_where_it_is_wanted(stage: Scene):
    task = await approved(stage, await planned(stage, look("a.md"), satisfaction="changes"))
    assert (task.state, task.ends) == (S.DONE, 0)


async def test_an_edited_call_is_what_the_plan_then_tells(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md", ask=True)))
    action = await waiting(stage)
    press = Press(stage.press(action).ref, TEAM, ANN)
    await edit.submit(stage.world, press, {"path": "c.md", "content": "mine"})
    await stage.play()
    task = await confirmed(stage)
    (step,) = steps(task)
    assert (step.args["path"], step.args["content"]) == ("c.md", "mine")
    assert step.preview
    assert step.preview.summary == "Write c.md"


async def test_long_results_are_clipped_and_the_structure_kept_where_it_is_needed(stage: Scene):
    stage.desk.notes["a.md"] = "x" * 30_000
    task = await approved(stage, await planned(stage, look("a.md"), look("a.md"), copies("1", "b.md")))
    first, second, _ = steps(task)
    assert len(first.result["content"]) == 30_000
    assert "content" not in second.result
    assert "sha" in second.result
    assert len(first.text) <= 2000


async def test_a_private_read_is_told_to_its_asker_alone(stage: Scene):
    stage.desk.notes["a.md"] = "secret"
    stage.rule(Rule("quiet", ("desk.look",), private=True))
    task = await approved(stage, await planned(stage, look("a.md")))
    assert "secret" not in steps(task)[0].text
    (note,) = [one for one in stage.wall.notes if one.kind == "read"]
    assert (note.to, "secret" in str(note.body["text"])) == (ANN, True)


async def test_an_action_knows_its_task_and_step(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md")))
    action = await stage.now(steps(task)[0].action)
    assert (action.task, action.step, action.id) == (task.id, "s1", derive_id("step", task.id, "s1", 1))


# Not going well


# promise: ACT-26
async def test_a_failing_step_pauses_and_explains(stage: Scene):
    stage.desk.behave = "says no"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why, task.pauses) == (S.PAUSED, PauseReason.STEP, 1)
    assert task.reason == "Step 1 failed: There is no room on the desk."
    assert states(task) == [FAILED, WAITING]
    assert wrote(stage) == ["a.md"]


async def test_what_never_reached_its_server_pauses(stage: Scene):
    stage.desk.behave = "absent"
    task = await approved(stage, await planned(stage, write("a.md")))
    assert task.why is PauseReason.STEP
    assert "did not run" in task.reason


async def test_what_may_have_run_pauses_and_says_so(stage: Scene):
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why, task.changed) == (S.PAUSED, PauseReason.STEP, True)
    assert "may have run or not" in task.reason
    assert wrote(stage) == ["a.md"]


@pytest.mark.parametrize(("happened", "after"), [(True, DONE), (False, FAILED)])
async def test_what_a_person_settles_is_followed(stage: Scene, happened: bool, after: StepState):
    stage.desk.behave = "breaks the line"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    stage.desk.behave = "well"
    await settled(stage, await stage.now(steps(task)[0].action), happened)
    task = await only(stage)
    assert steps(task)[0].state is after
    assert wrote(stage) == (["a.md", "b.md"] if happened else ["a.md"])
    assert task.state is (S.SATISFACTION if happened else S.PAUSED)
    assert happened or task.reason.startswith("Step 1 failed")


# promise: GATE-08
@pytest.mark.parametrize(
    ("verb", "word"), [(claim_click.cancel, "cancelled"), (claim_click.reject, "rejected")]
)
async def test_a_refused_card_pauses_with_the_reason(stage: Scene, verb, word: str):
    await approved(stage, await planned(stage, write("a.md", ask=True), write("b.md")))
    action = await waiting(stage)
    await verb(stage.world, stage.press(action, reason="not today"))
    await stage.play()
    task = await only(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.STEP)
    assert task.reason == f"<@{ANN}> {word} step 1: not today"
    told = [(FAILED, f"It was {word}: not today"), (WAITING, "")]
    assert [(step.state, step.text) for step in steps(task)] == told
    assert wrote(stage) == []


@pytest.mark.slow
async def test_an_expired_card_pauses_with_ask_again(both: Scene):
    await approved(both, await planned(both, write("a.md", ask=True), write("b.md")))
    old = await waiting(both)
    both.travel(301)
    await both.play(timers=True)
    task = await only(both)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.LAPSED)
    assert task.reason == "Nobody decided on step 1 in time."
    said = await reissue.reissue_by_press(both.world, both.press(await both.now(old.id)))
    assert said.ok
    await both.play()
    fresh = await waiting(both)
    assert (fresh.task, fresh.step, fresh.renews) == (task.id, "s1", old.id)
    assert steps(await only(both))[0].action == fresh.id
    task = await confirmed(both)
    assert wrote(both) == ["a.md", "b.md"]
    assert task.state is S.SATISFACTION


@pytest.mark.slow
async def test_continue_after_an_expiry_asks_again(both: Scene):
    await approved(both, await planned(both, write("a.md", ask=True)))
    both.travel(301)
    await both.play(timers=True)
    assert (await pressed(both, control.resume, on_pause(await only(both)))).ok
    fresh = await waiting(both)
    assert fresh.id == derive_id("step", fresh.task, "s1", 2)
    assert (await confirmed(both)).state is S.SATISFACTION
    assert wrote(both) == ["a.md"]


async def test_an_edited_step_that_is_asked_again_is_what_the_plan_then_tells(stage: Scene):
    stage.desk.notes["b.md"] = "old"
    task = await planned(stage, write("a.md"))
    assert (await flow.step_by_step(stage.world, on_plan(task))).ok
    await stage.play()
    action = await waiting(stage)
    await edit.submit(stage.world, stage.press(action), {"path": "b.md", "content": "y"})
    await stage.play()
    assert (await stage.confirm(await stage.now(action.id))).ok
    stage.desk.notes["b.md"] = "somebody else's"
    await stage.play()
    assert (await stage.confirm(await waiting(stage))).ok
    await stage.play()
    (step,) = steps(await only(stage))
    assert wrote(stage) == ["b.md"]
    assert (step.args["path"], step.preview.summary) == ("b.md", "Write b.md")


async def test_what_drifts_after_the_yes_is_asked_again_and_followed(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    task = await planned(stage, write("a.md"), write("b.md"))
    await flow.approve_all(stage.world, on_plan(task))
    await task_runner.run_task(stage.world, task.id)  # approved, and not carried out yet
    stage.desk.notes["a.md"] = "changed in between"
    await stage.play()
    assert wrote(stage) == []
    action = await waiting(stage)
    assert "-changed in between" in action.preview.diff
    assert action.proposal.source.again == "a.md changed after it was confirmed, so please look again."
    task = await only(stage)
    assert headline(task, task.plan) == "Waiting for a decision on step 1 of 2"
    old = await stage.now(action.renews)
    assert (old.decided_by, old.decision) == ("", "a.md changed after it was confirmed.")
    task = await confirmed(stage)
    assert wrote(stage) == ["a.md", "b.md"]
    assert task.state is S.SATISFACTION


async def test_a_result_that_is_missing_pauses_with_the_reason(stage: Scene):
    uses = ProposedStep(Call("desk", "write", {"path": "b.md"}), refs={"content": "{steps.1.colour}"})
    task = await approved(stage, await planned(stage, look("a.md"), uses))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.STEP)
    assert (
        task.reason == "Step 2 takes its `content` from the result of step 1, and there is no “colour” in it."
    )
    assert wrote(stage) == []


async def test_a_step_that_the_rules_forbid_by_now_pauses(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    stage.rule(Rule("no more", ("desk.write",), deny=True))
    await stage.play()
    task = await only(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.STEP)
    assert "no more" in task.reason


async def test_a_requester_who_may_not_act_any_more_starts_nothing(stage: Scene):
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    stage.directory.people[ANN] = replace(stage.directory.people[ANN], is_deleted=True)
    await stage.play()
    assert (await only(stage)).state is S.PAUSED
    assert wrote(stage) == []


async def test_a_failing_read_pauses(stage: Scene):
    async def broken(server, tool, args, seconds=None, definition=""):
        return Answer("no such note", is_error=True)

    task = await planned(stage, look("a.md"), write("b.md"))
    stage.desk.call = broken
    task = await approved(stage, task)
    assert (task.state, task.reason) == (S.PAUSED, "Step 1 failed: no such note")


async def test_too_many_that_wait_pause_a_step(stage: Scene):
    stage.world = replace(stage.world, limits=replace(stage.world.limits, pending_per_user=1))
    await stage.prepare(path="z.md", content="x")
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md", ask=True)))
    assert wrote(stage) == ["a.md"]  # what was approved does not wait
    assert (task.state, task.why) == (S.PAUSED, PauseReason.STEP)
    assert "already wait" in task.reason


# A look at each result


# promise: TASK-08
@pytest.mark.parametrize("review", ["after_step", "both"])
async def test_each_step_is_looked_at_where_that_is_wanted(stage: Scene, review: str):
    task = await planned(stage, look("z.md"), write("a.md"), write("b.md"), review=review)
    task = await approved(stage, task)
    for number, name in enumerate(("a.md", "b.md"), 1):
        if review == "both":
            task = await confirmed(stage)
        assert (task.state, task.why, task.pauses) == (S.PAUSED, PauseReason.REVIEW, number)
        assert task.reason.startswith(f"Step {number + 1} is done")
        assert wrote(stage)[-1] == name
        assert (await pressed(stage, control.resume, on_pause(task))).ok
        task = await only(stage)
    assert task.state is S.SATISFACTION


# Steering


async def test_an_instruction_is_taken_in_before_the_next_step(stage: Scene):
    task = await approved(stage, await planned(stage, write("z.md", ask=True), write("a.md"), write("b.md")))
    stage.planner.script = [proposes(keep(steps(task)[1]), write("c.md"))]
    await stage.say("c.md instead of b.md", mentioned=False)
    assert any("after the current step" in text for text in stage.texts)
    task = await confirmed(stage)
    assert wrote(stage) == ["z.md", "a.md"]  # the step that stayed is still approved
    action = await waiting(stage)
    assert b"c.md" in action.args  # the new one asks for itself
    assert [step.id for step in steps(task)] == ["s1", "s2", "s4"]
    assert [(one.text, one.used) for one in task.instructions] == [("c.md instead of b.md", "before step 2")]
    brief = stage.planner.briefs[-1]
    assert [one.used for one in brief.instructions] == [""]
    assert [step.id for step in brief.done] == ["s1"]
    assert [step.id for step in brief.left] == ["s2", "s3"]
    assert (await confirmed(stage)).state is S.SATISFACTION


async def test_a_step_that_the_planner_changes_loses_its_approval(stage: Scene):
    task = await approved(stage, await planned(stage, write("z.md", ask=True), write("a.md")))
    stage.planner.script = [proposes(write("a.md", "other", step="s2"))]
    await stage.say("write something else", mentioned=False)
    task = await confirmed(stage)
    assert wrote(stage) == ["z.md"]
    assert steps(task)[1].consent == ""
    assert b"other" in (await waiting(stage)).args


async def test_each_instruction_is_used_once(stage: Scene):
    task = await approved(stage, await planned(stage, write("z.md", ask=True), write("a.md")))
    stage.planner.script = [proposes(keep(steps(task)[1]))]
    await stage.say("be careful", mentioned=False)
    await confirmed(stage)
    assert [turn.mode for turn in stage.planner.seen] == [Mode.PLAN, Mode.PLAN, Mode.ANSWER]
    assert [one.used for one in (await only(stage)).instructions] == ["before step 2"]


async def test_a_planner_that_follows_answers_at_the_end_of_a_plan(stage: Scene):
    stage.planner.answers = [Say("a.md says new, as it should.")]
    task = await approved(stage, await planned(stage, write("a.md"), look("a.md")))
    assert (task.state, task.ends, task.result) == (
        S.SATISFACTION,
        1,
        "2 of 2 steps done: Wrote a.md; Looked a.md.",
    )
    assert task.plan
    assert task.plan.closing == "a.md says new, as it should."
    assert stage.texts == []  # it stands in the last message of the task


async def test_what_is_said_while_it_answers_is_planned_and_not_lost(both: Scene):
    class Interrupted:
        async def reply(self, turn, brief, pending):
            if turn.mode is Mode.ANSWER and not (await only(both)).instructions:
                session, text = both.session, "then write b.md"
                await inbox.receive(
                    both.world, Incoming(f"{TEAM}:{CHANNEL}:9.9", session, ANN, text, "9.9", False)
                )
            return PlannerReply(Say("Written.") if turn.mode is Mode.ANSWER else proposes(write("b.md")))

    task = await planned(both, write("a.md"))
    both.planner.thinks = Interrupted()
    task = await approved(both, task)
    assert task.state is S.PLAN_REVIEW
    assert states(task) == [DONE, WAITING]
    task = await approved(both, task)
    assert task.state is S.SATISFACTION
    assert task.plan
    assert task.plan.closing == "Written."


async def test_nothing_is_paused_while_only_the_answer_is_written(stage: Scene):
    class Pressed:
        async def reply(self, turn, brief, pending):
            said.append(await control.pause(stage.world, on_plan(await only(stage))))
            return PlannerReply(Say("Written."))

    said: list[Any] = []
    task = await planned(stage, write("a.md"))
    stage.planner.thinks = Pressed()
    task = await approved(stage, task)
    assert [(one.ok, one.code) for one in said] == [(False, "no_pause")]
    assert (task.state, task.pauses) == (S.SATISFACTION, 0)


@pytest.mark.slow
async def test_a_plan_whose_answer_was_lost_is_answered_by_the_next_run(both: Scene):
    class Lost:
        async def reply(self, turn, brief, pending):
            raise Unavailable("the process died")

    task = await planned(both, write("a.md"))
    both.planner.thinks = Lost()
    with pytest.raises(Unavailable):
        await approved(both, task)
    assert (await only(both)).state is S.RUNNING
    both.planner.thinks, both.planner.answers = None, [Say("Written.")]
    both.done.clear()
    await both.play()
    task = await only(both)
    assert (task.state, task.plan and task.plan.closing) == (S.SATISFACTION, "Written.")


async def test_after_the_last_step_there_is_still_time_to_say_something(stage: Scene):
    await approved(stage, await planned(stage, write("z.md", ask=True)))
    stage.planner.script = [proposes(write("a.md"))]
    await stage.say("then write a.md", mentioned=False)
    task = await confirmed(stage)
    assert task.state is S.PLAN_REVIEW
    assert [step.state for step in steps(task)] == [DONE, WAITING]
    task = await approved(stage, task)
    assert (task.state, wrote(stage)) == (S.SATISFACTION, ["z.md", "a.md"])


async def test_a_planner_with_nothing_left_to_do_ends_it(stage: Scene):
    await approved(stage, await planned(stage, write("z.md", ask=True), write("a.md")))
    stage.planner.script = [proposes()]
    await stage.say("that is enough", mentioned=False)
    task = await confirmed(stage)
    assert (task.state, wrote(stage)) == (S.SATISFACTION, ["z.md"])


@pytest.mark.parametrize("reply", [Say("What?"), Done()])
async def test_what_cannot_be_worked_in_pauses_instead_of_going_on_unheard(stage: Scene, reply):
    task = await approved(stage, await planned(stage, write("z.md", ask=True), write("a.md")))
    stage.planner.script = [reply]
    await stage.say("leave a.md alone", mentioned=False)
    task = await confirmed(stage)
    assert wrote(stage) == ["z.md"]
    assert (task.state, task.why) == (S.PAUSED, PauseReason.WISH)
    assert "leave a.md alone" in task.reason
    assert (await pressed(stage, control.resume, on_pause(task))).ok
    assert wrote(stage) == ["z.md", "a.md"]


async def test_with_a_pending_card_an_instruction_waits_for_its_decision(stage: Scene):
    await approved(stage, await planned(stage, write("a.md", ask=True)))
    await stage.say("hurry", mentioned=False)
    assert len(stage.planner.seen) == 1
    assert [one.used for one in (await only(stage)).instructions] == [""]


async def test_what_needs_changing_afterwards_keeps_what_was_done(stage: Scene):
    task = await approved(stage, await planned(stage, write("a.md")))
    stage.planner.script = [proposes(write("b.md"))]
    await stage.say("b.md as well", mentioned=False)
    task = await only(stage)
    assert (task.state, task.attempts) == (S.PLAN_REVIEW, 2)
    assert [(step.id, step.state) for step in steps(task)] == [("s1", DONE), ("s2", WAITING)]
    task = await approved(stage, task)
    assert (task.state, task.ends, wrote(stage)) == (S.SATISFACTION, 2, ["a.md", "b.md"])


# Races and crashes


async def test_two_runs_at_once_start_each_step_once(both: Scene):
    task = await planned(both, write("a.md"), look("a.md"), write("b.md"))
    await flow.approve_all(both.world, on_plan(task))
    for _ in range(6):
        await asyncio.gather(*(task_runner.run_task(both.world, task.id) for _ in range(3)))
        await both.play()
    assert wrote(both) == ["a.md", "b.md"]
    assert (await only(both)).state is S.SATISFACTION
    for number in (1, 3):
        action = await both.now(derive_id("step", task.id, f"s{number}", 1))
        assert action.state is State.SUCCEEDED


class Crash(BaseException):
    """The process ends here."""


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("at", range(1, 14, 2))
async def test_a_run_that_dies_anywhere_goes_on_where_it_was(stage: Scene, at: int):
    """The process ends at the `at`-th transaction of a plan's life, before it commits; then another one goes on."""
    task = await planned(stage, write("a.md"), look("a.md"), copies("2", "b.md"))
    await flow.approve_all(stage.world, on_plan(task))
    begin, count = stage.ledger.begin, 0

    class Dying:
        def __init__(self, inner):
            self.inner = inner

        async def __aenter__(self):
            return await self.inner.__aenter__()

        async def __aexit__(self, *error):
            nonlocal count
            count += 1
            if count == at and error[0] is None:
                await self.inner.__aexit__(Crash, Crash(), None)
                raise Crash
            return await self.inner.__aexit__(*error)

    stage.ledger.begin = lambda seconds=None: Dying(begin(seconds))
    for _ in range(4):
        try:
            await stage.play()
            for action in await stage.ledger.pending(TEAM):
                await stage.confirm(action)
        except Crash:
            stage.done.clear()  # what was under way is done again, and much that was done
    first = await stage.now(steps(await only(stage))[0].action)
    if (
        first.state is State.EXECUTING
    ):  # it died between the call and its record: nobody knows, until a person says so
        stage.travel(31)
        await expiry.overdue(stage.world)
        await stage.play()
        assert (await only(stage)).state is S.PAUSED
        await settled(stage, await stage.now(first.id), True)
        await confirmed(stage)
    assert wrote(stage) == ["a.md", "b.md"]
    assert stage.desk.notes == {"a.md": "new", "b.md": "new"}
    assert (await only(stage)).state is S.SATISFACTION


async def test_every_run_may_be_repeated(both: Scene):
    task = await planned(both, write("a.md"), look("a.md"), write("b.md", ask=True))
    await approved(both, task)
    both.done.clear()
    await both.play()
    await confirmed(both)
    both.done.clear()
    await both.play()
    assert wrote(both) == ["a.md", "b.md"]
    task = await only(both)
    assert (task.state, task.ends) == (S.SATISFACTION, 1)
    assert [turn.mode for turn in both.planner.seen] == [Mode.PLAN, Mode.ANSWER]


async def test_an_action_that_is_there_without_its_step_is_taken_up(stage: Scene):
    task = await planned(stage, write("a.md", ask=True))
    key = derive_id("step", task.id, "s1", 1)
    await stage.prepare(key=key, path="a.md", content="new")
    task = await approved(stage, task)
    assert (steps(task)[0].action, steps(task)[0].state) == (key, ASKED)


async def test_the_record_tells_the_whole_story(both: Scene):
    await approved(both, await planned(both, look("a.md"), write("a.md")))
    lines = await both.ledger.audit_tail(team=TEAM, limit=1000)
    events = [line.entry.event for line in reversed(lines)]
    wanted = [
        "task_opened", "task_plan", "task_present", "step_approved", "task_approve", "read", "task_step_done",
        "proposed", "confirmed", "task_step_begun", "started", "succeeded", "task_step_done", "task_finish",
    ]  # fmt: skip
    assert [event for event in events if event in wanted] == wanted


async def test_an_unreviewed_tool_always_asks(stage: Scene):
    task = await approved(stage, await planned(stage, call("poke", at="x")))
    assert steps(task)[0].cls is CallClass.UNKNOWN
    assert wrote(stage) == []
    assert (await waiting(stage)).tool == "poke"


async def test_a_tampered_consent_covers_nothing(stage: Scene):
    """Somebody with the database in hand changes what is to be written, and leaves the consent."""
    task = await planned(stage, write("a.md"))
    await flow.approve_all(stage.world, on_plan(task))
    async with stage.ledger.begin() as tx:
        now = await tx.task(task.id)
        assert now
        assert now.plan
        evil = having(now.plan.steps[0], args={"path": "a.md", "content": "evil"})
        await tx.update_task(now, plan=replace(now.plan, steps=(evil,)))
    await stage.play()
    assert wrote(stage) == []
    assert b"evil" in (await waiting(stage)).args
