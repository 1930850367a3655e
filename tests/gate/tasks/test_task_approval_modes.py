"""After a step: how sure it is decides who lets the task go on; the timer of a summary fires once, and only alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace

import pytest
from sqlalchemy import select

from gate.actions import expiry
from gate.rules.action import Action
from gate.rules.action_states import Event, State
from gate.rules.confidence import Judgement, judgement
from gate.rules.planner_port import Call, ProposedStep
from gate.rules.policy import Rule
from gate.rules.task import PauseReason, Step, StepState, StopRequest, Task
from gate.rules.task_states import TaskState as S
from gate.rules.tool import Answer, Expect, Trust
from gate.tasks import control, step_check
from gate.tasks import plan as flow
from storage.columns import unpacked
from storage.task_tables import events
from tests.gate.gate_setup import ANN, BEN, GIL, TEAM, Scene, waits_over
from tests.gate.plan_setup import (
    approved,
    confirmed,
    entries,
    look,
    on_pause,
    on_plan,
    only,
    planned,
    pressed,
    shred,
    states,
    steps,
    write,
    wrote,
)
from tools.recipes.validation import RuleJudge

DONE, FAILED, WAITING = StepState.DONE, StepState.FAILED, StepState.WAITING
SECONDS = 10.0


def slowly(stage: Scene) -> None:
    """A summary is shown for its ten seconds, as in life; `stage.play(timers=True)` lets them pass."""
    stage.world = replace(stage.world, limits=replace(stage.world.limits, proceed=SECONDS))


async def known(stage: Scene) -> None:
    """The desk's `write` has gone well before, in this team."""
    action = await stage.prepare(path="before.md", content="x")
    await stage.confirm(action)
    await stage.play()
    stage.desk.calls.clear()


async def shown(stage: Scene) -> Task:
    """A plan of two writes whose first has just been done for the first time ever, and cannot be read back."""
    slowly(stage)
    stage.desk.read_nothing_back()
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.SUMMARY)
    return task


async def left(stage: Scene) -> list[float]:
    """The seconds after which summaries go on by themselves."""
    return [one.left for one in await waits_over(stage.ledger, SECONDS, PauseReason.SUMMARY)]


class Judging:
    """A judge of results that says what it is told to."""

    def __init__(self, judgement: Judgement | None) -> None:
        self.judgement = judgement
        self.seen: list[tuple[str, str]] = []

    async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
        self.seen.append((step.id, action.id))
        return self.judgement


def judged(stage: Scene, *args: object) -> Judging:
    judge = Judging(Judgement(*args))  # type: ignore[arg-type]
    stage.world = replace(stage.world, judge=judge)
    return judge


# The four bands


# promise: GATE-03, GATE-15
async def test_a_step_of_a_known_kind_that_is_verified_lets_the_task_go_on(stage: Scene):
    slowly(stage)
    await known(stage)
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.pauses, await left(stage)) == (S.SATISFACTION, 0, [])
    assert [step.confidence.score for step in steps(task) if step.confidence] == [1.0, 1.0]
    assert any("Confidence 1.00" in entry.reason for entry in await entries(stage, "task_step_done"))


@pytest.mark.parametrize(("before", "known"), [({}, False), ({"at": "b"}, True)])
async def test_one_success_of_a_tool_with_other_arguments_is_no_experience_with_a_call(
    stage: Scene, before: Mapping[str, str], known: bool
):
    slowly(stage)
    await stage.confirm(await stage.prepare("poke", **before))
    await stage.play()
    poke = ProposedStep(Call("desk", "poke", {"at": "c"}))
    await approved(stage, await planned(stage, poke, write("b.md")))
    task = await confirmed(stage)
    first, _ = steps(task)
    assert first.confidence
    assert (first.confidence.score, task.state) == ((1.0, S.SATISFACTION) if known else (0.79, S.PAUSED))


