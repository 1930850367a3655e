"""A reader dies between any two transactions and the message is read again: it has its effect once."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import Any

import pytest

from gate.rules import jobs
from gate.rules.action_states import State
from gate.rules.planner_port import Incoming
from gate.rules.task_states import TaskState as S
from gate.tasks import inbox
from tests.gate.gate_setup import ANN, CHANNEL, TEAM, Scene
from tests.gate.plan_setup import MANY, approved, only, planned, proposes, write

TS = "4100000000.000100"


class Died(BaseException):
    """As kill -9: nothing catches it."""


class Dying:
    """The ledger, until the transaction that the reader does not live to begin."""

    def __init__(self, ledger: Any, lives: int) -> None:
        self._ledger, self.lives = ledger, lives

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def begin(self, *args: Any) -> Any:
        self.lives -= 1
        if self.lives < 0:
            raise Died
        return self._ledger.begin(*args)


async def read(stage: Scene, text: str, mentioned: bool, lives: int) -> None:
    """A message whose first reader dies after `lives` transactions, and whose second comes after all that the
    first has brought about."""
    key = f"{TEAM}:{CHANNEL}:{TS}"
    await inbox.receive(stage.world, Incoming(key, stage.session, ANN, text, TS, mentioned))
    dying: Any = Dying(stage.ledger, lives)
    with contextlib.suppress(Died):
        await inbox.read_inbox(replace(stage.world, ledger=dying), stage.session.key, key)
    stage.done.add(jobs.take_in(stage.session.key, key).key)
    await stage.play()
    await inbox.read_inbox(stage.world, stage.session.key, key)
    await stage.play()


async def request(stage: Scene) -> None:
    stage.planner.assessments.append(MANY)
    stage.planner.script = [proposes(write("a.md"))]


async def request_once(stage: Scene) -> None:
    task = await only(stage)
    assert (task.state, task.instructions, task.plan and task.plan.version) == (S.PLAN_REVIEW, (), 1)


async def reviewed(stage: Scene) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    stage.planner.script = [proposes(write("c.md"))]


async def planned_again_once(stage: Scene) -> None:
    task = await only(stage)
    assert (task.state, task.instructions, task.plan and task.plan.version) == (S.PLAN_REVIEW, (), 2)


async def asking(stage: Scene) -> None:
    await approved(stage, await planned(stage, replace(write("a.md"), ask=True), write("b.md")))


async def refused_once(stage: Scene) -> None:
    """The no is to the step's card; read again it would stop the task that waits for what is next."""
    task = await only(stage)
    assert (task.state, [a.state for a in await acted(stage)]) == (S.PAUSED, [State.CANCELLED])


async def told_once(stage: Scene) -> None:
    assert [one.text for one in (await only(stage)).instructions] == ["and mention the date"]


async def acted(stage: Scene) -> Any:
    task = await only(stage)
    assert task.plan
    found = [await stage.ledger.action(step.action) for step in task.plan.steps if step.action]
    return [action for action in found if action]


CASES: dict[str, tuple[str, bool, Any, Any]] = {
    "a request": ("tidy up the desk", True, request, request_once),
    "a reason to plan again": ("rather write c.md", False, reviewed, planned_again_once),
    "a no to what waits": ("no", False, asking, refused_once),
    "an instruction": ("and mention the date", False, asking, told_once),
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("lives", [1, 2, 3, 4])
@pytest.mark.parametrize("case", CASES)
async def test_what_is_read_again_after_a_crash_has_its_effect_once(stage: Scene, case: str, lives: int):
    text, mentioned, begin, once = CASES[case]
    await begin(stage)
    await read(stage, text, mentioned, lives)
    await once(stage)
