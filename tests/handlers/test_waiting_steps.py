"""A step of a plan that waits for a decision, in Slack: what the plan's card says, and who may say how it goes on."""

from __future__ import annotations

import pytest

from gate.rules.task_states import TaskState
from tests.handlers.slack_task import Story, begun, proposes, shred, write
from tests.slack_app import AGES, BEN, OPS, Edge


async def waiting(edge: Edge) -> Story:
    """A plan of two whose first step waits for a decision."""
    edge.desk.notes["a.md"] = "old"
    story = await begun(edge, proposes(shred("a.md"), write("b.md")))
    await story.click("plan", "plan_stepwise")
    assert [one.tool for one in await edge.ledger.pending("T1")] == ["shred"]
    return story


def steps(story: Story) -> tuple[str, str]:
    """What the plan's card says above its steps, and of the one that is under way."""
    (plan,) = [block for block in story.card("plan").blocks or [] if block["type"] == "plan"]
    (now,) = [step for step in plan["tasks"] if step["status"] == "in_progress"]
    return plan["title"], now["title"]


async def test_the_card_of_a_plan_says_that_a_step_waits_for_a_decision(edge: Edge) -> None:
    story = await waiting(edge)
    assert steps(story) == ("Waiting for a decision on step 1 of 2", "1. Shred a.md (waits for a decision)")
    assert story.buttons("plan") == ["task_pause", "task_stop"]


async def test_a_changed_target_makes_an_approved_plan_wait_for_a_decision_and_say_so(edge: Edge) -> None:
    edge.desk.notes["b.md"] = "old"
    story = await begun(edge, proposes(write("a.md"), write("b.md")))
    edge.desk.notes["b.md"] = "changed"
    await story.click("plan", "plan_approve")
    assert steps(story) == ("Waiting for a decision on step 2 of 2", "2. Write b.md (waits for a decision)")


@pytest.mark.slow
@pytest.mark.parametrize("by_word", [False, True], ids=["by-button", "by-word"])
async def test_pausing_while_a_step_waits_keeps_stop(edge: Edge, by_word: bool) -> None:
    story = await waiting(edge)
    if by_word:
        await edge.ann.say(OPS, "pause", story.said.ts)
    else:
        await story.click("plan", "task_pause")
    await edge.ws.wait_for(lambda: story.has("pause"), AGES)
    await edge.settled()
    assert "task_stop" in story.buttons("pause")
    await story.click("pause", "task_stop")
    assert (await story.task()).state is TaskState.STOPPED_BY_USER
    assert edge.desk.notes == {"a.md": "old"}


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("mention", ["", "<@UBOT> "], ids=["not-mentioned", "mentioned"])
@pytest.mark.parametrize("state", [TaskState.PLAN_REVIEW, TaskState.RUNNING])
async def test_somebody_else_who_steers_a_plan_is_told_who_may(
    http: Edge, state: TaskState, mention: str
) -> None:
    story = await begun(http, proposes(shred("a.md"), write("b.md")))
    if state is TaskState.RUNNING:
        await story.click("plan", "plan_stepwise")
    before = (await story.task()).plan
    await http.ws.as_(BEN).say(OPS, f"{mention}skip the last step", story.said.ts)
    await http.told(BEN, "Only <@U_ANN> and admins say how this task goes on, so nothing changes by this.")
    await http.settled()
    task = await story.task()
    assert (task.state, task.plan, task.instructions) == (state, before, ())
