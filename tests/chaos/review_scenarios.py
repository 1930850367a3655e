"""A plan whose first step is paused for review while replicas die: what SQL and Redis say of it, and who resumes it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession

from gate.rules.access import TokenKind
from gate.rules.action_states import State
from gate.rules.ports import Unavailable
from gate.rules.reviews import Phase, ReviewDecision, version_before
from gate.rules.task import PauseReason, StepState, Task
from gate.rules.task_states import TaskState
from storage.leases import open_redis
from storage.redis_reviews import RedisPending
from storage.row_macs import row_macs_of
from tests.api.test_api_end_to_end import told
from tests.chaos.action_scenario import TEAM, Stage
from tests.chaos.recording_server import ASKED, strikes
from tests.chaos.replicas import KEY, SECONDS
from tests.chaos.task_scenarios import MARKS, PLAN, Walk, asked
from views import task_buttons as buttons

RESUMES = 6  # at once, over all replicas
STEP = "s1"
AWAY = 0  # the status where nobody listens any more


@dataclass(frozen=True)
class Paused:
    """What a decision has to name, and what the pause is made of."""

    phase: Phase
    version: int
    action: str
    state: tuple[TaskState, PauseReason, StepState, State]


def policy(home: Path, phase: Phase, step: str = STEP) -> Path:
    """A policy by which the first step waits in this phase; with "*", every call."""
    path = home / "policy.yaml"
    review = {"name": "chaos", "trigger_phase": phase.value, "steps": [step]}
    path.write_text(json.dumps({"version": 1, "reviews": [review]}))
    return path


async def line(stage: Stage, stack: AsyncExitStack) -> ClientSession:
    """Ann's line to the API, with a token of hers."""
    token = await told(stage.sql, row_macs_of(KEY.encode()), TokenKind.PERSON, 1)
    return await stack.enter_async_context(ClientSession(headers={"Authorization": f"Bearer {token}"}))


async def ask(
    stage: Stage, session: ClientSession, place: int, where: tuple[str, str], body: Any = None
) -> tuple[int, Any]:
    """One of the replicas that live; status AWAY where none answers. `where`: method and path."""
    urls = stage.fleet.urls
    if not urls:
        await asyncio.sleep(0.1)
        return AWAY, None
    base = urls[place % len(urls)].removesuffix("/slack/events")
    method, path = where
    try:
        async with session.request(method, base + path, json=body) as response:
            return response.status, await response.json()
    except (ClientError, OSError):
        await asyncio.sleep(0.1)
        return AWAY, None


async def resume(stage: Stage, session: ClientSession, where: tuple[str, str], version: int) -> Counter[int]:
    """Approve it (execution, node) by many at once, and once more as long as it waits; how often which status was
    answered."""
    said: Counter[int] = Counter()
    execution, node = where
    asked = {"execution_id": execution, "node_id": node, "version": version, "decision": "APPROVE"}
    async with asyncio.timeout(SECONDS):
        while await _waits(stage, execution):
            tries = (ask(stage, session, place, ("POST", "/resume"), asked) for place in range(RESUMES))
            said.update([status for status, _ in await asyncio.gather(*tries)])
    return said


async def _waits(stage: Stage, execution: str) -> bool:
    while True:
        try:
            return not await stage.ledger.reviews.of(TEAM, execution)
        except Unavailable:
            await asyncio.sleep(0.1)


@dataclass
class Reviewed:
    """One execution under review, seen from outside of every replica; Ann has a token of the API."""

    stage: Stage
    walk: Walk
    phase: Phase
    list: RedisPending
    redis: Any
    session: ClientSession

    @classmethod
    async def begin(cls, stage: Stage, phase: Phase, stack: AsyncExitStack) -> Reviewed:
        """Ask for the plan and approve all of it."""
        session = await line(stage, stack)
        redis = open_redis(stage.fleet.settings.redis_url)
        stack.push_async_callback(redis.aclose)
        walk = await asked(stage, PLAN)
        undecided = (TaskState.CLARIFYING, TaskState.PLANNING, TaskState.PLAN_REVIEW)
        await walk.press(buttons.APPROVE, lambda task: task.state not in undecided)
        pending = RedisPending(redis, stage.fleet.settings.namespace)
        return cls(stage, walk, phase, pending, redis, session)

    async def paused(self) -> Paused:
        """The pause, once SQL knows of it."""
        async with asyncio.timeout(SECONDS):
            while (found := await self.now()) is None:  # noqa: ASYNC110 - it is true of other processes
                await asyncio.sleep(0.05)
            return found

    async def now(self) -> Paused | None:
        """The pause as SQL has it; None where there is none."""
        try:
            actions, tasks = await self.stage.ledger.reviews.waiting(TEAM)
            task = await self.stage.ledger.task(self.walk.id)
            step = task.plan.steps[0] if task and task.plan else None
            action = await self.stage.ledger.action(step.action) if step and step.action else None
        except Unavailable:
            return None
        if task is None or step is None or action is None:
            return None
        made = (task.state, task.why, step.state, action.state)
        if self.phase is Phase.BEFORE and [one.id for one in actions] == [action.id]:
            return Paused(self.phase, version_before(action), action.id, made)
        if self.phase is Phase.AFTER and [one.id for one in tasks] == [task.id]:
            return Paused(self.phase, task.pauses, action.id, made)
        return None

    async def assert_listed(self, seen: Paused) -> None:
        """The API lists it, also where Redis has lost its list, and puts it there again."""
        for _ in range(2):
            (line,) = await self._listed()
            assert (line["execution_id"], line["node_id"]) == (self.walk.id, STEP)
            assert (line["trigger_phase"], line["version"]) == (seen.phase.value, seen.version)
            (copy,) = await self.list.all(TEAM) or ()
            assert (copy.execution, copy.phase, copy.version) == (self.walk.id, seen.phase, seen.version)
            await self.redis.delete(f"{self.stage.fleet.settings.namespace}:reviews:{TEAM}")

    async def _listed(self) -> list[Any]:
        async with asyncio.timeout(SECONDS):
            while True:
                status, found = await ask(self.stage, self.session, 0, ("GET", "/pending-review"))
                if status == 200:
                    listed: list[Any] = found["reviews"]
                    return listed
                await asyncio.sleep(0.1)

    async def resume(self, seen: Paused) -> Counter[int]:
        """Approve it, as `resume` does."""
        return await resume(self.stage, self.session, (self.walk.id, STEP), seen.version)

    async def assert_decided(self, seen: Paused) -> None:
        """One record, each call made once, nothing left in the list."""
        (record,) = await self.stage.ledger.reviews.of(TEAM, self.walk.id)
        assert (record.node_id, record.trigger_phase) == (STEP, seen.phase)
        assert (record.decision, record.modified_data) == (ReviewDecision.APPROVE, None)
        await self.walk.assert_tolled()
        task: Task | None = await self.walk.now()
        assert task is not None
        assert task.plan is not None
        assert task.plan.steps[0].action == seen.action
        async with asyncio.timeout(SECONDS):
            while await self.list.all(TEAM):  # noqa: ASYNC110 - whoever draws the card last takes it off
                await asyncio.sleep(0.05)

    def rang(self) -> list[int]:
        """How often each step's tool was asked."""
        return [strikes(self.stage.bell.log, ASKED)[mark] for mark in MARKS]