# promise: GATE-09, GATE-16
async def test_a_step_of_a_new_kind_is_shown_and_goes_on_when_nobody_holds_it(stage: Scene):
    task = await shown(stage)
    first, second = steps(task)
    assert first.confidence
    assert (first.confidence.score, first.shown, first.look.seconds) == (0.79, 1, SECONDS)
    assert second.state is WAITING
    assert "No step of this kind is known" in task.reason
    assert [one.id for one in await waits_over(stage.ledger, SECONDS, PauseReason.SUMMARY)] == [task.id]
    assert await waits_over(stage.ledger, SECONDS / 2, PauseReason.SUMMARY) == []
    await stage.play(timers=True)
    task = await only(stage)
    assert wrote(stage) == ["a.md", "b.md"]
    assert task.state in (S.SATISFACTION, S.DONE)  # the day of the satisfaction card has passed as well
    assert steps(task)[0].passed == "nobody"


async def test_a_step_of_a_new_kind_that_was_approved_and_reads_back_lets_the_task_go_on(stage: Scene):
    slowly(stage)
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.pauses, await left(stage)) == (S.SATISFACTION, 0, [])
    assert [step.confidence.score for step in steps(task) if step.confidence] == [0.79, 1.0]
    assert any(
        "read back as it should be" in entry.reason for entry in await entries(stage, "task_step_done")
    )


async def test_a_step_of_a_new_kind_that_was_not_approved_with_its_plan_is_shown(stage: Scene):
    slowly(stage)
    task = await planned(stage, write("a.md"), write("b.md"))
    await pressed(stage, flow.step_by_step, on_plan(task))
    task = await confirmed(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.SUMMARY)


async def test_going_on_alone_is_on_the_record_as_decided_by_nobody(stage: Scene):
    await shown(stage)
    await stage.play(timers=True)
    (entry,) = await entries(stage, "task_auto_proceeded")
    assert (entry.actor, entry.user_confirmed) == ("system", False)
    assert entry.reason == "no person decided: nobody pressed Hold within 10 s"


