"""What a call outside of plans gave, where the operator wants it reviewed: nobody gets it before a person lets it out."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from gate.actions import undo
from gate.actions.prepare import TOO_MANY_PENDING, CallRequest, Prepared, Refused, prepare
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.planner_port import Call, Propose, ProposedStep
from gate.rules.policy import Rule
from gate.rules.previews import measured
from gate.rules.reviews import Phase, ReviewDecision, released, version_after, version_before
from gate.rules.settings import Switches
from gate.rules.task_states import TaskState
from gate.rules.tool import Answer, InvalidAnswer
from gate.tasks import review_queue, step_review
from gate.tasks.pending import waiting_for
from gate.tasks.step_review import ReviewConflict, ReviewRequest
from tests.chaos.hammer_process import insisting
from tests.gate import fake_tools
from tests.gate.gate_setup import ANN, BEN, GIL, TEAM, Scene
from tests.gate.plan_setup import approved, entries, on_pause, planned
from tests.gate.tasks.test_task_step_review import happened, reviewing
from tests.gate.tasks.test_task_with_model import LOOK, WRITE, thinking
from tests.model_stub import calls, says
from views import rendering

APPROVE, REJECT = ReviewDecision.APPROVE, ReviewDecision.REJECT
SECRET = "the secret"
OTHER = {"text": "nothing to see", "content": "nothing to see"}


async def held(stage: Scene, tool: str = "write") -> Action:
    """A call outside of plans that has run, and whose result waits."""
    reviewing(stage, Phase.AFTER, f"desk.{tool}")
    if tool == "look":
        stage.desk.notes["a.md"] = SECRET
        return await stage.prepare("look", path="a.md")
    action = await stage.prepare(tool, path="a.md", content=SECRET)
    assert (await stage.confirm(action)).ok
    await stage.play()
    return await stage.now(action.id)


async def judged(stage: Scene, action: Action, decision: ReviewDecision = APPROVE, **more: Any) -> Any:
    given = {"version": version_after(action), "team": TEAM, "user": ANN, **more}
    said = await step_review.decide_review(
        stage.world, ReviewRequest(action.id, action.id, decision=decision, **given)
    )
    await stage.play()
    return said


def told(action: Action) -> str:
    """All that whoever asked may know of the result."""
    outcome = released(action)
    assert outcome is not None
    return f"{outcome.text} {outcome.structured}"


# promise: REVIEW-11
@pytest.mark.parametrize("tool", ["write", "look"])
async def test_a_result_outside_of_plans_is_held_until_it_is_released(stage: Scene, tool: str):
    action = await held(stage, tool)
    assert (action.state, action.under_review, action.is_finished) == (State.SUCCEEDED, "look at it", False)
    assert SECRET not in told(action)
    assert [
        SECRET in entry.result for entry in await entries(stage, "read" if tool == "look" else "succeeded")
    ] == [False]
    (line,) = await review_queue.pending_reviews(stage.world, TEAM, ANN)
    assert (line.execution, line.phase, line.version) == (action.id, Phase.AFTER, version_after(action))
    found = await review_queue.detail(stage.world, TEAM, ANN, action.id)
    assert found is not None
    assert found[1]["content"] == SECRET
    assert (await judged(stage, action, comment="fine")).code == "released"
    assert SECRET in told(await stage.now(action.id))
    assert await review_queue.pending_reviews(stage.world, TEAM, ANN) == ()
    (record,) = await review_queue.history(stage.world, TEAM, action.id)
    assert (record.trigger_phase, record.decision, record.reviewer_id) == (Phase.AFTER, APPROVE, ANN)
    assert (record.original_data["content"], record.modified_data, record.comment) == (SECRET, None, "fine")
    assert [kind for kind, _ in await happened(stage)] == ["workflow_paused", "workflow_resumed"]


@pytest.mark.parametrize("is_away", [False, True])
@pytest.mark.parametrize("tool", ["write", "look"])
async def test_a_result_that_rules_have_made_private_is_released_to_its_requester_alone(
    stage: Scene, tool: str, is_away: bool
):
    action = await held(stage, tool)
    assert rendering.of_action(action, ()).direct == ""
    reviews = stage.world.policy.reviews
    stage.rule(Rule("notes are private", ("desk.*",), private=True), reviews=reviews)
    if is_away:
        del stage.desk.specs_now[tool]
    assert (await judged(stage, action)).code == "released"
    now = await stage.now(action.id)
    assert rendering.of_action(now, ()).direct == ANN
    assert SECRET in told(now)
    (entry,) = await entries(stage, "result_released")
    assert now.outcome is not None
    assert entry.result == measured(now.outcome.text)


# promise: REVIEW-15
async def test_an_edit_is_given_in_its_place_and_the_true_result_stays_on_record(stage: Scene):
    action = await held(stage)
    assert (await judged(stage, action, edited=OTHER)).code == "released"
    now = await stage.now(action.id)
    assert SECRET not in told(now)
    assert "nothing to see" in told(now)
    (record,) = await review_queue.history(stage.world, TEAM, action.id)
    assert (record.original_data["content"], record.modified_data) == (SECRET, OTHER)
    assert [SECRET in entry.result for entry in await entries(stage, "result_released")] == [False]


# promise: REVIEW-16
async def test_a_rejection_drops_it_and_offers_the_undo(stage: Scene):
    action = await held(stage)
    assert not action.undo_open
    assert (await judged(stage, action, REJECT, comment="not for them")).code == "dropped"
    now = await stage.now(action.id)
    assert SECRET not in told(now)
    assert (now.undo_open, now.is_finished) == (True, True)
    await stage.play(timers=True)
    assert (await stage.now(action.id)).undo_open  # it stays
    assert (await undo.request_undo(stage.world, stage.press(now))).ok
    await stage.play()
    assert stage.desk.notes == {}
    assert (await stage.now(action.id)).state is State.UNDONE


async def test_who_has_to_release_it_finds_it_among_what_waits_and_nobody_else_does(both: Scene):
    both.rule(admins=frozenset({BEN}))
    action = await held(both)
    later = await both.prepare(path="b.md", content="x")
    assert [one.record.id for one in await waiting_for(both.world, TEAM, ANN)] == [action.id, later.id]
    for user in (BEN, GIL, "U_NOBODY"):
        assert await waiting_for(both.world, TEAM, user) == ()
    await judged(both, action)
    assert [one.record.id for one in await waiting_for(both.world, TEAM, ANN)] == [later.id]


async def test_a_released_call_can_be_undone_from_its_card(stage: Scene):
    action = await held(stage)
    assert not (await stage.now(action.id)).undo_open
    await judged(stage, action)
    assert (await stage.now(action.id)).undo_open


async def test_a_read_that_is_held_is_made_once_however_often_it_is_asked(stage: Scene):
    action = await held(stage, "look")
    reads = stage.desk.reads
    again = await prepare(
        stage.world, CallRequest(action.id, stage.session, ANN, Call("desk", "look", {"path": "a.md"}))
    )
    assert isinstance(again, Prepared)
    assert (again.action, stage.desk.reads) == (action, reads)


async def test_what_fails_is_not_held_and_neither_is_an_undo(stage: Scene):
    stage.desk.behave = "says no"
    failed = await held(stage)
    assert (failed.state, failed.under_review) == (State.FAILED, "")
    stage.desk.behave = "well"
    action = await held(stage)
    await judged(stage, action)
    await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))
    await stage.play()
    assert (await stage.now(action.id)).state is State.UNDONE


async def test_no_more_reads_are_held_than_may_wait_of_a_person_and_none_beyond_them_runs(stage: Scene):
    reviewing(stage, Phase.AFTER, "desk.look")
    most = stage.world.limits.pending_per_user

    async def look(number: int, user: str = ANN) -> Any:
        call = Call("desk", "look", {"path": f"{number}.md"})
        return await prepare(stage.world, CallRequest(f"look{user}{number}", stage.session, user, call))

    held = [await look(number) for number in range(most)]
    assert all(isinstance(one, Prepared) for one in held)
    refused, reads = await look(most), stage.desk.reads
    assert isinstance(refused, Refused)
    assert refused.reasons == (TOO_MANY_PENDING,)
    assert isinstance(await look(0), Prepared)
    assert stage.desk.reads == reads == most
    assert isinstance(await look(0, BEN), Prepared)
    await judged(stage, held[0].action, user=ANN)
    assert isinstance(await look(most + 1), Prepared)


async def written_down(stage: Scene) -> str:
    """All that the record, the turns and the thread hold."""
    turns = [await stage.ledger.turn(task.turn) for task in await stage.ledger.tasks_of(stage.session)]
    lines = await stage.ledger.audit_tail(team=TEAM, limit=100)
    return f"{lines} {turns} {await stage.ledger.tasks_of(stage.session)} {stage.texts}"


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("planned_first", [False, True])
@pytest.mark.parametrize("tool", ["look", "write"])
async def test_what_is_said_of_a_failure_is_not_told_where_results_are_reviewed(
    stage: Scene, tool: str, planned_first: bool, monkeypatch: pytest.MonkeyPatch
):
    """Nobody reviews a failure, and it may quote the result: an error of SQLite may be made to hold a whole column."""
    reviewing(stage, Phase.AFTER, f"desk.{tool}")
    args = {"path": "a.md"} if tool == "look" else {"path": "a.md", "content": "x"}
    stage.desk.behave, stage.desk.refusal = "says no", f"JSON path error near {SECRET!r}"
    if tool == "look":
        monkeypatch.setattr(fake_tools, "answer", lambda _: Answer(stage.desk.refusal, is_error=True))
    if planned_first:
        task = await planned(stage, ProposedStep(Call("desk", tool, args), "do it"))
        await approved(stage, task)
    else:
        stage.planner.script = [Propose((Call("desk", tool, args),))]
        await stage.say("do it")
    for action in await stage.ledger.pending(TEAM):
        assert (await stage.confirm(action)).ok
        await stage.play()
    said = await written_down(stage)
    assert "What was said of that is told to nobody" in said
    assert SECRET not in said


@pytest.mark.parametrize("how", ["absent", "breaks the line"])
async def test_nothing_that_is_said_of_a_call_without_an_answer_is_told_where_results_are_reviewed(
    stage: Scene, how: str
):
    stage.desk.behave = how
    action = await held(stage)
    assert action.outcome
    assert action.outcome.text.endswith("reviewed first.")
    assert "desk is not" not in action.outcome.text
    assert "broke" not in action.outcome.text


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("decision", [None, APPROVE, REJECT])
async def test_an_undo_has_nothing_of_the_reviews_of_what_it_takes_back(
    stage: Scene, decision: ReviewDecision | None
):
    reviewing(stage, Phase.BEFORE, "desk.write")
    action = await held(stage)
    assert (action.review, action.under_review) == ("look at it", "look at it")
    if decision:
        await judged(stage, action, decision, edited=OTHER if decision is APPROVE else None)
    lines = len(await review_queue.pending_reviews(stage.world, TEAM, ANN))
    assert (await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))).ok
    back = await stage.ledger.action((await undo.undo_slot(stage.world, action))[0])
    assert back is not None
    assert (back.under_review, back.judged, back.review, back.proposed) == ("", None, "", "")
    assert len(await review_queue.pending_reviews(stage.world, TEAM, ANN)) == lines


@pytest.mark.parametrize("by", ["its tool", "the step that it takes back"])
async def test_what_an_undo_gives_is_told_to_nobody_where_results_of_that_are_reviewed(
    stage: Scene, monkeypatch: pytest.MonkeyPatch, by: str
):
    stage.desk.notes["a.md"] = "old"
    if by == "its tool":
        reviewing(stage, Phase.AFTER, "desk.put_back")
        action = await stage.prepare("write", path="a.md", content="new")
        assert (await stage.confirm(action)).ok
        await stage.play()
    else:
        reviewing(stage, Phase.AFTER, "*", steps=("do it",))
        step = ProposedStep(Call("desk", "write", {"path": "a.md", "content": "new"}), "do it")
        task = await approved(stage, await planned(stage, step))
        assert (await step_review.approve_output(stage.world, on_pause(task))).ok
        await stage.play()
        (task,) = await stage.ledger.tasks_of(stage.session)
        assert task.plan is not None
        action = await stage.now(task.plan.steps[0].action)
    stage.desk.notes["a.md"] = "changed since"  # so that the undo asks on a card of its own
    change = stage.desk._change

    def telling_more(tool: str, given: dict[str, Any]) -> Answer:
        return Answer(SECRET, {"comments": SECRET, "changed": bool(change(tool, given))})

    monkeypatch.setattr(stage.desk, "_change", telling_more)
    assert (await undo.request_undo(stage.world, stage.press(await stage.now(action.id)))).ok
    await stage.play()
    back = await stage.now((await undo.undo_slot(stage.world, await stage.now(action.id)))[0])
    assert (await stage.confirm(back)).ok
    await stage.play()
    back = await stage.now(back.id)
    assert (back.state, stage.desk.notes) == (State.SUCCEEDED, {"a.md": "old"})
    assert SECRET not in f"{back} {rendering.of_action(back, ()).message} {await written_down(stage)}"


# promise: REVIEW-31
async def test_of_many_who_judge_it_at_once_one_is_heard(both: Scene):
    action = await held(both)

    async def one(number: int) -> Any:
        edited = OTHER if number % 3 == 1 else None
        asked = ReviewRequest(
            action.id,
            action.id,
            version_after(action),
            REJECT if number % 3 == 2 else APPROVE,
            TEAM,
            ANN,
            edited,
        )
        return await insisting(lambda: step_review.decide_review(both.world, asked))

    said = await asyncio.gather(*(one(number) for number in range(12)))
    assert sum(not isinstance(one, ReviewConflict) and one.ok for one in said) == 1
    lost = [one.text for one in said if isinstance(one, ReviewConflict)]
    assert len(lost) == 11
    assert all("already" in text or "Somebody has decided" in text for text in lost), lost
    assert len(await review_queue.history(both.world, TEAM, action.id)) == 1


async def test_only_its_requester_changes_or_drops_it_and_the_version_counts(stage: Scene):
    stage.rule(admins=frozenset({BEN}))
    action = await held(stage)
    for user, more in ((GIL, {}), (BEN, {"edited": OTHER}), (BEN, {"decision": REJECT})):
        assert (await judged(stage, action, user=user, **more)).code == "not_allowed"
    assert isinstance(await judged(stage, action, version=version_before(action)), ReviewConflict)
    assert isinstance(await judged(stage, action, edited=["no object"]), InvalidAnswer)
    assert (await stage.now(action.id)).under_review
    assert (await judged(stage, action, user=BEN)).code == "released"  # an admin lets it go on


async def test_a_planner_gets_the_result_when_it_is_released(stage: Scene):
    reviewing(stage, Phase.AFTER, "desk.look")
    stage.desk.notes["a.md"] = SECRET
    async with thinking(stage, [calls(LOOK), says("I have read it.")]) as stub:
        await stage.say("what does a.md say?")
        assert len(stub.replies) == 1
        (line,) = await review_queue.pending_reviews(stage.world, TEAM, ANN)
        action = await stage.now(line.execution)
        assert SECRET not in str([note.body for note in stage.wall.notes])
        await judged(stage, action, edited=OTHER)
        assert len(stub.replies) == 2
        assert "nothing to see" in stub.replies[1].results[0]
        assert SECRET not in str(stub.replies)


async def test_a_planner_is_told_that_a_result_was_dropped_and_never_sees_it(stage: Scene):
    reviewing(stage, Phase.AFTER, "desk.write")
    written = (WRITE[0], {"path": "a.md", "content": "new"})
    async with thinking(stage, [calls(written), says("Then not.")]) as stub:
        await stage.say("make a.md say new")
        (waiting,) = await stage.ledger.pending(TEAM)
        await stage.confirm(waiting)
        await stage.play()
        assert len(stub.replies) == 1
        await judged(stage, await stage.now(waiting.id), REJECT, comment="none of its business")
        assert stub.replies[1].results[0].startswith("status: dropped. It ran.")
        assert "exists" not in stub.replies[1].results[0]


async def test_a_review_before_and_one_after_are_two_decisions(stage: Scene):
    reviewing(stage, Phase.BEFORE)
    action = await stage.prepare(path="a.md", content="x")
    reviewing(stage, Phase.AFTER)
    first = ReviewRequest(action.id, action.id, version_before(action), APPROVE, TEAM, ANN)
    assert (await step_review.decide_review(stage.world, first)).ok  # type: ignore[union-attr]
    await stage.play()
    assert isinstance(await step_review.decide_review(stage.world, first), ReviewConflict)
    await judged(stage, await stage.now(action.id))
    found = await review_queue.history(stage.world, TEAM, action.id)
    assert [one.trigger_phase for one in found] == [Phase.BEFORE, Phase.AFTER]


async def test_a_read_that_was_reviewed_has_changed_nothing(stage: Scene):
    """Where people are asked after changes alone, nobody is asked whether it was what they needed."""
    reviewing(stage, Phase.AFTER, "desk.look")
    stage.world = replace(stage.world, switches=lambda channel: Switches(satisfaction="changes"))
    stage.planner.script = [Propose((Call("desk", "look", {"path": "a.md"}),))]
    await stage.say("what does a.md say?")
    (line,) = await review_queue.pending_reviews(stage.world, TEAM, ANN)
    await judged(stage, await stage.now(line.execution))
    (task,) = await stage.ledger.tasks_of(stage.session)
    assert (task.state, task.changed) == (TaskState.DONE, False)
