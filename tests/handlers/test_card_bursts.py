"""What happens in a moment is drawn once; what takes long shows that it runs."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.slack_messages import Statuses
from gate.rules.jobs import Run
from gate.rules.task_states import TaskState
from tests.slack_app import OPS, Edge
from tests.views.task_samples import task

FOREVER = 3600.0
DONE, CLARIFYING = TaskState.DONE, TaskState.CLARIFYING


async def test_a_quick_write_is_posted_once_and_updated_once(
    http: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gate.actions.action_versions.PROGRESS_DELAY", FOREVER)
    monkeypatch.setattr("bot.slack_messages.PROGRESS_DELAY", FOREVER)
    card = await http.propose("write", path="a.md", content="hello")
    await card.click("confirm")
    assert card.text == "Wrote a.md"
    calls = [len(http.ws.calls(name)) for name in ("chat.postMessage", "chat.update")]
    assert calls == [1, 1]
    said = [call.sent["status"] for call in http.ws.calls("agents.sessions.setStatus")]
    assert said == ["suspended", "active"]
    assert sum(run.name == "card" for run in http.pump.carried) == 2


async def test_a_call_that_takes_long_is_shown_to_run(http: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gate.actions.action_versions.PROGRESS_DELAY", 0.01)
    card = await http.propose("write", path="a.md", content="hello")
    http.desk.gate = asyncio.Event()
    await http.ann.click(card.message, "confirm")
    await http.ws.wait_for(lambda: card.text.startswith("Working:"))
    http.desk.gate.set()
    await card.shows("Done")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", ["draw", "draw_task", "post"])
async def test_a_run_that_an_earlier_version_left_asks_for_its_card(http: Edge, name: str) -> None:
    card = await http.propose("write", path="a.md", content="hello")
    http.pump.carried.clear()
    http.pump.start(Run(name, f"{name}:of-before", (card.id,)))
    await http.settled()
    kind = {"draw": "action", "draw_task": "task", "post": "note"}[name]
    assert [run.args for run in http.pump.carried if run.name == "card"] == [(kind, card.id, "0")]
    assert len(http.ws.by_app(OPS, card.said.ts)) == 1


class Agent:
    """Slack, as far as it knows how threads stand."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.told = asyncio.Event()

    async def agents_sessions_setStatus(self, *, channel_id: str, thread_ts: str, status: str) -> None:
        self.said.append(status)
        self.told.set()

    async def hears(self) -> None:
        await asyncio.wait_for(self.told.wait(), 20)
        self.told.clear()


def statuses() -> tuple[Statuses, Agent]:
    client: Any = Agent()
    return Statuses(client), client


async def test_a_request_that_is_answered_at_once_is_never_said_to_be_worked_on() -> None:
    made, agent = statuses()
    made.signal(task(CLARIFYING))
    made.signal(task(DONE))
    await made.set(task().session, "suspended")
    assert agent.said == ["suspended"]


async def test_a_request_that_takes_long_is_worked_on_until_it_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.slack_messages.PROGRESS_DELAY", 0.01)
    made, agent = statuses()
    for _ in range(2):
        made.signal(task(CLARIFYING))
    await agent.hears()
    made.signal(task(DONE))
    await agent.hears()
    assert agent.said == ["processing", "active"]


async def test_a_card_says_how_its_thread_stands_instead_of_its_task(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack_messages.PROGRESS_DELAY", 0.01)
    made, agent = statuses()
    made.signal(task(CLARIFYING))
    await agent.hears()
    await made.set(task().session, "suspended")
    made.signal(task(DONE))
    assert agent.said == ["processing", "suspended"]


async def test_a_thread_is_told_once_that_nothing_goes_on_there() -> None:
    made, agent = statuses()
    for status in ("active", "active", "suspended", "active", ""):
        await made.set(task().session, status)
    assert agent.said == ["active", "suspended", "active"]


async def test_nothing_is_said_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.slack_messages.PROGRESS_DELAY", 0.01)
    made, agent = statuses()
    made.signal(task(CLARIFYING))
    await made.stop()
    await asyncio.wait([asyncio.create_task(agent.told.wait())], timeout=0.05)
    assert agent.said == []
