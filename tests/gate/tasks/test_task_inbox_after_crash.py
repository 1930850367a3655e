"""A reader dies between any two transactions and the message is read again: it has its effect once."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from gate.actions import claim_click
from gate.actions.button_press import PressResult
from gate.rules import jobs
from gate.rules.action_states import State
from gate.rules.planner_port import Call, Incoming, Propose
from gate.rules.task_states import TaskState as S
from gate.tasks import approval_mode, inbox
from gate.tasks import plan as flow
from tests.gate.gate_setup import ANN, CHANNEL, TEAM, Scene
from tests.gate.plan_setup import MANY, approved, on_plan, only, planned, proposes, write, wrote

TS = "4100000000.000100"
Meanwhile = Callable[[Scene], Awaitable[PressResult]]


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


async def read(
    stage: Scene, text: str, mentioned: bool, lives: int, meanwhile: Meanwhile | None = None
) -> None:
    """A message whose first reader dies after `lives` transactions, and whose second comes after all that the
    first has brought about, and `meanwhile`."""
    key = f"{TEAM}:{CHANNEL}:{TS}"
    await inbox.receive(stage.world, Incoming(key, stage.session, ANN, text, TS, mentioned))
    dying: Any = Dying(stage.ledger, lives)
    with contextlib.suppress(Died):
        await inbox.read_inbox(replace(stage.world, ledger=dying), stage.session.key, key)
    stage.done.add(jobs.take_in(stage.session.key, key).key)
    await stage.play()
    if meanwhile:
        assert (await meanwhile(stage)).ok
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


async def plan_and_card(stage: Scene) -> None:
    await planned(stage, write("a.md"), write("b.md"))
    await stage.prepare(path="own.md", content="mine")


async def pause_and_card(stage: Scene) -> None:
    await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))
    await stage.prepare(path="own.md", content="mine")


async def two_cards(stage: Scene) -> None:
    for path in ("own.md", "other.md"):
        stage.planner.script = [Propose((Call("desk", "write", {"path": path, "content": "mine"}),))]
        await stage.say("write it")


async def cancelled_plan(stage: Scene) -> PressResult:
    return await flow.cancel(stage.world, on_plan(await only(stage)))


async def cancelled_card(stage: Scene) -> PressResult:
    return await claim_click.cancel(stage.world, stage.press((await stage.ledger.pending(TEAM))[0]))


ANSWERED: dict[str, tuple[str, Any, Meanwhile]] = {
    "a yes beside a plan": ("yes", plan_and_card, cancelled_plan),
    "a go-ahead beside a plan": ("go ahead", plan_and_card, cancelled_plan),
    "a yes to one of two cards": ("yes", two_cards, cancelled_card),
    "a continue beside a card": ("continue", pause_and_card, cancelled_card),
}


@pytest.mark.parametrize("case", ANSWERED)
async def test_a_word_that_was_answered_with_nothing_ran_runs_nothing_after_a_crash(stage: Scene, case: str):
    """Its person does as they were told, and uses a button."""
    text, begin, meanwhile = ANSWERED[case]
    await begin(stage)
    before, told = wrote(stage), len(stage.texts)
    await read(stage, text, False, 2, meanwhile)
    assert len(stage.texts) > told
    assert wrote(stage) == before


async def test_a_mode_that_was_set_is_not_set_once_more_after_a_crash(stage: Scene):
    await approved(stage, await planned(stage, write("a.md"), write("b.md"), approval_mode="manual"))

    async def set_back(stage: Scene) -> PressResult:
        press = on_plan(await only(stage))
        return await approval_mode.set_mode(stage.world, press, {"approval_mode": "manual"})

    await read(stage, "mode auto", False, 2, set_back)
    assert (await only(stage)).switches.approval_mode == "manual"
