"""How many messages of ours remain in a thread, for each kind of story, and what its last one shows."""

from __future__ import annotations

from gate.rules.planner_port import Call, Planned
from tests.handlers.slack_task import begun, proposes, write
from tests.slack_app import OPS, Edge
from workspace.state import Message


def messages(edge: Edge, ts: str) -> list[Message]:
    return edge.ws.by_app(OPS, ts)


async def test_the_steps_that_the_approval_of_a_plan_covers_have_no_card(edge: Edge) -> None:
    story = await begun(edge, proposes(write("a.md"), write("b.md")))
    await story.click("plan", "plan_approve")
    texts = [message.text for message in messages(edge, story.said.ts)]
    assert not [text for text in texts if text.startswith(("Wrote", "Working: Write"))]


async def test_a_plan_that_reads_is_two_messages_and_the_last_shows_what_it_read(edge: Edge) -> None:
    edge.desk.notes.update({"a.md": "alpha says hello", "b.md": "beta says\nbye"})
    look = [Planned(Call("desk", "look", {"path": path})) for path in ("a.md", "b.md")]
    story = await begun(edge, proposes(*look, write("c.md")))
    await story.click("plan", "plan_approve")
    assert len(messages(edge, story.said.ts)) == 2
    last = story.text("satisfaction")
    assert "alpha says hello" in last
    assert "beta says\nbye" in last
    assert "{" not in last
