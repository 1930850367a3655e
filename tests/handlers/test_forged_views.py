"""Views that somebody with our token could publish: their buttons are real, what stands around them is not."""

from __future__ import annotations

from handlers.slack.buttons import Buttons
from handlers.slack.listener import Reply
from handlers.slack.payloads import Click
from tests.slack_app import ANN, TEAM, Edge


async def test_a_confirm_in_app_home_or_in_a_modal_confirms_nothing(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    handle = Buttons(edge.world).all()["confirm"]
    with edge.nothing_ran():
        reply = await handle(Click(TEAM, ANN, "confirm", card.value, "trigger", in_private_list=True))
        await edge.settled()
    assert isinstance(reply, Reply)
    assert "does not stand on a card of mine" in reply.text
    assert (await card.action()).state == "prepared"
