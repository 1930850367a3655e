"""A plan waits for its approval for a time; then nothing of what was shown counts, until somebody asks again."""

from __future__ import annotations

import math

import pytest

from gate.rules.ports import Limits
from gate.rules.task import Task
from gate.rules.task_states import TaskState as S
from gate.tasks import plan as flow
from gate.tasks import plan_review
from tests.gate.gate_setup import ANN, BEN, YEAR, Scene, nothing_ran
from tests.gate.plan_setup import entries, look, on_plan, only, planned, pressed, shred, steps, write, wrote


async def timer(stage: Scene) -> Task:
    """The time of the plan comes to its end."""
    await stage.play(timers=True)
    return await only(stage)


async def left(stage: Scene) -> list[int]:
    """The minutes that each task still waits, begun ones included."""
    return [math.ceil(one.left / 60) for one in await stage.ledger.due(YEAR)]


async def test_a_plan_waits_for_seven_days_unless_the_operator_says_otherwise(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    assert await left(stage) == [7 * 24 * 60]
    stage.ledger.limits = Limits(plan=60)
    await pressed(
        stage, flow.modify, on_plan(task), [flow.StepChange("s1", 1, drop=True), flow.StepChange("s2", 2)]
    )
    assert await left(stage) == [1]


@pytest.mark.slow
@pytest.mark.parametrize("press", [flow.approve_all, flow.step_by_step])
async def test_what_nobody_decided_on_in_time_cannot_be_approved_any_more(both: Scene, press):
    before = await planned(both, write("a.md"), look("a.md"), shred("b.md"))
    after = await timer(both)
    assert (after.state, after.plan.lapsed, after.plan.version) == (S.PLAN_REVIEW, True, 2)
    assert both.wall.tasks[after.id].plan.lapsed  # its card is drawn anew
    assert {(step.rules, step.preflight.seal, step.preview) for step in steps(after)} == {("", "", None)}
    with nothing_ran(both):
        assert (await pressed(both, press, on_plan(before))).code == "stale"
        said = await pressed(both, press, on_plan(after))
        assert (said.ok, said.text) == (False, plan_review.LAPSED)
        await both.say("yes", mentioned=False)
    assert (await only(both)).state is S.PLAN_REVIEW


@pytest.mark.slow
async def test_asked_again_it_is_looked_at_anew_and_can_be_approved(both: Scene):
    await planned(both, write("a.md"), write("b.md"))
    lapsed = await timer(both)
    assert (await pressed(both, flow.renew_plan, on_plan(lapsed, BEN))).code == "not_allowed"
    assert (await pressed(both, flow.renew_plan, on_plan(lapsed))).ok
    fresh = await only(both)
    assert (fresh.plan.lapsed, fresh.plan.version) == (False, 3)
    assert all(step.rules and step.preview for step in steps(fresh))
    assert await left(both) == [7 * 24 * 60]
    assert not (await pressed(both, flow.renew_plan, on_plan(fresh))).ok  # there is nothing to ask again
    assert (await pressed(both, flow.approve_all, on_plan(fresh))).ok
    assert wrote(both) == ["a.md", "b.md"]
    assert [entry.actor for entry in await entries(both, "task_modify")] == ["system", ANN]


async def test_a_lapsed_plan_can_be_cancelled_or_made_anew(stage: Scene):
    await planned(stage, write("a.md"), write("b.md"))
    lapsed = await timer(stage)
    with nothing_ran(stage):
        assert (await pressed(stage, flow.cancel, on_plan(lapsed))).ok
    assert (await only(stage)).state is S.CANCELLED


async def test_the_timer_of_what_was_decided_or_changed_meanwhile_does_nothing(stage: Scene):
    task = await planned(stage, write("a.md"), write("b.md"))
    await flow.expire_plan(stage.world, "nobody", 1)
    await flow.expire_plan(stage.world, task.id, 7)
    assert not (await only(stage)).plan.lapsed
    lapsed = await timer(stage)
    await flow.expire_plan(stage.world, task.id, lapsed.plan.version)
    assert (await only(stage)).plan.version == 2
    await pressed(stage, flow.renew_plan, on_plan(lapsed))
    assert (await pressed(stage, flow.approve_all, on_plan(await only(stage)))).ok
    before = await only(stage)
    await flow.expire_plan(stage.world, before.id, before.plan.version)
    assert await only(stage) == before