async def test_what_destroys_is_looked_at_by_a_person_also_in_auto(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    await approved(stage, await planned(stage, shred("a.md"), write("b.md")))
    task = await confirmed(stage)
    assert (task.state, task.why, states(task)) == (S.PAUSED, PauseReason.REVIEW, [DONE, WAITING])
    confidence = steps(task)[0].confidence
    assert confidence
    assert confidence.score < 0.5
    assert "It destroyed something" in task.reason
    assert await left(stage) == []
    await pressed(stage, control.resume, on_pause(task))
    assert wrote(stage) == ["a.md", "b.md"]


async def test_what_is_always_gated_never_gets_a_timer(stage: Scene):
    slowly(stage)
    stage.rule(Rule("mind this", ("desk.write",), always=True))
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    task = await confirmed(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    await stage.play(timers=True)
    assert wrote(stage) == ["a.md"]


async def test_after_the_last_step_nothing_is_held_back_and_its_own_question_follows(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    slowly(stage)
    await approved(stage, await planned(stage, shred("a.md")))
    task = await confirmed(stage)
    assert (task.state, task.pauses) == (S.SATISFACTION, 0)


async def test_where_no_question_follows_the_last_destruction_is_looked_at(stage: Scene):
    stage.desk.notes["a.md"] = "old"
    await approved(stage, await planned(stage, shred("a.md"), satisfaction="never"))
    task = await confirmed(stage)
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    await pressed(stage, control.resume, on_pause(task))
    assert (await only(stage)).state is S.DONE


# promise: GATE-18
async def test_a_result_that_admits_failure_aborts_its_step_with_diagnostics(stage: Scene):
    def refuses(tool: str, given: dict[str, object]) -> Answer:
        return Answer("", {"ok": False, "sha": "absent", "why": "no room"})

    await known(stage)
    stage.desk._change = refuses  # type: ignore[method-assign]
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why, states(task)) == (S.PAUSED, PauseReason.DOUBT, [FAILED, WAITING])
    assert "do not trust its result" in task.reason
    assert "Its result says that it failed: “ok: false”" in task.reason
    assert task.changed
    assert steps(task)[0].result is None
    await stage.play(timers=True)
    assert (await only(stage)).why is PauseReason.DOUBT


async def doubted(stage: Scene) -> Task:
    await known(stage)
    judged(stage, 0.1, "nonsense", True)
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.DOUBT)
    stage.world = replace(stage.world, judge=None)
    return task


async def test_an_aborted_step_can_be_tried_again_as_another_action_that_asks(stage: Scene):
    task = await doubted(stage)
    before = steps(task)[0].action
    assert (await pressed(stage, control.retry, on_pause(task))).ok
    step = steps(await only(stage))[0]
    assert (step.state, step.attempt, step.confidence, step.consent) == (StepState.ASKED, 2, None, "")
    assert step.action != before
    task = await confirmed(stage)
    confidence = steps(task)[0].confidence
    assert confidence
    assert confidence.score == 0.9048
    assert "it took 1 more try" in confidence.reasons


async def test_an_aborted_step_can_be_left_out_and_what_it_did_taken_back(stage: Scene):
    task = await doubted(stage)
    await pressed(stage, control.skip_step, on_pause(task))
    task = await only(stage)
    assert (states(task), wrote(stage)) == ([StepState.SKIPPED, DONE], ["a.md", "b.md"])
    assert [step.ran for step in steps(task)] == [True, True]


async def test_a_task_can_be_ended_because_of_an_aborted_step(stage: Scene):
    task = await doubted(stage)
    await pressed(stage, control.abort, on_pause(task))
    task = await only(stage)
    assert (task.state, wrote(stage)) == (S.STOPPED_BY_USER, ["a.md"])


# Verification


async def test_a_target_that_is_not_as_it_should_be_stops_the_task(stage: Scene):
    await known(stage)
    well = stage.desk._change

    def spoils(tool: str, given: dict[str, object]) -> Answer:
        told = well(tool, given)
        stage.desk.notes[str(given["path"])] = "somebody else was faster"
        return told

    stage.desk._change = spoils  # type: ignore[method-assign]
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    assert "It is not so that its target is as it should be now (another sha)" in task.reason


async def test_a_result_without_the_promised_form_stops_the_task(stage: Scene):
    await known(stage)
    stage.desk.specs_now["write"] = replace(
        stage.desk.specs_now["write"], output_schema={"type": "object", "required": ["receipt"]}
    )
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.state, task.why) == (S.PAUSED, PauseReason.REVIEW)
    assert "its result has the form that the tool promises" in task.reason


async def test_a_judge_counts_as_the_second_tier(stage: Scene):
    await known(stage)
    judge = judged(stage, 0.6, "it looks odd")
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert [step for step, _ in judge.seen] == ["s1", "s2"]
    assert [step.confidence.score for step in steps(task) if step.confidence] == [0.88, 0.88]


# promise: GATE-17
async def test_a_doubtful_judgement_stops_the_task(stage: Scene):
    await known(stage)
    judged(stage, 0.3, "it looks odd")
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.why, wrote(stage)) == (PauseReason.REVIEW, ["a.md"])
    assert "judged doubtful: it looks odd" in task.reason


QUOTING = "it says “the secret of Troy”"


@pytest.mark.parametrize(
    ("verdict", "noted"),
    [
        (
            "doubtful",
            "Step 1 is done. A person is to look at what it gave. "
            "Confidence 0.49; its result was judged doubtful by the model.",
        ),
        (
            "failed",
            "Step 1 ran. What it gave is not trusted, and a person is to decide. "
            "Confidence 0.19; its result was judged failed by the model.",
        ),
    ],
)
async def test_who_judged_and_how_is_on_the_record_without_the_words_of_the_result(
    stage: Scene, verdict: str, noted: str
):
    await known(stage)
    found = judgement(verdict, QUOTING, "the model")
    stage.world = replace(stage.world, judge=Judging(found))
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert QUOTING in task.reason  # the card says it all
    (entry,) = await entries(stage, "task_pause")
    assert entry.reason == noted
    lines = await stage.ledger.audit_tail(team=TEAM, limit=100)
    assert "Troy" not in " ".join(line.entry.reason for line in lines)


