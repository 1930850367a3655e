"""Control: pause a plan, go on, stop it, and decide what becomes of a step that did not go through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from gate import plans, runs
from gate.action import Action, Json
from gate.derive import derived
from gate.flows import after_step, simple
from gate.flows.decide import forget
from gate.flows.life import kept, late_task, moved, pressed, with_step
from gate.flows.press import Said, TaskPress
from gate.flows.reviewed import APPROVE, judged_after
from gate.flows.step_action import withdrawn
from gate.people import TaskVerb
from gate.states import State
from gate.task import Flow, Instruction, Step, StepState, Task, Why, Wish
from gate.task_states import TaskEvent, TaskState
from gate.world import Stale, Tx, World

MOST = 4000  # characters of what is said with *Continue*
SWITCHED_OFF = "Pausing is switched off here. *Stop* ends the task after the current step."
AFTER = "I pause once the current step is over."
ALREADY = "It pauses already, once the current step is over."
ON = "I do not pause, then: it goes on after the current step."
RUNNING = "It is running already. Where a step waits for a yes, please decide on its card."
STOPPING = "I stop once the current step is over. Nothing else starts."
NOTHING_TO_PAUSE = "There is nothing to pause here: decide on its card, or stop it."
BUSY = "That step is running right now. Please wait for its end."
GONE_THROUGH = "That step has gone through meanwhile, so the task goes on."
NOT_BROKEN = "No step waits for that. Please use the newest card in the thread."
BROKEN = (Why.STEP, Why.LAPSED, Why.DOUBT)
TOO_LATE = "It has gone on already. *Pause* stops it after the current step."
HELD = "It waits already, until somebody says how it goes on."
STOPPED = "the task was stopped"
AWAY = (State.SUCCEEDED, State.UNDOING)
OnStep = Callable[[Tx, Task, Step], Awaitable[Task | Said]]


async def pause(world: World, press: TaskPress) -> Said:
    """*Pause*: the current step finishes first; what waits for its person waits on. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | Said:
        if not task.switches.pause_enabled:
            return Said(False, "no_pause", SWITCHED_OFF, task=task)
        if task.over or task.state in (TaskState.PAUSED, TaskState.SATISFACTION):
            return late_task(task)
        if task.flow is not Flow.PLAN or task.state not in (TaskState.RUNNING, TaskState.PLANNING):
            return Said(False, "no_pause", NOTHING_TO_PAUSE, task=task)
        if task.wish is not Wish.NONE:
            return Said(True, "pausing", STOPPING if task.wish is Wish.STOP else ALREADY, task=task)
        now = await kept(tx, task, "pause_asked", press.user, wish=Wish.PAUSE)
        tx.enqueue(runs.task(now.id, now.revision))
        step = now.plan.current if now.plan else None
        begun = step is not None and step.state is StepState.ASKED
        return Said(True, "pausing", AFTER if begun else "", task=now)

    return await pressed(world, press, TaskVerb.PAUSE, _version, do)


async def unpause(world: World, press: TaskPress) -> Said:
    """“Continue”, said while it runs: takes a *Pause* back that has not come about yet. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | Said:
        if task.wish is Wish.STOP:
            return Said(True, "stopping", STOPPING, task=task)
        if task.state is not TaskState.RUNNING:
            return late_task(task)
        if task.wish is Wish.NONE:
            return Said(True, "running", RUNNING, task=task)
        now = await kept(tx, task, "pause_withdrawn", press.user, wish=Wish.NONE)
        return Said(True, "running", ON, task=now)

    return await pressed(world, press, TaskVerb.PAUSE, _version, do)


def _version(task: Task) -> int:
    return task.plan.version if task.plan else 0


async def resume(world: World, press: TaskPress) -> Said:
    """*Continue*. What is said with it (`press.text`) is taken in before the next step; what has lapsed asks
    again, what failed is tried again. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | Said:
        step = task.plan.current if task.plan else None
        if task.why not in BROKEN or step is None:
            await judged_after(tx, task, press.user, APPROVE, press.text)
            return await _on(tx, task, press.user, plan=after_step.passed(task, press.user))
        return await _again(tx, task, step, press.user)

    return await _pressed(world, press, TaskVerb.CONTINUE, do)


async def _said(tx: Tx, task: Task, press: TaskPress, text: str) -> Instruction:
    return Instruction(derived("said", task.id, task.revision), press.user, text, await tx.now())


async def _on(tx: Tx, task: Task, user: str, **changes: Json) -> Task:
    return await moved(tx, task, TaskEvent.CONTINUE, user, go=True, why=Why.NONE, reason="", **changes)


