"""What a person typed into a private step of an agent's task, by every way in which the agent could get it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.rules.plan_changes import StepChange
from gate.rules.planner_port import Call, ProposedStep, ProposePlan
from gate.rules.policy import Rule
from gate.rules.reviews import Phase, Review
from gate.rules.task import Assessment, Task
from gate.tasks import control
from gate.tasks import plan as flow
from tests.api.api_server import Api
from tests.api.test_api_result_review_steps import ways
from tests.gate.plan_setup import on_pause, on_plan, waiting

TYPED = "Ben earns 98,000, as typed"
CHANGED = (StepChange("s1", 1, args={"path": "hr/x.md", "content": TYPED}), StepChange("s2", 2))


@pytest.mark.parametrize("reviewed", [None, Phase.BEFORE, Phase.AFTER], ids=str)
async def test_an_agent_is_told_nothing_of_what_its_person_typed_into_a_private_step(
    api: Api, reviewed: Phase | None
) -> None:
    stage = api.gate
    stage.rule(Rule("letters are private", ("desk.write",), texts=(r"^hr/",), private=True))
    reviews = (Review("look", reviewed, tools=("desk.write",)),) if reviewed else ()
    stage.world = replace(stage.world, policy=replace(stage.world.policy, reviews=reviews))
    agent, ann = await api.agent(), await api.client()
    stage.planner.assessments.append(Assessment(80, 2))
    calls = [Call("desk", "write", {"path": path, "content": "?"}) for path in ("hr/x.md", "a.md")]
    stage.planner.script.append(ProposePlan(tuple(ProposedStep(one, "write") for one in calls)))
    made = await agent.post("/tasks", {"text": "do it"}, 201)
    path = f"/tasks/{made['id']}"

    async def told() -> str:
        return repr(await ways(agent, path, await ann.get(path)))

    async def now() -> Task:
        await stage.play()
        task = await stage.ledger.task(made["id"])
        assert task is not None
        return task

    assert (await flow.modify(stage.world, on_plan(await now()), CHANGED)).ok
    assert TYPED not in await told()
    assert (await flow.step_by_step(stage.world, on_plan(await now()))).ok
    await now()
    assert TYPED not in await told()
    assert TYPED in repr(await ann.get(path))
    assert (await stage.confirm(await waiting(stage))).ok
    task = await now()
    assert TYPED not in await told()
    if reviewed is Phase.AFTER:
        assert (await control.resume(stage.world, on_pause(task))).ok
        await now()
        assert TYPED not in await told()