async def test_a_result_that_is_looked_at_has_its_score_on_the_record_also_where_nobody_judged(stage: Scene):
    await shown(stage)
    (entry,) = await entries(stage, "task_pause")
    assert entry.reason == "Step 1 is done. A person is to look at what it gave. Confidence 0.79."


async def test_a_doubt_is_on_the_record_also_where_the_task_is_being_stopped(stage: Scene):
    await known(stage)
    task = await planned(stage, write("a.md"), write("b.md"))
    stopped = judgement("doubtful", QUOTING, "the model")

    class Stopping(Judging):
        """Judges while its requester presses *Stop*."""

        async def judge(self, task: Task, step: Step, action: Action) -> Judgement | None:
            async with stage.ledger.begin() as tx:
                now = await tx.task(task.id)
                assert now
                if now.wish is not StopRequest.STOP:
                    await tx.update_task(now, pause=replace(now.pause, wish=StopRequest.STOP))
            return await super().judge(task, step, action)

    stage.world = replace(stage.world, judge=Stopping(stopped))
    await approved(stage, task)
    (entry,) = await entries(stage, "task_step_done")
    assert entry.reason.endswith(". Confidence 0.49; its result was judged doubtful by the model.")
    assert "Troy" not in entry.reason


def expecting(stage: Scene, *rules: Expect) -> None:
    """The recipe of the desk's `write` says what a good result is, and the recipes' rules judge."""
    spec = stage.desk.specs_now["write"]
    stage.desk.specs_now["write"] = replace(spec, recipe=replace(spec.recipe, expect=rules))
    stage.world = replace(stage.world, judge=RuleJudge(stage.desk))


# promise: GATE-17
async def test_a_result_that_is_not_as_the_recipe_expects_stops_the_task(stage: Scene):
    await known(stage)
    expecting(stage, Expect("{result.content}", {"equals": "y"}))
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.why, wrote(stage)) == (PauseReason.REVIEW, ["a.md"])
    told = "judged doubtful by the recipe's rule: {result.content} is “new”, not “y”"
    assert told in task.reason
    (entry,) = await entries(stage, "task_pause")
    assert "new" not in entry.reason  # agents can read the log, and nobody has let the result out


# promise: GATE-18
async def test_a_result_that_the_recipe_calls_failed_counts_as_failed(stage: Scene):
    await known(stage)
    expecting(stage, Expect("{result.content}", {"equals": "y"}, "failed", "nothing was written"))
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.why, steps(task)[0].state) == (PauseReason.DOUBT, FAILED)
    assert (
        "The judgement of its result by the recipe's rule says that it failed: nothing was written"
        in task.reason
    )


async def test_a_good_judgement_stands_on_the_record_with_the_score(stage: Scene):
    await known(stage)
    expecting(stage, Expect("{result.content}", {"equals": "{args.content}"}))
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert task.state is S.SATISFACTION
    found = steps(task)[0].confidence
    assert found
    assert (found.score, found.judged) == (1.0, "its result was judged good by the recipe's rule")
    (first, _) = await entries(stage, "task_step_done")
    assert "Confidence 1.00; its result was judged good by the recipe's rule." in first.reason


async def test_what_was_taken_back_is_no_history(stage: Scene):
    slowly(stage)
    stage.desk.read_nothing_back()
    action = await stage.prepare(path="before.md", content="x")
    await stage.confirm(action)
    await stage.play()
    async with stage.ledger.begin() as tx:
        now = await tx.action(action.id)
        assert now
        undoing = await tx.move(now, Event.UNDO)
        await tx.move(undoing, Event.UNDO_DONE)
    assert (await stage.now(action.id)).state is State.UNDONE
    await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (await stage.ledger.tasks_of(stage.session))[0].why is PauseReason.SUMMARY


# The timer


