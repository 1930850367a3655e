"""Reviews through Slack as people see them: looked at before and after, changed, rejected, taken back."""

from __future__ import annotations

import pytest

from gate.rules.planner_port import Call, ProposedStep
from gate.rules.task import StepState
from gate.rules.task_states import TaskState
from gate.tasks import review_queue
from tests.handlers.slack_task import Story, begun, proposes, write
from tests.slack_app import ANN, BEN, TEAM, Edge
from tests.views.samples import shown
from views.edit_form import VALUE
from views.result_review_card import RESULT
from views.task_modals import FEEDBACK


async def looked_after(http: Edge, *more: ProposedStep) -> Story:
    """The first write has run and waits for a look."""
    story = await begun(http, proposes(write("a.md", title="look after it"), *more))
    await story.click("plan", "plan_approve")
    assert "The operator wants its result reviewed (“second looks”)." in story.text("pause")
    return story


async def history(http: Edge, story: Story) -> list[tuple[str, str, str]]:
    task = await story.task()
    found = await review_queue.history(http.world, TEAM, task.id)
    return [(one.trigger_phase.name, one.decision.value, one.comment) for one in found]


@pytest.mark.slow
async def test_a_step_under_review_asks_on_its_own_card_although_the_plan_was_approved(http: Edge) -> None:
    story = await begun(http, proposes(write("a.md", title="look before it"), write("b.md")))
    await story.click("plan", "plan_stepwise")
    task = await story.task()
    (action,) = await http.ledger.pending(TEAM)
    assert http.desk.notes == {}
    ours = http.ws.by_app("C_OPS", story.said.ts)
    (card,) = [m for m in ours if (m.metadata or {}).get("event_payload", {}).get("key") == action.id]
    assert "Paused for review before it runs" in shown(card.blocks)
    assert "Review: first looks" in shown(card.blocks)
    await http.ws.as_(ANN).click(card, "confirm")
    await http.settled()
    assert "a.md" in http.desk.notes
    assert await history(http, story) == [("BEFORE", "APPROVE", "")]
    assert task.plan


async def test_a_result_is_changed_in_its_window_for_the_steps_after_it(http: Edge) -> None:
    uses = ProposedStep(Call("desk", "write", {"path": "b.md"}), refs={"content": "{steps.s1.content}"})
    story = await looked_after(http, uses)
    await story.click("pause", "review_revise")
    view = await story.window("review_revise")
    assert "JSON" not in shown(view.blocks)
    await story.submit({f"{RESULT}.content": {VALUE: "by hand"}, FEEDBACK: {FEEDBACK: "a typo"}})
    task = await story.task()
    assert task.plan
    step = task.plan.steps[0]
    assert (step.result["content"], step.edited, step.passed) == ("by hand", True, ANN)
    assert "<@U_ANN> changed what later steps get of it." in story.text("pause")
    assert await history(http, story) == [("AFTER", "APPROVE", "a typo")]
    (action,) = await http.ledger.pending(TEAM)
    assert b"by hand" in action.args


async def test_a_rejected_result_is_dropped_and_its_undo_offered(http: Edge) -> None:
    story = await looked_after(http, write("b.md"))
    assert "*Reject result…* drops what the step gave" in story.text("pause")
    await story.click("pause", "review_refuse", BEN)
    await http.ws.wait_for(lambda: http.ws.as_(BEN).modal)
    assert await history(http, story) == []
    await story.click("pause", "review_refuse")
    await story.window("review_refuse")
    await story.submit({FEEDBACK: {FEEDBACK: "the wrong file"}})
    task = await story.task()
    assert task.plan
    assert (task.state, task.plan.steps[0].state) == (TaskState.PAUSED, StepState.FAILED)
    assert "its result was rejected: “the wrong file”. What it gave is dropped" in story.text("pause")
    assert story.buttons("pause") == ["step_retry", "step_skip", "review_undo", "task_abort"]
    assert http.desk.notes == {"a.md": "new"}
    await story.click("pause", "review_undo")
    assert http.desk.notes == {}
    assert await history(http, story) == [("AFTER", "REJECT", "the wrong file")]


async def test_a_result_that_was_left_as_it_was_is_simply_approved(http: Edge) -> None:
    story = await looked_after(http)
    await story.click("pause", "review_revise")
    await story.window("review_revise")
    await story.submit({})
    task = await story.task()
    assert task.plan
    assert (task.plan.steps[0].edited, task.state) == (False, TaskState.SATISFACTION)
