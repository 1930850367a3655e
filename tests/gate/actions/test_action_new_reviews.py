"""A review before the call that the operator wants since a yes was given, or since a card stands there, is asked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.job_routes import jobs
from gate.actions import batch, edit, reissue
from gate.actions.prepare import CallRequest, prepare
from gate.rules import batch_receipt
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.ids import derive_id
from gate.rules.planner_port import Call
from gate.rules.reviews import Phase
from gate.tasks import plan, review_queue
from handlers.gateway.results import action_result
from tests.gate.actions.test_action_batch import pressed, proposed
from tests.gate.actions.test_action_grants import granted
from tests.gate.gate_setup import ANN, TEAM, Scene, nothing_ran
from tests.gate.plan_setup import on_plan, planned, waiting, write, wrote
from tests.gate.tasks.test_task_step_review import happened, records, reviewing

NAMED = {"any step": {}, "by title": {"steps": ("the first",)}, "by id": {"steps": ("s1",)}}


async def asked_and_run(stage: Scene, path: str) -> None:
    """The call waits for its review now; a yes to that runs it and is on record."""
    fresh = await waiting(stage)
    assert (fresh.review, fresh.shares) == ("look at it", "")
    paused = await happened(stage, "workflow_paused")
    assert [body["triggerPhase"] for _, body in paused] == ["BEFORE_EXECUTION"]
    assert [one.key for one in await review_queue.pending_reviews(stage.world, TEAM, ANN)] == [fresh.id]
    assert (await stage.confirm(fresh)).code == "confirmed"
    await stage.play()
    assert path in wrote(stage)


async def test_a_review_wanted_while_a_card_waits_is_asked_on_a_new_one(stage: Scene) -> None:
    action = await stage.prepare(path="a.md", content="x")
    reviewing(stage, Phase.BEFORE)
    with nothing_ran(stage):
        assert (await stage.confirm(action)).code == "changed"
        await stage.play()
    await asked_and_run(stage, "a.md")
    assert await records(stage, action.id) == [(action.id, "BEFORE", "APPROVE", ANN)]


async def test_a_review_wanted_after_the_click_is_asked(stage: Scene) -> None:
    action = await stage.prepare(path="a.md", content="x")
    assert (await stage.confirm(action)).code == "confirmed"
    reviewing(stage, Phase.BEFORE)
    with nothing_ran(stage):
        await stage.play()
    assert (await stage.now(action.id)).state is State.CANCELLED
    await asked_and_run(stage, "a.md")


async def test_a_review_wanted_after_a_grant_said_yes_is_asked(stage: Scene) -> None:
    await granted(stage)
    asked = Call("desk", "write", {"path": "b.md", "content": "x"})
    await prepare(stage.world, CallRequest("b1", stage.session, ANN, asked))
    action = await stage.now("b1")
    assert (action.state, bool(action.grant)) == (State.APPROVED, True)
    reviewing(stage, Phase.BEFORE)
    await stage.play()
    assert wrote(stage) == ["drafts/a.md"]
    await asked_and_run(stage, "b.md")


async def approved_step(stage: Scene) -> Action:
    """The action of the first step of an approved plan, before anything carries it out."""
    task = await planned(stage, write("a.md", title="the first"), write("b.md"))
    assert (await plan.approve_all(stage.world, on_plan(task))).ok
    routes = jobs(stage.world)
    while due := [r for r in stage.runs if r.key not in stage.done and not r.delay and r.name != "carry_out"]:
        for run in due:
            stage.done.add(run.key)
            await routes[run.name].work(*run.args)
    (run,) = (r for r in stage.runs if r.name == "carry_out" and r.key not in stage.done)
    return await stage.now(run.args[0])


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("named", NAMED.values(), ids=NAMED)
async def test_a_review_wanted_after_a_plan_was_approved_is_asked(
    stage: Scene, named: dict[str, Any]
) -> None:
    action = await approved_step(stage)
    assert action.state is State.APPROVED
    reviewing(stage, Phase.BEFORE, **named)
    with nothing_ran(stage):
        await stage.play()
    assert (await stage.now(action.id)).state is State.CANCELLED
    await asked_and_run(stage, "a.md")


async def test_a_review_of_other_steps_voids_no_yes(stage: Scene) -> None:
    await approved_step(stage)
    reviewing(stage, Phase.BEFORE, steps=("another step",))
    await stage.play()
    assert wrote(stage) == ["a.md", "b.md"]


async def test_a_shared_yes_covers_nothing_that_is_to_be_reviewed_since(stage: Scene) -> None:
    actions = await proposed(stage)
    reviewing(stage, Phase.BEFORE)
    await batch.confirm_all(stage.world, pressed(stage, actions))
    with nothing_ran(stage):
        await stage.play()
    now = [await stage.now(action.id) for action in actions]
    assert [(one.state, one.review, one.shares) for one in now] == [(State.PREPARED, "look at it", "")] * 3
    assert not any(map(batch_receipt.is_coverable, now))


@pytest.mark.parametrize("how", ["drifted", "expired"])
async def test_an_edited_call_that_is_asked_again_says_who_edited_it(stage: Scene, how: str) -> None:
    reviewing(stage, Phase.BEFORE)
    action = await stage.prepare(path="a.md", content="x")
    assert await edit.submit(stage.world, stage.press(action), {"path": "b.md", "content": "y"})
    await stage.play()
    if how == "drifted":
        assert (await stage.confirm(await stage.now(action.id))).ok
        stage.desk.notes["b.md"] = "somebody else's"
        await stage.play()
    else:
        stage.travel(301)
        await stage.play(timers=True)
        assert (await reissue.reissue_by_press(stage.world, stage.press(await stage.now(action.id)))).ok
        await stage.play()
    again = await stage.now(derive_id("renew", action.id))
    assert (again.edited_by, json.loads(again.proposed)["path"]) == (ANN, "a.md")
    assert (await stage.confirm(again)).ok
    await stage.play()
    assert wrote(stage) == ["b.md"]
    assert "Before that, U_ANN changed the arguments to" in str(
        action_result(await stage.now(again.id)).content
    )
    (record,) = await stage.ledger.reviews.of(TEAM, again.id)
    assert (record.original_data["path"], record.modified_data["path"]) == ("a.md", "b.md")
