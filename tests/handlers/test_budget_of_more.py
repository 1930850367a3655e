"""What comes on top of the smooth path of a plan: a typed step, each pause, each reissue, each approval."""

from __future__ import annotations

import pytest

from gate.rules.planner_port import ProposedStep
from tests.handlers.slack_task import Story, begun, proposes, shred, write
from tests.handlers.test_message_budgets import messages
from tests.slack_app import ANN, BEN, CLEO, Edge
from tests.views.samples import buttons
from workspace.state import Message

THREE = [write(path) for path in ("a.md", "b.md", "c.md")]
SMOOTH = 2  # the plan and the answer


def remaining(story: Story) -> list[str]:
    return [message.text for message in messages(story.edge, story.said.ts)]


def waiting(story: Story, what: str) -> Message:
    (card,) = [m for m in messages(story.edge, story.said.ts) if m.text == f"Prepared: {what}"]
    return card


async def press(story: Story, card: Message, button: str, user: str = ANN) -> None:
    await story.edge.ws.as_(user).click(card, button)
    await story.edge.settled()


async def approved(edge: Edge, *steps: ProposedStep, text: str = "tidy up") -> Story:
    story = await begun(edge, proposes(*steps), text=text)
    assert len(remaining(story)) == 1
    await story.click("plan", "plan_approve")
    return story


async def test_a_typed_step_of_a_plan_of_three_adds_its_card(edge: Edge) -> None:
    edge.desk.notes["b.md"] = "old"
    story = await approved(edge, write("a.md"), shred("b.md"), write("c.md"))
    assert len(remaining(story)) == 2
    await press(story, waiting(story, "Shred b.md"), "review")
    await story.window("typed")
    (action,) = await edge.ledger.pending("T1")
    await story.submit({"phrase": {"phrase": action.phrase}})
    assert edge.desk.notes == {"a.md": "new"}
    assert len(remaining(story)) == 3  # a deletion is always looked at: its card, and the pause
    await story.click("pause", "task_resume")
    assert edge.desk.notes == {"a.md": "new", "c.md": "new"}
    plan, looked_at, answer = remaining(story)
    assert plan.startswith("Finished, 3 of 3 steps done")
    assert looked_at == "Shredded b.md"  # what a person has looked at keeps its card
    assert answer.endswith("Does this meet your needs?")


async def test_each_pause_adds_one_message_while_it_waits(edge: Edge) -> None:
    story = await approved(edge, *THREE, text="[manual] make three notes")
    for done in (1, 2, 3):
        assert len(edge.desk.notes) == done
        _, pause = remaining(story)
        assert pause.startswith("Paused for a look at what was done")
        await story.click("pause", "task_resume")
    assert len(remaining(story)) == SMOOTH


@pytest.mark.slow
async def test_a_reissue_adds_one_message_to_the_two_of_a_plan(edge: Edge) -> None:
    edge.desk.notes["b.md"] = "old"
    story = await begun(edge, proposes(write("a.md"), write("b.md")))
    edge.desk.notes["b.md"] = "changed"
    await story.click("plan", "plan_approve")
    assert len(remaining(story)) == 2  # the step that changed asks once more, on its card
    edge.desk.notes["b.md"] = "changed again"
    await press(story, waiting(story, "Write b.md"), "confirm")
    await press(story, waiting(story, "Write b.md"), "confirm")
    assert edge.desk.notes == {"a.md": "new", "b.md": "new"}
    (added,) = [text for text in remaining(story) if text.startswith("Cancelled: ")]
    assert added == "Cancelled: Write b.md"
    assert len(remaining(story)) == SMOOTH + 1


@pytest.mark.slow
async def test_each_step_that_others_approve_adds_one_message_until_it_went_well(edge: Edge) -> None:
    put_back = [ProposedStep(write(path).call) for path in ("a.md", "b.md")]
    put_back = [ProposedStep(type(one.call)("desk", "put_back", one.call.args)) for one in put_back]
    story = await approved(edge, *put_back, write("c.md"))
    for path in ("a.md", "b.md"):
        assert len(remaining(story)) == 2
        card = waiting(story, f"Put back {path}")
        await press(story, card, "confirm", BEN)
        assert "confirm" in buttons(card.blocks)
        await press(story, card, "confirm", CLEO)
    assert len(edge.desk.notes) == 3
    assert len(remaining(story)) == SMOOTH
