"""The story of one action, through Slack as people see it, in both modes."""

from __future__ import annotations

from gate.states import State
from tests.edge import ANN, BEN, Edge, said_in


async def test_a_write_is_confirmed_done_and_taken_back(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    assert card.text == "Prepared: Write a.md"
    assert card.buttons == ["confirm", "edit", "cancel", "more"]
    assert edge.desk.calls == []

    assert (await card.click("confirm")).ok
    assert card.text == "Done: Write a.md"
    assert card.buttons == ["undo", "full"]
    assert edge.desk.notes == {"a.md": "hello"}

    assert (await card.click("undo")).ok
    assert card.text == "Undone: Write a.md"
    assert edge.desk.notes == {}
    assert card.buttons == ["full"]
    assert edge.hints() == []
