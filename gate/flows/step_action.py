"""The action of a step: how it is put in together with its step, how it is withdrawn, and what became of it."""

from __future__ import annotations

from dataclasses import replace

from gate import plans
from gate.action import Action, Vote
from gate.canonical import parse
from gate.flows.decide import approve, end
from gate.flows.granted import by_grant
from gate.flows.life import kept, unchanged, with_step
from gate.flows.prepare import Write, crowded, waits
from gate.flows.seal import propose
from gate.plans import step_of
from gate.states import Event, State
from gate.task import Plan, Step, StepState, Task, Why
from gate.task_states import TaskState
from gate.world import Tx, World

WAITS = (State.PREPARED, State.APPROVED)


class Unseen(Exception):
    """What a step would change could not be seen, so nobody could confirm it. Its text is a sentence for people."""


def begins(task: Task, step: Step) -> Write:
    """Writes down the action of a step together with the step: approved at once where the requester has approved
    exactly this with the plan, else waiting for its person. Raises StaleTask when the task has moved on, and
    Unseen when there is no preview of it."""

    async def write(world: World, action: Action) -> Action | None:
        if action.preview.problem:
            raise Unseen(action.preview.problem)
        async with world.ledger.begin() as tx:
            now = await unchanged(tx, task)
            if plans.covers(now, step, action):
                stored = await _approved(tx, now, action)
            elif (granted := await _granted(tx, now, step, action)) is not None:
                stored = granted
            elif await crowded(tx, world, action):
                return None
            else:
                stored = await waits(tx, action)
            await begun(tx, now, step, stored)
        return stored

    return write


async def _granted(tx: Tx, task: Task, step: Step, action: Action) -> Action | None:
    """A grant is no answer where somebody has said that just this step, or every step, is to ask."""
    asks = step.ask or plans.asks_each(task) or bool(task.plan and task.plan.stepwise)
    return None if asks else await by_grant(tx, action)


async def _approved(tx: Tx, task: Task, action: Action) -> Action:
    """The action, approved by its requester's approval of the plan. It never waits, so no card asks for it."""
    assert task.plan is not None
    stored = await tx.insert(action)
    if stored.receipt != action.receipt:
        return stored
    await propose(tx, action)
    await tx.vote(Vote(action.id, action.version, task.requester, True, await tx.now()))
    reason = f"by approval of plan version {task.plan.approved}"
    return await approve(tx, stored, task.requester, reason)


async def begun(tx: Tx, task: Task, step: Step, action: Action) -> Task:
    """Write down which action a step is now."""
    asked = replace(step, state=StepState.ASKED, action=action.id, text="")
    return await kept(tx, task, "step_begun", plan=with_step(task, asked).plan, reason=plans.called(asked))


def asks_again(old: Action) -> Write:
    """Writes down a fresh preview of a step's action, in place of the one before. None when the step does not
    wait for it any more."""

    async def write(world: World, action: Action) -> Action | None:
        async with world.ledger.begin() as tx:
            task = await tx.task(old.task)
            step = step_of(task.plan, old.step) if task else None
            if task is None or step is None or not current(task, old.step, old.id):
                return None
            if await crowded(tx, world, action):
                return None
            stored = await waits(tx, action)
            await begun(tx, task, step, stored)
        return stored

    return write


def current(task: Task | None, step_id: str, action_id: str) -> bool:
    """Whether this action is still what its step waits for: an ended task, and a step that is over or was begun
    anew, start nothing."""
    step = step_of(task.plan, step_id) if task else None
    if task is None or step is None or task.over or step.over or step.action != action_id:
        return False
    return task.state in (TaskState.RUNNING, TaskState.PAUSED)


async def withdrawn(tx: Tx, step: Step | None, user: str, why: str) -> Action | None:
    """The action of a step as it now stands, cancelled where it has not started yet. Raises Stale."""
    action = await tx.action(step.action) if step and step.action else None
    if action is None or action.state not in WAITS:
        return action
    if action.state is State.PREPARED and action.expires_at <= await tx.now():
        return action  # nobody can confirm it any more: it expires in a moment
    return await end(tx, action, Event.CANCEL, user, why)


def happened(plan: Plan, step: Step, action: Action) -> Step:
    """The step, done: with what really ran, where somebody edited it."""
    outcome = action.outcome
    if action.edited_by:
        args = parse(action.args)
        step = replace(step, args=args, refs={}, preview=action.preview)
    text, structured = (outcome.text, outcome.structured) if outcome else ("", None)
    return plans.kept_result(plan, replace(step, action=action.id), text, structured)


def went_wrong(plan: Plan, step: Step, action: Action) -> tuple[Why, str]:
    """Why a task has to wait after what became of a step's action, in a sentence."""
    number = plans.place(plan, step)
    if action.state is State.EXPIRED:
        return Why.LAPSED, f"Nobody decided on step {number} in time."
    return Why.STEP, f"Step {number} {_what_became(action)}"


def _what_became(action: Action) -> str:
    # Without a name: this stands in quotation marks, where no mention is drawn. The action's own card says who.
    who = "whoever asked for it" if action.decided_by == action.requester else "an approver or admin"
    by = f" by {who}" if action.decided_by else ""
    said = f": {action.decision}" if action.decision else "."
    text = action.outcome.text if action.outcome else ""
    if action.state is State.FAILED:
        return f"failed: {text}"
    if action.state is State.UNKNOWN:
        return f"may have run or not: {text} Please look there, and say on its card what became of it."
    if action.state is State.REJECTED:
        return f"was rejected{by}{said}"
    if action.state is State.UNDONE:
        return "was done, and taken back since."
    if by:
        return f"was cancelled{by}{said}"
    return f"was called off. {action.decision} Its card asks again where that is possible."
