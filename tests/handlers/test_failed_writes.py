"""A write that fails, in Slack: nobody is asked whether it was right, and a model does not try it for ever."""

from __future__ import annotations

from gate.rules.action import Session
from gate.rules.task_states import TaskState
from tests.handlers.test_message_budgets import messages, thinking
from tests.model_stub import calls
from tests.slack_app import AGES, OPS, Edge
from tests.views.samples import buttons, shown

SAME = calls(("desk__write", {"path": "a.md", "content": "hello"}))


async def test_a_write_that_failed_asks_nobody_whether_it_met_their_needs(edge: Edge) -> None:
    card = await edge.propose("write", path="a.md", content="hello")
    edge.desk.behave = "says no"
    await card.click("confirm")
    assert card.text == "Failed: Write a.md"
    assert card.buttons == ["full"]
    assert not [m for m in messages(edge, card.said.ts) if "needs?" in shown(m.blocks)]
    (task,) = await edge.ledger.tasks_of(card.session)
    assert task.state is TaskState.DONE


async def test_a_model_that_repeats_the_call_that_failed_is_stopped_after_the_second(edge: Edge) -> None:
    edge.desk.behave = "says no"
    async with thinking(edge, *[SAME] * 6) as stub:
        said = await edge.ann.say(OPS, "<@UBOT> please write a.md")
        await edge.ws.wait_for(lambda: messages(edge, said.ts), AGES)
        await edge.settled()
        for _ in range(2):
            (card,) = [m for m in messages(edge, said.ts) if "confirm" in buttons(m.blocks)]
            await edge.ann.click(card, "confirm")
            await edge.settled()
    *failed, told = messages(edge, said.ts)
    assert [m.text for m in failed] == ["Failed: Write a.md"] * 2
    assert "Write failed twice in the same way, so I do not try it again." in shown(told.blocks)
    assert buttons(told.blocks) == []
    assert (len(stub.requests), len(edge.desk.calls)) == (3, 2)
    (task,) = await edge.ledger.tasks_of(Session("T1", OPS, said.ts))
    assert task.state is TaskState.DONE