async def test_hold_keeps_it_until_somebody_says_how_it_goes_on(stage: Scene):
    task = await shown(stage)
    assert (await pressed(stage, control.hold, on_pause(task))).ok
    await stage.play(timers=True)
    task = await only(stage)
    assert (task.state, task.why, wrote(stage)) == (S.PAUSED, PauseReason.REVIEW, ["a.md"])
    assert (await pressed(stage, control.hold, on_pause(task))).text == control.ALREADY_HELD
    await pressed(stage, control.resume, on_pause(task))
    task = await only(stage)
    assert wrote(stage) == ["a.md", "b.md"]
    assert steps(task)[0].passed == ANN


@pytest.mark.parametrize("who", [BEN, GIL])
async def test_only_who_may_pause_it_may_hold_it(stage: Scene, who: str):
    task = await shown(stage)
    assert (await pressed(stage, control.hold, on_pause(task, who))).code == "not_allowed"
    assert (await only(stage)).why is PauseReason.SUMMARY


async def test_an_admin_may_hold_it(stage: Scene):
    task = await shown(stage)
    stage.rule(admins=frozenset({BEN}))
    assert (await pressed(stage, control.hold, on_pause(task, BEN))).ok


@pytest.mark.parametrize("word", ["hold", "Wait!"])
async def test_a_word_in_the_thread_holds_it(stage: Scene, word: str):
    await shown(stage)
    await stage.say(word, mentioned=False)
    assert (await only(stage)).why is PauseReason.REVIEW


async def test_what_is_said_meanwhile_is_taken_in_before_it_goes_on(stage: Scene):
    await shown(stage)
    await stage.say("use another name for b", mentioned=False)
    task = await only(stage)
    assert [one.text for one in task.instructions] == ["use another name for b"]
    assert wrote(stage) == ["a.md"]  # it is planned anew first


async def test_the_time_begins_once_people_can_see_the_card(stage: Scene):
    slowly(stage)
    stage.desk.read_nothing_back()
    hung = stage.wall.draw_task

    async def nothing_gets_through(task: Task) -> None:
        """Slack has taken the run, and shown nothing yet."""

    task = await planned(stage, write("a.md"), write("b.md"))
    stage.wall.draw_task = nothing_gets_through  # type: ignore[method-assign]
    await approved(stage, task)
    task = await only(stage)
    assert (task.why, await left(stage)) == (PauseReason.SUMMARY, [])
    await hung(task)
    await step_check.start_review_timer(stage.world, task.id)
    assert len(await left(stage)) == 1


async def test_drawing_again_does_not_prolong_it_and_two_sweeps_let_it_go_on_once(both: Scene):
    task = await shown(both)
    both.travel(SECONDS - 1)
    await asyncio.gather(*(step_check.start_review_timer(both.world, task.id) for _ in range(5)))
    assert len(await waits_over(both.ledger, 1, PauseReason.SUMMARY)) == 1
    await asyncio.gather(*(step_check.end_review_time(both.world, task, 0) for _ in range(5)))
    await both.play()
    assert wrote(both) == ["a.md", "b.md"]
    assert len(await entries(both, "task_auto_proceeded")) == 1


async def test_the_time_of_an_earlier_summary_does_nothing_to_a_later_one(stage: Scene):
    slowly(stage)
    stage.desk.read_nothing_back()
    first = await approved(stage, await planned(stage, write("a.md"), shred("a.md"), write("b.md")))
    await pressed(stage, control.resume, on_pause(first))
    await confirmed(stage)
    task = await only(stage)
    assert (task.pauses, task.why) == (2, PauseReason.REVIEW)
    await step_check.end_review_time(stage.world, first, 0)
    assert (await only(stage)).state is S.PAUSED


async def test_hold_and_the_timer_have_one_winner(both: Scene):
    task = await shown(both)
    held, _ = await asyncio.gather(
        control.hold(both.world, on_pause(task)), step_check.end_review_time(both.world, task, 0)
    )
    now = await only(both)
    assert (now.why is PauseReason.REVIEW) is held.ok
    assert (now.state is S.RUNNING) is not held.ok


