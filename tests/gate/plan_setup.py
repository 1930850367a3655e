"""Short ways to play tasks with plans: what the planner proposes, what people press, what became of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from gate.actions import resolve_unknown
from gate.actions.button_press import Press, PressResult, TaskPress
from gate.rules.action import Action, Ref
from gate.rules.planner_port import Call, ProposedStep, ProposePlan, Reply
from gate.rules.ports import OpenedModal
from gate.rules.settings import Switches
from gate.rules.task import Assessment, Step, StepState, Task
from gate.rules.task_states import TaskState
from gate.tasks import plan as flow
from tests.gate.gate_setup import ANN, TEAM, Scene

MANY = Assessment(60, 4)
PRESETS = Switches()


def write(path: str, content: str = "new", **more: Any) -> ProposedStep:
    return ProposedStep(Call("desk", "write", {"path": path, "content": content}), **more)


def look(path: str, **more: Any) -> ProposedStep:
    return ProposedStep(Call("desk", "look", {"path": path}), **more)


def shred(path: str, **more: Any) -> ProposedStep:
    return ProposedStep(Call("desk", "shred", {"path": path}), **more)


def call(tool: str, /, server: str = "desk", **args: Any) -> ProposedStep:
    return ProposedStep(Call(server, tool, args))


def keep(step: Step, **more: Any) -> ProposedStep:
    """A step of the plan before, proposed again as it was."""
    return ProposedStep(Call(step.server, step.tool, step.args), step.title, step.refs, step.id, **more)


def proposes(*steps: ProposedStep, note: str = "") -> ProposePlan:
    return ProposePlan(steps, note)


async def asked(stage: Scene, *replies: Reply, text: str = "tidy up the desk", **switches: Any) -> Task:
    """A request that takes a plan, as far as it goes by itself."""
    if switches:
        changed = replace(PRESETS, **switches)
        stage.world = replace(stage.world, switches=lambda channel: changed)
    stage.planner.assessments.append(MANY)
    stage.planner.script += replies
    await stage.say(text)
    return await only(stage)


async def planned(stage: Scene, *steps: ProposedStep, **switches: Any) -> Task:
    return await asked(stage, proposes(*steps), **switches)


async def only(stage: Scene) -> Task:
    (task,) = await stage.ledger.tasks_of(stage.session)
    return task


def on_plan(task: Task, user: str = ANN, text: str = "") -> TaskPress:
    """A press on a card of the plan as it now stands."""
    assert task.plan is not None
    return TaskPress(Ref(task.id, task.plan.version, task.plan.seal[:16]), TEAM, user, text=text)


def on_pause(task: Task, user: str = ANN, text: str = "") -> TaskPress:
    return TaskPress(Ref(task.id, task.pauses, "0"), TEAM, user, text=text)


async def approved(stage: Scene, task: Task) -> Task:
    """*Approve all*, where anything asks for it, and what follows from it."""
    if task.state is not TaskState.PLAN_REVIEW:
        return task
    said = await flow.approve_all(stage.world, on_plan(task))
    assert said.ok, said
    await stage.play()
    return await only(stage)


async def pressed(
    stage: Scene, flow: Callable[..., Awaitable[PressResult]], press: TaskPress, *more: Any
) -> PressResult:
    said = await flow(stage.world, press, *more)
    await stage.play()
    return said


async def waiting(stage: Scene) -> Action:
    """The one action that waits for its person."""
    (action,) = await stage.ledger.pending(TEAM)
    return action


async def confirmed(stage: Scene, action: Action | None = None, **more: Any) -> Task:
    """Its person says yes to what waits; or types the phrase."""
    action = action or await waiting(stage)
    if action.phrase:
        async with stage.ledger.begin() as tx:
            await tx.save_modal(OpenedModal("V1", "typed", ANN, action.id, action.version, action.receipt))
        more |= {"view": "V1", "typed": action.phrase}
    said = await stage.confirm(action, **more)
    assert said.code == "confirmed", said
    await stage.play()
    return await only(stage)


async def settled(stage: Scene, action: Action, happened: bool) -> None:
    press = Press(Ref(action.id, action.version, action.receipt[:16]), TEAM, ANN)
    assert (await resolve_unknown.resolve(stage.world, press, happened)).ok
    await stage.play()


def steps(task: Task) -> tuple[Step, ...]:
    assert task.plan is not None
    return task.plan.steps


def states(task: Task) -> list[StepState]:
    return [step.state for step in steps(task)]


def wrote(stage: Scene) -> list[str]:
    """The names of what the desk was asked to change, in order."""
    return [args.get("path", "") for _, args in stage.desk.calls]


async def entries(stage: Scene, event: str) -> list[Any]:
    lines = await stage.ledger.audit_tail(team=TEAM, limit=1000)
    return [line.entry for line in reversed(lines) if line.entry.event == event]


async def twice(
    flow: Callable[..., Awaitable[PressResult]], stage: Scene, press: TaskPress
) -> list[PressResult]:
    """The same press, delivered twice at once."""
    return list(await asyncio.gather(flow(stage.world, press), flow(stage.world, press)))
