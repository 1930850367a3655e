"""Secret steps: why one did not go through, or its result was rejected, is not told of its task, nor in its log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.actions import claim_click
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.always_gated import ALWAYS
from gate.rules.planner_port import Call, Propose
from gate.rules.reviews import Phase
from gate.rules.tool import Answer
from gate.tasks import step_review
from tests.gate.actions.test_action_privacy import desk
from tests.gate.gate_setup import TEAM, Scene
from tests.gate.plan_setup import (
    approved,
    confirmed,
    on_pause,
    only,
    planned,
    steps,
    waiting,
    write,
)
from tests.gate.tasks.test_task_step_review import reviewing

__all__ = ["desk"]
SECRET = "line 3: hunter2-PASSWORD"


async def secret_step(stage: Scene, in_plan: bool) -> Action:
    stage.rule(*ALWAYS)
    if in_plan:
        await approved(stage, await planned(stage, write(".env"), write("b.md")))
    else:
        stage.planner.script.append(Propose((Call("desk", "write", {"path": ".env", "content": "new"}),)))
        await stage.say("please")
    action = await waiting(stage)
    assert action.proposal.decision.secret
    assert not action.private
    return action


def fail_writes(stage: Scene) -> None:
    real = stage.desk.call

    async def call(
        server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        if tool == "write":
            return Answer(SECRET, is_error=True)
        return await real(server, tool, args, seconds, definition)

    stage.desk.call = call  # type: ignore[method-assign]


async def nothing_is_told(stage: Scene) -> None:
    task = await only(stage)
    assert SECRET not in task.reason
    assert not any(SECRET in step.text for step in (steps(task) if task.plan else ()))
    lines = await stage.ledger.audit_tail(team=TEAM, limit=200)
    assert [line.entry.event for line in lines if SECRET in line.entry.reason] == []


@pytest.mark.parametrize("in_plan", [True, False])
async def test_why_a_person_rejected_it_is_not_told(desk: Scene, in_plan: bool) -> None:
    action = await secret_step(desk, in_plan)
    assert (await claim_click.reject(desk.world, replace(desk.press(action), reason=SECRET))).ok
    await desk.play()
    await nothing_is_told(desk)


@pytest.mark.parametrize("in_plan", [True, False])
async def test_why_it_failed_is_not_told(desk: Scene, in_plan: bool) -> None:
    action = await secret_step(desk, in_plan)
    fail_writes(desk)
    await confirmed(desk, action)
    assert (await desk.now(action.id)).state is State.FAILED
    await nothing_is_told(desk)


async def test_why_its_result_was_rejected_is_not_told(desk: Scene) -> None:
    desk.rule(*ALWAYS)
    task = await planned(desk, write(".env"), write("b.md"))
    reviewing(desk, Phase.AFTER, "desk.write")
    await approved(desk, task)
    await confirmed(desk, await waiting(desk))
    said = await step_review.reject_output(desk.world, on_pause(await only(desk), text=SECRET))
    assert said.ok
    await desk.play()
    await nothing_is_told(desk)
