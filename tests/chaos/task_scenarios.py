"""Whole tasks through whatever happens to the replicas: a plan, a question with a pause, a talk that is built."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gate.rules.ports import Unavailable
from gate.rules.task import StepState, Task
from gate.rules.task_states import TaskState
from storage.audit_log import entries
from tests.chaos.action_scenario import ANN, OPS, Stage, task_id
from tests.chaos.recording_server import ASKED, strikes
from tests.chaos.replicas import SECONDS
from views import task_buttons as buttons
from workspace.faults import NotPossible
from workspace.state import Message

MARKS = ("m1", "m2", "m3")
PLAN = "\n".join(f"bell.toll mark={mark}" for mark in MARKS)
S = TaskState


@dataclass
class Walk:
    """A task that Ann asked for, and her patience: she presses until it counts."""

    stage: Stage
    said: Message

    @property
    def id(self) -> str:
        return task_id(self.said)

    async def now(self) -> Task | None:
        with contextlib.suppress(Unavailable):
            return await self.stage.ledger.task(self.id)
        return None

    async def until(self, *states: TaskState) -> Task:
        """The task once it is in one of these states."""
        async with asyncio.timeout(SECONDS):
            while True:
                task = await self.now()
                if task is not None and task.state in states:
                    return task
                await asyncio.sleep(0.05)

    async def press(self, button: str, away: Callable[[Task], bool]) -> None:
        """Press the newest such button until the task has moved `away`."""
        async with asyncio.timeout(SECONDS):
            while (task := await self.now()) is None or not away(task):
                card = next((m for m in reversed(self._cards()) if button in str(m.blocks)), None)
                if card is not None:
                    with contextlib.suppress(NotPossible):  # redrawn since
                        await self.stage.ws.as_(ANN).click(card, button)
                await asyncio.sleep(0.1)

    def _cards(self) -> list[Message]:
        return self.stage.ws.by_app(OPS, self.said.ts)

    async def reply(self, text: str) -> None:
        await self.stage.ws.as_(ANN).say(OPS, text, self.said.ts)

    async def assert_tolled(self) -> None:
        """Each step's call was made once, and its action started once."""
        assert {mark: strikes(self.stage.bell.log, ASKED)[mark] for mark in MARKS} == dict.fromkeys(MARKS, 1)
        task = await self.now()
        assert task is not None
        assert task.plan is not None
        assert [step.state for step in task.plan.steps] == [StepState.DONE] * len(MARKS)
        started = [
            line.entry.action async for line in entries(self.stage.sql) if line.entry.event == "started"
        ]
        assert sorted(started) == sorted(step.action for step in task.plan.steps)


async def asked(stage: Stage, text: str) -> Walk:
    return Walk(stage, await stage.ws.as_(ANN).say(OPS, f"<@UBOT> {text}"))


async def plan(stage: Stage) -> Walk:
    """Looked at, approved as a whole, run, judged."""
    walk = await asked(stage, PLAN)
    await walk.press(
        buttons.APPROVE, lambda task: task.state not in (S.CLARIFYING, S.PLANNING, S.PLAN_REVIEW)
    )
    await walk.until(S.SATISFACTION)
    await walk.press(buttons.SATISFIED, lambda task: task.state is S.DONE)
    return walk


async def timed(stage: Stage) -> Walk:
    """The first step is of a new kind: it is shown, and goes on when nobody holds it, once."""
    walk = await plan(stage)
    alone = [line.entry async for line in entries(stage.sql) if line.entry.event == "task_auto_proceeded"]
    assert [(entry.actor, entry.user_confirmed) for entry in alone] == [("system", False)]
    return walk


async def paused(stage: Stage) -> Walk:
    """Paused after each step, told something, and gone on with."""
    walk = await asked(stage, f"[review=after_step]\n{PLAN}")
    await walk.press(
        buttons.APPROVE, lambda task: task.state not in (S.CLARIFYING, S.PLANNING, S.PLAN_REVIEW)
    )
    for number in range(1, len(MARKS) + 1):
        await walk.until(S.PAUSED, S.SATISFACTION)
        await walk.press(
            buttons.RESUME, lambda task, n=number: task.pauses > n or task.state is S.SATISFACTION
        )
    await walk.press(buttons.SATISFIED, lambda task: task.state is S.DONE)
    return walk


async def talked(stage: Stage) -> Walk:
    """Talked about first, understood, confirmed, planned, and stopped at nothing."""
    walk = await asked(stage, f"[conversational] {PLAN}")
    await walk.until(S.TALKING)
    await walk.press(buttons.IMPLEMENT, lambda task: bool(task.requirements) or task.state is not S.TALKING)
    await walk.press(buttons.CONFIRM, lambda task: task.state is not S.TALKING)
    await walk.press(buttons.APPROVE, lambda task: task.state in (S.RUNNING, S.SATISFACTION))
    await walk.press(buttons.SATISFIED, lambda task: task.state is S.DONE)
    return walk


Story = Callable[[Stage], Awaitable[Walk]]
# Each story with the changes of its task that a replica dies before or after.
STORIES: dict[Story, tuple[str, ...]] = {
    plan: ("opened", "plan", "present", "approve", "step_begun", "step_done", "finish", "settle"),
    timed: ("auto_proceeded", "pause"),
    paused: ("pause", "continue"),
    talked: ("talk", "compiled"),
}
POINTS = [
    (story, f"{when} task_{event}")
    for story, events in STORIES.items()
    for event in events
    for when in ("before", "after")
]