async def hold(world: World, press: TaskPress) -> Said:
    """*Hold*: what would have gone on by itself waits for a person. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | Said:
        if task.state is not TaskState.PAUSED:
            return Said(False, "late", TOO_LATE, task=task)
        if not after_step.briefly(task):
            return Said(True, "held", HELD, task=task)
        return await after_step.held(tx, task, press.user)

    return await pressed(world, press, TaskVerb.PAUSE, lambda task: task.pauses, do)


async def retry(world: World, press: TaskPress) -> Said:
    """*Retry*: the step begins once more, as another action that asks for itself. Raises Unavailable."""

    async def do(tx: Tx, task: Task, step: Step) -> Task | Said:
        return await _again(tx, task, step, press.user)

    return await _broken(world, press, TaskVerb.CONTINUE, do)


async def _again(tx: Tx, task: Task, step: Step, user: str) -> Task | Said:
    """Begin a step once more, unless it is under way or has gone through after all."""
    action = await withdrawn(tx, step, user, "it is tried again")
    late = _under_way(tx, task, action)
    if late:
        return late
    return await _on(tx, task, user, plan=with_step(task, plans.anew(step)).plan)


def _under_way(tx: Tx, task: Task, action: Action | None) -> Said | None:
    if action is not None and action.state is State.EXECUTING:
        return Said(False, "busy", BUSY, task=task)
    if action is not None and action.state in AWAY and task.why is not Why.DOUBT:
        tx.enqueue(runs.task(task.id, f"{action.id}:{action.state}:{task.revision}"))
        return Said(False, "late", GONE_THROUGH, task=task)
    return None


async def skip_step(world: World, press: TaskPress) -> Said:
    """*Skip*: go on without the step. What needs its result will say so when it comes to it. Raises Unavailable."""

    async def do(tx: Tx, task: Task, step: Step) -> Task | Said:
        action = await withdrawn(tx, step, press.user, "its step was skipped")
        late = _under_way(tx, task, action)
        if late:
            return late
        skipped = replace(step, state=StepState.SKIPPED)
        return await _on(tx, task, press.user, plan=with_step(task, skipped).plan)

    return await _broken(world, press, TaskVerb.CONTINUE, do)


async def abort(world: World, press: TaskPress) -> Said:
    """*Abort*: end the task because of a step that did not go through. Raises Unavailable."""
    return await stop(world, press)


async def stop(world: World, press: TaskPress) -> Said:
    """*Stop*, on whatever card: what waits is withdrawn at once; what runs right now finishes, and then nothing
    else starts. Raises Unavailable: then nothing changed."""
    found = await world.ledger.task(press.ref.id)
    if found is not None and found.flow is Flow.SIMPLE:
        return await simple.stop(world, press)
    gone: list[Action] = []

    async def do(tx: Tx, task: Task) -> Task | Said:
        if task.over or task.state is TaskState.SATISFACTION:
            return late_task(task)
        step = task.plan.current if task.plan else None
        action = await withdrawn(tx, step, press.user, STOPPED)
        gone[:] = [action] if action and action.state is State.CANCELLED else []
        if action is not None and action.state is State.EXECUTING:
            if task.wish is Wish.STOP:
                return Said(True, "stopping", STOPPING, task=task)
            wish = {"wish": Wish.STOP, "ended_by": press.user}
            return Said(
                True, "stopping", STOPPING, task=await kept(tx, task, "stop_asked", press.user, **wish)
            )
        return await _stopped(tx, task, step, action, press.user)

    said = await _twice(lambda: pressed(world, press, TaskVerb.STOP, lambda task: press.ref.version, do))
    for action in gone if said.ok else ():
        await forget(world, action)
    return said


async def _stopped(tx: Tx, task: Task, step: Step | None, action: Action | None, user: str) -> Task:
    """End it now. A step that has just come to its end is written down first, by the run."""
    ended = action is not None and action.state in AWAY and task.why is not Why.DOUBT
    if ended and step is not None and not step.over:
        now = await kept(tx, task, "stop_asked", user, wish=Wish.STOP, ended_by=user)
        tx.enqueue(runs.task(now.id, now.revision))
        return now
    result = plans.summary(task.plan) if task.plan else ""
    return await moved(tx, task, TaskEvent.STOP, user, wish=Wish.NONE, ended_by=user, result=result)


async def _broken(world: World, press: TaskPress, verb: TaskVerb, do: OnStep) -> Said:
    """A decision on a step that did not go through."""

    async def checked(tx: Tx, task: Task) -> Task | Said:
        step = task.plan.current if task.plan else None
        if step is None or task.why not in BROKEN:
            return Said(False, "late", NOT_BROKEN, task=task)
        return await do(tx, task, step)

    return await _pressed(world, press, verb, checked)


async def _pressed(
    world: World, press: TaskPress, verb: TaskVerb, do: Callable[[Tx, Task], Awaitable[Task | Said]]
) -> Said:
    """A press on the card of a pause. What was written into its field is kept, whichever button was pressed."""
    text = press.text.strip()[:MOST]

    async def checked(tx: Tx, task: Task) -> Task | Said:
        if task.state is not TaskState.PAUSED:
            return late_task(task)
        if text:
            said = await _said(tx, task, press, text)
            task = await tx.keep_task(task, instructions=(*task.instructions, said))
        return await do(tx, task)

    return await _twice(lambda: pressed(world, press, verb, lambda task: task.pauses, checked))


async def _twice(press: Callable[[], Awaitable[Said]]) -> Said:
    """A press that met an action just as its time ran out looks at it once more."""
    try:
        return await press()
    except Stale:
        return await press()
