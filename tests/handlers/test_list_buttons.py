"""Buttons on lists that one person alone sees."""

from __future__ import annotations

from tests.slack_app import ANN, OPS, Edge


async def test_what_is_said_after_a_click_on_a_list_stands_beside_it(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    await card.click("confirm")
    await edge.ann.command("/undo", channel=OPS)
    listed = next(m for m in edge.ws.messages(OPS) if m.visible_to == ANN)
    assert (await edge.ann.click(listed, "undo")).ok
    await edge.told(ANN, "I am taking it back.")
    told = edge.ws.messages(OPS)[-1]
    assert (told.visible_to, told.thread_ts) == (ANN, None)
    await edge.settled()
    assert edge.desk.notes == {}
