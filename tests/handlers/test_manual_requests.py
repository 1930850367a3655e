"""The mode `manual` on a simple request of two changes: a person looks at each before the next is asked for."""

from __future__ import annotations

import pytest

from gate.actions.batch import WAITS_EACH_TIME
from gate.rules.planner_port import Call, Propose
from gate.rules.task import Assessment
from gate.rules.task_states import TaskState
from tests.handlers.slack_task import Story, begun
from tests.handlers.test_message_budgets import messages
from tests.slack_app import ANN, OPS, Edge
from tests.views.samples import buttons
from workspace.state import Message

BOTH = Propose(tuple(Call("desk", "write", {"path": path, "content": "x"}) for path in ("a.md", "b.md")))


def waiting(story: Story, path: str) -> Message:
    (card,) = [m for m in messages(story.edge, story.said.ts) if m.text == f"Prepared: Write {path}"]
    return card


async def confirm(story: Story, path: str) -> None:
    card = waiting(story, path)
    assert "confirm_all" not in buttons(card.blocks)
    await story.edge.ann.click(card, "confirm")
    await story.edge.settled()


# promise: GATE-04
@pytest.mark.slow
async def test_two_changes_of_a_manual_request_wait_for_a_person_after_each(edge: Edge) -> None:
    story = await begun(edge, BOTH, assessment=Assessment(10, 1), text="[manual] write both")
    assert len(messages(edge, story.said.ts)) == 1
    await confirm(story, "a.md")
    assert (edge.desk.notes, (await story.task()).state) == ({"a.md": "x"}, TaskState.PAUSED)
    assert not [m for m in messages(edge, story.said.ts) if "b.md" in m.text]
    await story.click("pause", "task_resume")
    await confirm(story, "b.md")
    assert (edge.desk.notes, (await story.task()).state) == ({"a.md": "x", "b.md": "x"}, TaskState.PAUSED)
    await story.click("pause", "task_resume")
    assert (await story.task()).state is TaskState.SATISFACTION


async def test_confirm_all_is_refused_once_a_request_has_become_manual(edge: Edge) -> None:
    story = await begun(edge, BOTH, assessment=Assessment(10, 1), text="write both")
    (card,) = messages(edge, story.said.ts)
    await edge.ann.say(OPS, "mode manual", story.said.ts)
    await edge.told(ANN, "is in mode `manual`")
    await edge.ann.click(card, "confirm_all")
    await edge.told(ANN, WAITS_EACH_TIME)
    assert edge.desk.notes == {}