async def test_a_timer_after_a_standstill_gives_people_their_time_once_more(stage: Scene):
    await shown(stage)
    stage.travel(3600)  # nobody could press Hold while everything was down
    assert await expiry.overdue(stage.world) == 1
    assert ((await only(stage)).why, len(await left(stage))) == (PauseReason.SUMMARY, 1)
    assert await expiry.overdue(stage.world) == 0
    stage.travel(SECONDS)
    assert await expiry.overdue(stage.world) == 1
    await stage.play()
    assert wrote(stage) == ["a.md", "b.md"]


async def test_a_thread_that_read_from_outside_waits_where_it_is_not_sure(stage: Scene):
    slowly(stage)
    stage.desk.specs_now["look"] = replace(stage.desk.specs_now["look"], trust=Trust.REVIEWED, reviewed=True)
    task = await approved(stage, await planned(stage, look("a.md"), write("a.md"), write("b.md")))
    assert (task.why, await left(stage)) == (PauseReason.REVIEW, [])
    assert "has read something from outside" in task.reason


async def test_what_is_read_from_outside_meanwhile_stops_the_timer(stage: Scene):
    task = await shown(stage)
    async with stage.ledger.begin() as tx:
        await tx.grants.taint(stage.session, "web.fetch", True)
    await stage.play(timers=True)
    task = await only(stage)
    assert (task.why, wrote(stage)) == (PauseReason.REVIEW, ["a.md"])
    assert step_check.READ_SINCE in task.reason


async def test_the_answer_of_a_write_that_reaches_outside_counts_as_read(stage: Scene):
    spec = stage.desk.specs_now["write"]
    stage.desk.specs_now["write"] = replace(spec, hints=replace(spec.hints, open_world=True))
    async with stage.ledger.begin() as tx:
        assert not await tx.grants.tainted(stage.session)
    since = await stage.ledger.now()
    await known(stage)
    async with stage.ledger.begin() as tx:
        assert await tx.grants.tainted(stage.session, since)


async def test_who_wants_to_pause_is_not_overruled_by_a_timer(stage: Scene):
    slowly(stage)
    task = await planned(stage, write("a.md"), write("b.md"))
    stage.desk.gate = asyncio.Event()
    await flow.approve_all(stage.world, on_plan(task))
    work = asyncio.create_task(stage.play())
    await asyncio.wait_for(stage.desk.entered.wait(), 30)
    task = await only(stage)
    await control.pause(stage.world, on_plan(task))
    stage.desk.gate.set()
    await work
    await stage.play(timers=True)
    task = await only(stage)
    assert (task.state, task.why, task.wish) == (S.PAUSED, PauseReason.WISH, StopRequest.NONE)


async def test_a_wait_is_announced_to_who_listens(both: Scene):
    task = await shown(both)
    async with both.ledger.begin() as tx:
        rows = (await tx.execute(select(events.c.body).where(events.c.kind == "approval_requested"))).all()
    of_plan, body = [unpacked(row.body) for row in rows]
    assert of_plan["details"]["asks"] == "plan"
    assert (body["task_id"], body["subtask_id"], body["risk_level"]) == (task.id, "s1", "medium")
    assert body["auto_approve_timeout"] == SECONDS
    assert {"reason", "proposed_action", "details"} <= body.keys()


# The modes


# promise: GATE-04
async def test_manual_waits_after_every_step_also_after_the_last_and_after_reads(stage: Scene):
    await known(stage)
    task = await approved(stage, await planned(stage, look("a.md"), write("b.md"), approval_mode="manual"))
    assert (task.why, states(task)) == (PauseReason.REVIEW, [DONE, WAITING])
    await pressed(stage, control.resume, on_pause(task))
    task = await only(stage)
    assert (task.why, states(task), task.pauses) == (PauseReason.REVIEW, [DONE, DONE], 2)
    await pressed(stage, control.resume, on_pause(task))
    task = await only(stage)
    assert (task.state, [step.passed for step in steps(task)]) == (S.SATISFACTION, [ANN, ANN])


