"""A model that reads and answers, through Slack: its answer is the one message, and is not read for a second time."""

from __future__ import annotations

import asyncio

import pytest

from gate.rules.action import Session
from gate.rules.task import Assessment, Task
from gate.rules.task_states import TaskState
from tests.handlers.test_message_budgets import messages, thinking
from tests.model_stub import calls, says
from tests.slack_app import AGES, OPS, Edge
from tests.views.samples import shown

LOOKS = [calls(("desk__look", {"path": path})) for path in ("a.md", "b.md")]
NOTES = {"a.md": "the rent is 900", "b.md": "the rent is 950"}
ANSWERS = says("b.md asks for more."), says("By 50.")
PLANNED = Assessment(60, 3)


async def tasks(edge: Edge, ts: str) -> list[Task]:
    return list(await edge.ledger.tasks_of(Session("T1", OPS, ts)))


async def asked(edge: Edge, text: str, ts: str | None = None, *, count: int) -> str:
    """Ann asks this; wait until so many messages of ours stand in the thread."""
    said = await edge.ann.say(OPS, f"<@UBOT> {text}", ts)
    thread = ts or said.ts
    await edge.ws.wait_for(lambda: len(messages(edge, thread)) == count, AGES)
    await edge.settled()
    return thread


async def test_a_model_that_reads_and_answers_while_it_plans_leaves_one_message(edge: Edge) -> None:
    edge.desk.notes |= NOTES
    edge.planner.assessments = [PLANNED]
    async with thinking(edge, *LOOKS, says("b.md asks for more.")):
        ts = await asked(edge, "which rent is higher, that of a.md or of b.md?", count=1)
    (answer,) = messages(edge, ts)
    assert shown(answer.blocks) == "b.md asks for more."
    (task,) = await tasks(edge, ts)
    assert (task.state, edge.desk.reads) == (TaskState.DONE, 2)


async def test_a_question_that_follows_an_answer_adds_no_read(edge: Edge) -> None:
    edge.desk.notes |= NOTES
    edge.planner.assessments = [PLANNED]
    async with thinking(edge, *LOOKS, *ANSWERS):
        ts = await asked(edge, "which rent is higher, that of a.md or of b.md?", count=1)
        await asked(edge, "by how much?", ts, count=2)
    assert shown(messages(edge, ts)[1].blocks) == "By 50."
    assert edge.desk.reads == 2
    assert {task.state for task in await tasks(edge, ts)} == {TaskState.DONE}


async def test_a_question_that_follows_a_plan_of_reads_adds_no_read(edge: Edge) -> None:
    edge.desk.notes |= NOTES
    steps = [
        {"tool": "desk__look", "title": f"Read {path}", "arguments": {"path": path}}
        for path in ("a.md", "b.md")
    ]
    edge.planner.assessments = [PLANNED]
    async with thinking(edge, calls(("propose_plan", {"steps": steps})), *ANSWERS):
        ts = await asked(edge, "which rent is higher, that of a.md or of b.md?", count=2)
        assert "b.md asks for more." in shown(messages(edge, ts)[1].blocks)
        await asked(edge, "by how much?", ts, count=3)
    assert shown(messages(edge, ts)[2].blocks) == "By 50."
    assert edge.desk.reads == 2


@pytest.mark.parametrize("assessing", [False, True], ids=["while-it-replies", "while-it-assesses"])
async def test_after_a_stop_while_a_model_thinks_no_further_request_goes_out(
    edge: Edge, monkeypatch: pytest.MonkeyPatch, assessing: bool
) -> None:
    edge.desk.notes |= NOTES
    async with thinking(edge, *LOOKS, says("b.md asks for more.")) as stub:
        if assessing:
            assert edge.planner.thinks
            monkeypatch.setattr(edge.planner, "assess", edge.planner.thinks.assess)
        stub.held = asyncio.Event()
        said = await edge.ann.say(OPS, "<@UBOT> which rent is higher?")
        await edge.ws.wait_for(lambda: stub.requests, AGES)
        await edge.ann.say(OPS, "<@UBOT> stop", said.ts)
        await edge.ws.wait_for(lambda: sum(run.name == "take_in" for run in edge.pump.carried) == 2, AGES)
        stub.held.set()
        await edge.settled()
        assert [heard.assessing for heard in stub.requests] == [assessing]
    (task,) = await tasks(edge, said.ts)
    assert (task.state, edge.desk.reads) == (TaskState.STOPPED_BY_USER, 0)
    assert [one.text for one in messages(edge, said.ts)] == ["I stopped. Nothing more of it runs."]
