"""Reviews: a step waits before or after it runs, edits change what it is given or gives, one winner each."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from gate.actions.button_press import PressResult
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.rules.action import Action, ResultDecision
from gate.rules.action_states import State
from gate.rules.planner_port import Call
from gate.rules.policy import Rule
from gate.rules.ports import Unavailable
from gate.rules.reviews import Phase, Review, ReviewDecision, undoable, version_before
from gate.rules.steps import public_step
from gate.rules.task import PauseReason, StepState, Task
from gate.rules.task_states import TaskState as S
from gate.rules.tool import InvalidAnswer
from gate.tasks import control, plan_review, review_queue, step_review
from gate.tasks.step_review import ReviewConflict, ReviewRequest
from storage.columns import unpacked
from storage.task_tables import events
from tests.chaos.hammer_process import insisting
from tests.gate.gate_setup import ANN, BEN, GIL, TEAM, Scene
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
    waiting,
    write,
    wrote,
)

APPROVE, REJECT = ReviewDecision.APPROVE, ReviewDecision.REJECT
DONE, FAILED, WAITING, ASKED = StepState.DONE, StepState.FAILED, StepState.WAITING, StepState.ASKED
OTHER = {"text": "changed", "exists": True, "sha": "s", "content": "c.md"}


def reviewing(stage: Scene, phase: Phase, *tools: str, **more: Any) -> None:
    """The operator wants calls of these tools reviewed."""
    wanted = Review("look at it", phase, tools=tools or ("desk.write",), **more)
    policy = replace(stage.world.policy, reviews=(*stage.world.policy.reviews, wanted))
    stage.world = replace(stage.world, policy=policy)


async def happened(stage: Scene, *kinds: str) -> list[tuple[str, Any]]:
    async with stage.ledger.begin() as tx:
        rows = (await tx.execute(select(events.c.kind, events.c.body).order_by(events.c.seq))).all()
    return [
        (row.kind, unpacked(row.body))
        for row in rows
        if row.kind in (kinds or ("workflow_paused", "workflow_resumed"))
    ]


async def records(stage: Scene, execution: str) -> list[tuple[str, ...]]:
    found = await review_queue.history(stage.world, TEAM, execution)
    return [(one.node_id, one.trigger_phase.name, one.decision.value, one.reviewer_id) for one in found]


async def before(stage: Scene, *more: Any) -> tuple[Task, Action]:
    """A plan of one reviewed write, approved as a whole: the step waits all the same."""
    reviewing(stage, Phase.BEFORE)
    task = await approved(stage, await planned(stage, write("a.md"), *more))
    action = await waiting(stage)
    assert (states(task)[0], action.review) == (ASKED, "look at it")
    return task, action


async def after(stage: Scene, *more: Any, tools: str = "desk.look") -> Task:
    """A plan whose first step, a read, has run and waits for a review; the second writes what it gave."""
    reviewing(stage, Phase.AFTER, tools)
    stage.desk.notes["a.md"] = "from-a.md"
    uses = write("x", refs={"path": "{steps.s1.content}"})
    task = await approved(stage, await planned(stage, look("a.md"), *(more or (uses,))))
    assert (task.state, task.why, states(task)[0]) == (S.PAUSED, PauseReason.REVIEW, DONE)
    return task


def on(
    task: Task, version: Action | int | None = None, decision: ReviewDecision = APPROVE, **more: Any
) -> ReviewRequest:
    given = {"team": TEAM, "user": ANN, **more}
    seen = version_before(version) if isinstance(version, Action) else version
    return ReviewRequest(task.id, "s1", task.pauses if seen is None else seen, decision, **given)


async def resumed(stage: Scene, asked: ReviewRequest) -> Any:
    said = await step_review.decide_review(stage.world, asked)
    await stage.play()
    return said


# Before


# promise: REVIEW-02, REVIEW-11
async def test_a_reviewed_step_waits_although_its_plan_was_approved(stage: Scene):
    task, action = await before(stage)
    (kind, body), *rest = await happened(stage)
    assert (kind, rest) == ("workflow_paused", [])
    assert body.keys() == {"type", "executionId", "nodeId", "triggerPhase", "timestamp"}
    told = (body["type"], body["executionId"], body["nodeId"], body["triggerPhase"])
    assert told == ("workflow_paused", task.id, "s1", "BEFORE_EXECUTION")
    assert abs(body["timestamp"] - action.created_at.timestamp() * 1000) < 60_000
    said = await resumed(stage, on(task, action, comment="looks right"))
    assert (said.code, wrote(stage)) == ("confirmed", ["a.md"])
    assert await records(stage, task.id) == [("s1", "BEFORE", "APPROVE", ANN)]
    (record,) = await review_queue.history(stage.world, TEAM, task.id)
    assert (record.original_data["path"], record.modified_data, record.comment) == (
        "a.md",
        None,
        "looks right",
    )
    end = (await happened(stage))[-1]
    assert (end[0], end[1].keys()) == ("workflow_resumed", {"type", "executionId", "timestamp"})


# promise: REVIEW-14, REVIEW-30
async def test_an_edit_before_changes_the_inputs_and_is_shown_before_it_runs(stage: Scene):
    task, action = await before(stage)
    said = await resumed(stage, on(task, action, edited={"path": "b.md", "content": "other"}))
    assert (said.code, wrote(stage)) == ("edited", [])
    assert isinstance(await resumed(stage, on(task, action)), ReviewConflict)
    now = await stage.now(action.id)
    assert now.version > 1
    assert (await resumed(stage, on(task, now))).code == "confirmed"
    assert wrote(stage) == ["b.md"]
    (record,) = await review_queue.history(stage.world, TEAM, task.id)
    assert (record.original_data["path"], record.modified_data["path"]) == ("a.md", "b.md")
    assert steps(await only(stage))[0].args["path"] == "b.md"


async def test_inputs_that_break_the_schema_are_told_and_change_nothing(stage: Scene):
    task, action = await before(stage)
    said = await resumed(stage, on(task, action, edited={"path": 7, "content": "x"}))
    assert isinstance(said, InvalidAnswer)
    assert (await stage.now(action.id)).version == 1


# promise: REVIEW-07, REVIEW-16
async def test_a_rejection_before_runs_nothing_and_is_on_record_with_its_reason(stage: Scene):
    task, action = await before(stage)
    assert (await resumed(stage, on(task, action, REJECT, comment="not this folder"))).code == "rejected"
    task = await only(stage)
    assert (task.state, task.why, wrote(stage)) == (S.PAUSED, PauseReason.STEP, [])
    assert "not this folder" in task.reason
    assert await records(stage, task.id) == [("s1", "BEFORE", "REJECT", ANN)]
    assert [kind for kind, _ in await happened(stage)] == ["workflow_paused", "workflow_resumed"]


async def test_a_reviewed_read_waits_and_its_answer_is_used(stage: Scene):
    reviewing(stage, Phase.BEFORE, "desk.look")
    stage.desk.notes["a.md"] = "b.md"
    uses = write("x", refs={"path": "{steps.s1.content}"})
    task = await approved(stage, await planned(stage, look("a.md"), uses))
    action = await waiting(stage)
    assert (action.tool, states(task)) == ("look", [ASKED, WAITING])
    assert (await resumed(stage, on(task, action, edited={"path": "a.md"}))).code == "unchanged"
    stage.desk.notes["c.md"] = "d.md"
    assert (await resumed(stage, on(task, action, edited={"path": "c.md"}))).code == "edited"
    await resumed(stage, on(task, await stage.now(action.id)))
    await confirmed(stage)
    assert wrote(stage) == ["d.md"]


async def test_a_call_outside_of_plans_is_reviewed_as_its_own_execution(stage: Scene):
    reviewing(stage, Phase.BEFORE)
    action = await stage.prepare(path="a.md", content="x")
    (line,) = await review_queue.pending_reviews(stage.world, TEAM, ANN)
    assert (line.execution, line.node, line.phase) == (action.id, action.id, Phase.BEFORE)
    said = await resumed(stage, ReviewRequest(action.id, action.id, line.version, APPROVE, TEAM, ANN))
    assert (said.code, wrote(stage)) == ("confirmed", ["a.md"])
    assert await records(stage, action.id) == [(action.id, "BEFORE", "APPROVE", ANN)]


async def test_what_is_reviewed_shares_no_card_with_other_calls(stage: Scene):
    reviewing(stage, Phase.BEFORE)
    for tool, own in (("write", True), ("shred", False)):
        args = {"path": "a.md", "content": "x"} if own else {"path": "a.md"}
        asked = CallRequest(f"id-{tool}", stage.session, ANN, Call("desk", tool, args), group="g")
        made = await prepare(stage.world, asked)
        assert isinstance(made, Prepared)
        assert (made.action.shares == "") is own


async def test_slacks_own_buttons_leave_the_same_record(stage: Scene):
    task, action = await before(stage)
    await confirmed(stage, action)
    assert await records(stage, task.id) == [("s1", "BEFORE", "APPROVE", ANN)]


async def test_a_grant_is_no_review(stage: Scene):
    from gate.rules.grants import never_grantable_reason

    _, action = await before(stage)
    assert "reviewed" in never_grantable_reason(action)


async def test_what_is_not_reviewed_leaves_no_record_and_no_event(stage: Scene):
    task = await approved(stage, await planned(stage, shred("a.md")))
    task = await confirmed(stage)
    assert (await records(stage, task.id), await happened(stage)) == ([], [])
    said = await step_review.decide_review(stage.world, on(task, 1))
    assert isinstance(said, PressResult | ReviewConflict)


# promise: REVIEW-17
async def test_each_of_several_approvers_leaves_a_record_and_the_last_resumes(stage: Scene):
    from gate.rules.approvers import Approvers

    stage.rule(Rule("two", ("desk.write",), approvers=Approvers(needed=2)))
    task, action = await before(stage)
    assert (await resumed(stage, on(task, action, user=BEN))).code == "voted"
    assert isinstance(await resumed(stage, on(task, action, user=BEN)), ReviewConflict)
    assert [kind for kind, _ in await happened(stage)] == ["workflow_paused"]
    assert (await resumed(stage, on(task, action, user="U_CLEO"))).code == "confirmed"
    assert [one[3] for one in await records(stage, task.id)] == [BEN, "U_CLEO"]


@pytest.mark.parametrize("who", [BEN, GIL])
async def test_who_may_not_decide_is_told_so_and_changes_nothing(stage: Scene, who: str):
    task, action = await before(stage)
    assert (await resumed(stage, on(task, action, user=who))).code == "not_allowed"
    assert (wrote(stage), await records(stage, task.id)) == ([], [])


# promise: REVIEW-05
async def test_an_answer_to_one_phase_or_try_is_none_to_the_next(stage: Scene):
    reviewing(stage, Phase.AFTER)
    task, action = await before(stage, write("b.md"))
    await resumed(stage, on(task, action))
    task = await only(stage)
    assert (task.why, task.pauses) == (PauseReason.REVIEW, 1)
    assert isinstance(await resumed(stage, on(task, action)), ReviewConflict)  # it was about the inputs
    await resumed(stage, on(task, decision=REJECT))
    await pressed(stage, control.retry, on_pause(await only(stage)))
    again = await waiting(stage)
    assert (again.version, again.step) == (action.version, action.step)
    assert isinstance(await resumed(stage, on(task, action)), ReviewConflict)  # it was about the first try
    assert (await stage.now(again.id)).state is State.PREPARED
    assert (await resumed(stage, on(task, again))).code == "confirmed"


# After


# promise: REVIEW-02, REVIEW-11
async def test_a_read_that_is_reviewed_waits_with_its_result(stage: Scene):
    task = await after(stage)
    (kind, body), *rest = await happened(stage)
    assert (kind, body["triggerPhase"], body["nodeId"], rest) == (
        "workflow_paused",
        "AFTER_EXECUTION",
        "s1",
        [],
    )
    assert "look at it" in task.reason
    assert (await resumed(stage, on(task))).ok
    await confirmed(stage)
    assert wrote(stage) == ["from-a.md"]
    assert await records(stage, task.id) == [("s1", "AFTER", "APPROVE", ANN)]


# promise: REVIEW-15, REVIEW-30
async def test_an_edit_after_changes_what_later_steps_use_beside_the_true_result(stage: Scene):
    task = await after(stage)
    true = steps(task)[0].result
    assert (await resumed(stage, on(task, edited=OTHER, comment="the other file"))).ok
    await confirmed(stage)
    assert wrote(stage) == ["c.md"]
    step = steps(await only(stage))[0]
    assert (step.result, step.edited, step.passed) == (OTHER, True, ANN)
    (record,) = await review_queue.history(stage.world, TEAM, task.id)
    assert (record.original_data, record.modified_data, record.comment) == (true, OTHER, "the other file")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("decision", "edited"), [(APPROVE, None), (APPROVE, OTHER), (REJECT, None)])
async def test_a_decision_on_the_result_of_a_change_is_on_its_action(stage: Scene, decision, edited):
    reviewing(stage, Phase.AFTER)
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    before = await stage.now(steps(task)[0].action)
    assert (await resumed(stage, on(task, decision=decision, edited=edited, comment="seen"))).ok
    action = await stage.now(before.id)
    assert action.judged == ResultDecision(ANN, decision is APPROVE, edited, "seen")
    assert action.outcome == before.outcome


# promise: REVIEW-16
async def test_a_rejection_after_drops_the_result_and_fails_the_step(stage: Scene):
    task = await after(stage)
    assert (await resumed(stage, on(task, decision=REJECT, comment="wrong file"))).ok
    task = await only(stage)
    step = steps(task)[0]
    assert (task.state, task.why, task.pauses, states(task)) == (
        S.PAUSED,
        PauseReason.DOUBT,
        2,
        [FAILED, WAITING],
    )
    assert (step.result, step.edited, step.rejected_by) == (None, False, ANN)
    assert "What it gave is dropped" in task.reason
    assert "wrong file" in task.reason
    assert isinstance(await resumed(stage, on(task, 1)), ReviewConflict)
    await pressed(stage, control.skip_step, on_pause(task))
    task = await only(stage)
    assert (task.why, wrote(stage)) == (PauseReason.STEP, [])
    assert "which was skipped" in task.reason


async def test_an_undo_is_offered_after_a_rejection_and_takes_it_back(stage: Scene):
    reviewing(stage, Phase.AFTER)
    stage.desk.notes["a.md"] = "old"
    task = await approved(stage, await planned(stage, write("a.md"), write("b.md")))
    assert (task.why, stage.desk.notes["a.md"]) == (PauseReason.REVIEW, "new")
    await resumed(stage, on(task, decision=REJECT))
    task = await only(stage)
    assert "“Undo this step”" in task.reason
    assert undoable(steps(task)[0])
    assert (await pressed(stage, step_review.undo_rejected, on_pause(task, BEN))).code == "not_allowed"
    assert (await pressed(stage, step_review.undo_rejected, on_pause(task))).ok
    assert stage.desk.notes["a.md"] == "old"
    assert (await stage.now(steps(task)[0].action)).state is State.UNDONE
    assert not (await pressed(stage, step_review.undo_rejected, on_pause(task))).ok
    assert (await pressed(stage, control.retry, on_pause(await only(stage)))).ok
    task = await confirmed(stage)
    assert (steps(task)[0].rejected_by, stage.desk.notes["a.md"]) == ("", "new")


async def test_continue_on_the_card_is_an_approval_on_record(stage: Scene):
    task = await after(stage)
    await pressed(stage, control.resume, on_pause(task))
    assert await records(stage, task.id) == [("s1", "AFTER", "APPROVE", ANN)]
    assert [kind for kind, _ in await happened(stage)][:2] == ["workflow_paused", "workflow_resumed"]


async def test_a_plain_yes_to_the_card_of_a_review_is_an_approval(stage: Scene):
    task = await after(stage)
    await stage.say("yes", ts="1600000000.000001", mentioned=False)  # before the card was there
    assert await records(stage, task.id) == []
    await stage.say("yes", ts="1999999999.000001", mentioned=False)
    assert await records(stage, task.id) == [("s1", "AFTER", "APPROVE", ANN)]


async def test_words_in_the_thread_are_no_review_and_a_yes_below_what_that_says_is_none(stage: Scene):
    task = await after(stage)
    await stage.say("take b.md instead", mentioned=False)
    assert (await only(stage)).why is PauseReason.REVIEW
    assert any("words alone do not decide" in text for text in stage.texts)
    await stage.say("yes", ts="1999999999.000001", mentioned=False)
    assert await records(stage, task.id) == []
    assert (await only(stage)).why is PauseReason.REVIEW


async def test_the_last_step_is_reviewed_as_well_and_a_stop_is_no_decision(stage: Scene):
    reviewing(stage, Phase.AFTER)
    task = await approved(stage, await planned(stage, write("a.md")))
    assert task.why is PauseReason.REVIEW
    await pressed(stage, control.stop, on_pause(task))
    assert (await only(stage)).state is S.STOPPED_BY_USER
    assert await records(stage, task.id) == []


async def test_what_waits_for_a_review_is_not_planned_anew_before_it_is_decided(stage: Scene):
    """The planner would get a result that nobody has released."""
    task = await after(stage)
    said = await pressed(stage, plan_review.replan, on_plan(task, text="take b.md instead"))
    assert (said.code, "Decide on that first" in said.text) == ("review", True)
    assert (await only(stage)).why is PauseReason.REVIEW


async def test_only_the_requester_changes_or_rejects_a_result(stage: Scene):
    task = await after(stage)
    stage.rule(admins=frozenset({BEN}))
    for asked in (on(task, decision=REJECT, user=BEN), on(task, edited=OTHER, user=BEN)):
        assert (await resumed(stage, asked)).code == "not_allowed"
    assert (await only(stage)).why is PauseReason.REVIEW


async def test_a_result_that_breaks_its_tools_schema_is_told(stage: Scene):
    task = await after(stage)
    form = {"type": "object", "required": ["sha"], "properties": {"sha": {"type": "string"}}}
    stage.desk.specs_now["look"] = replace(stage.desk.specs_now["look"], output_schema=form)
    assert isinstance(await resumed(stage, on(task, edited={"sha": 5})), InvalidAnswer)
    assert isinstance(await resumed(stage, on(task, decision=REJECT, edited=OTHER)), InvalidAnswer)
    assert (await only(stage)).why is PauseReason.REVIEW
    assert (await resumed(stage, on(task, edited=OTHER))).ok


# promise: REVIEW-03
async def test_switched_off_and_other_steps_do_not_wait(stage: Scene):
    reviewing(stage, Phase.AFTER, "*", enabled=False)
    reviewing(stage, Phase.AFTER, "*", steps=("s2",))
    task = await approved(stage, await planned(stage, look("a.md"), look("b.md")))
    assert (task.why, states(task), task.pauses) == (PauseReason.REVIEW, [DONE, DONE], 1)


# One winner


# promise: REVIEW-31
@pytest.mark.slow
@pytest.mark.parametrize("phase", list(Phase))
async def test_of_fifty_resumes_with_one_version_exactly_one_wins(both: Scene, phase: Phase):
    if phase is Phase.BEFORE:
        task, action = await before(both)
        version = version_before(action)
    else:
        task = await after(both)
        version = task.pauses
    both.world = replace(both.world, limits=replace(both.world.limits, decision=60))

    async def one(number: int) -> Any:
        edited = {**OTHER, "content": f"{number}.md"} if phase is Phase.AFTER and number % 3 == 1 else None
        decision = REJECT if number % 3 == 2 else APPROVE
        return await insisting(
            lambda: step_review.decide_review(both.world, on(task, version, decision, edited=edited))
        )

    said = await asyncio.gather(*map(one, range(50)))
    assert sum(isinstance(each, PressResult) and each.ok for each in said) == 1
    assert sum(isinstance(each, ReviewConflict) for each in said) == 49
    assert len(await records(both, task.id)) == 1
    assert [kind for kind, _ in await happened(both)] == ["workflow_paused", "workflow_resumed"]


# Lists


# promise: REVIEW-19
async def test_what_waits_is_listed_until_it_is_decided(stage: Scene):
    task, action = await before(stage)
    (line,) = await review_queue.pending_reviews(stage.world, TEAM, ANN)
    version = version_before(action)
    assert (line.key, line.execution, line.node, line.version) == (action.id, task.id, "s1", version)
    assert stage.world.pending
    assert await stage.world.pending.all(TEAM) == (line,)
    await step_review.decide_review(stage.world, on(task, action))
    assert await stage.world.pending.all(TEAM) == ()
    await stage.play()
    assert await review_queue.pending_reviews(stage.world, TEAM, ANN) == ()


# promise: REVIEW-19
async def test_a_redis_that_was_emptied_is_filled_from_sql_and_nothing_in_it_ends(stage: Scene):
    task = await after(stage)
    before_ = await review_queue.pending_reviews(stage.world, TEAM, ANN)
    assert [(one.execution, one.version, one.phase) for one in before_] == [(task.id, 1, Phase.AFTER)]
    redis = stage.world.pending._redis  # type: ignore[union-attr]
    assert [await redis.ttl(key) for key in await redis.keys("*:reviews:*")] == [-1]
    await redis.flushall()
    assert await stage.world.pending.all(TEAM) is None  # type: ignore[union-attr]
    assert await review_queue.pending_reviews(stage.world, TEAM, ANN) == before_
    assert await stage.world.pending.all(TEAM) == before_  # type: ignore[union-attr]


async def test_without_redis_the_list_is_read_from_sql(stage: Scene):
    task = await after(stage)

    class Away:
        async def all(self, team: str) -> None:
            raise Unavailable("away")

    stage.world = replace(stage.world, pending=Away())  # type: ignore[arg-type]
    assert [one.execution for one in await review_queue.pending_reviews(stage.world, TEAM, ANN)] == [task.id]


# promise: REVIEW-20
async def test_the_detail_holds_inputs_or_outputs_whole(stage: Scene):
    task = await after(stage)
    found = await review_queue.detail(stage.world, TEAM, BEN, task.id)
    assert found
    line, data = found
    assert (line.phase, data["content"]) == (Phase.AFTER, "from-a.md")
    assert await review_queue.detail(stage.world, "T9", ANN, task.id) is None
    await resumed(stage, on(task))
    assert await review_queue.detail(stage.world, TEAM, ANN, task.id) is None


# promise: REVIEW-22
async def test_what_a_reviewer_has_decided_is_found_page_by_page(stage: Scene):
    task = await after(stage, look("b.md"))
    await resumed(stage, on(task))
    task = await only(stage)
    await resumed(stage, ReviewRequest(task.id, "s2", task.pauses, APPROVE, TEAM, ANN))
    latest = await review_queue.history_of(stage.world, TEAM, ANN)
    assert [one.node_id for one in latest] == ["s2", "s1"]
    assert [one.node_id for one in await review_queue.history_of(stage.world, TEAM, ANN, latest[0].id)] == [
        "s1"
    ]
    assert await review_queue.history_of(stage.world, "T9", ANN) == ()
    assert len(await entries(stage, "task_continue")) == 2


@pytest.mark.parametrize("is_away", [False, True])
@pytest.mark.parametrize("go_on", [control.resume, step_review.approve_output])
async def test_a_result_of_a_step_that_rules_have_made_private_goes_on_in_private(
    stage: Scene, go_on: Any, is_away: bool
) -> None:
    reviewing(stage, Phase.AFTER, "desk.write")
    task = await approved(stage, await planned(stage, write("a.md", "the pay of Ben"), look("z.md")))
    stage.rule(Rule("pay", ("desk.*",), private=True), reviews=stage.world.policy.reviews)
    if is_away:
        del stage.desk.specs_now["write"]
    await pressed(stage, go_on, on_pause(task))
    step, *_ = steps(await only(stage))
    assert step.is_private
    assert "the pay of Ben" not in str(public_step(step))
    assert (await stage.now(step.action)).private