# promise: GATE-05
@pytest.mark.parametrize(("threshold", "waits"), [(0.75, False), (0.8, True), (1.0, True)])
async def test_a_task_waits_below_its_threshold(stage: Scene, threshold: float, waits: bool):
    switches = {"approval_mode": "confidence_threshold", "confidence": threshold}
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), **switches))
    assert (task.why is PauseReason.REVIEW, task.state is S.SATISFACTION) == (waits, not waits)
    assert await left(stage) == []


async def test_a_request_names_its_own_mode(stage: Scene):
    await planned(stage, write("a.md"), text="[confidence=0.9] tidy up the desk")
    task = await only(stage)
    assert (task.switches.approval_mode, task.switches.confidence) == ("confidence_threshold", 0.9)
    assert task.text == "tidy up the desk"


async def test_a_wrong_threshold_is_told_and_nothing_begins(stage: Scene):
    await stage.say("[confidence=0.2] tidy up")
    assert await stage.ledger.tasks_of(stage.session) == ()
    assert stage.texts == ["“confidence” must be a number from 0.5 to 1, not “0.2”."]


@pytest.mark.parametrize(
    ("said", "mode", "threshold"),
    [
        ("mode manual", "manual", 0.8),
        ("Mode Auto.", "auto", 0.8),
        ("mode confidence 0.9", "confidence_threshold", 0.9),
        ("mode confidence=0.75", "confidence_threshold", 0.75),
        ("mode confidence_threshold", "confidence_threshold", 0.8),
        ("mode threshold 1", "confidence_threshold", 1.0),
    ],
)
async def test_the_requester_changes_the_mode_in_the_thread(
    stage: Scene, said: str, mode: str, threshold: float
):
    await planned(stage, write("a.md"))
    await stage.say(said, mentioned=False)
    task = await only(stage)
    assert (task.switches.approval_mode, task.switches.confidence) == (mode, threshold)
    assert task.state is S.PLAN_REVIEW
    assert f"From now on this task is in mode `{mode}`" in stage.texts[-1]
    (entry,) = await entries(stage, "task_mode_changed")
    assert (entry.actor, entry.user_confirmed) == (ANN, True)


@pytest.mark.parametrize("who", [BEN, "U_ADMIN"])
async def test_nobody_else_changes_the_mode(stage: Scene, who: str):
    stage.directory.people["U_ADMIN"] = replace(stage.directory.people[BEN], id="U_ADMIN")
    stage.rule(admins=frozenset({"U_ADMIN"}))
    await planned(stage, write("a.md"))
    await stage.say("mode manual", who)
    assert (await only(stage)).switches.approval_mode == "auto"
    assert stage.texts[-1] == f"Only <@{ANN}>, who asked for this, can change the mode of it."


async def test_a_mode_that_there_is_not_is_told(stage: Scene):
    await planned(stage, write("a.md"))
    await stage.say("mode manuel", mentioned=False)
    assert "must be one of auto, manual, confidence_threshold" in stage.texts[-1]
    assert (await only(stage)).switches.approval_mode == "auto"


async def test_without_a_task_a_mode_is_explained_only_where_it_was_meant_for_the_bot(stage: Scene):
    await stage.say("mode manual")
    assert stage.texts == [
        "Nothing is under way in this thread. A request of its own can begin with its mode: `[manual] …`."
    ]


async def test_a_stricter_mode_holds_what_was_about_to_go_on(stage: Scene):
    await shown(stage)
    await stage.say("mode manual", mentioned=False)
    await stage.play(timers=True)
    task = await only(stage)
    assert (task.state, task.why, wrote(stage)) == (S.PAUSED, PauseReason.REVIEW, ["a.md"])


async def test_a_step_with_a_look_of_its_own_waits_whatever_its_score(stage: Scene):
    await known(stage)
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md"), review="after_step"))
    assert (task.why, wrote(stage)) == (PauseReason.REVIEW, ["a.md"])
