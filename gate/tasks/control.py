"""Control: pause a plan, go on, stop it, and decide what becomes of a step that did not go through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from gate.actions.button_press import Said, TaskPress
from gate.actions.confirm import forget
from gate.actions.review_log import judged_after
from gate.rules import jobs, plans
from gate.rules.action import Action, Judged
from gate.rules.ids import derived
from gate.rules.permissions import TaskVerb
from gate.rules.ports import Stale, Tx, World
from gate.rules.states import State
from gate.rules.task import Flow, Instruction, Plan, Step, StepState, Task, Why, Wish
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks import step_check
from gate.tasks.step_action import withdrawn
from gate.tasks.task_log import ended_by, kept, late_task, moved, pressed, unpaused, with_step

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
        if task.is_finished or task.state in (TaskState.PAUSED, TaskState.SATISFACTION):
            return late_task(task)
        if task.flow not in (Flow.PLAN, Flow.SIMPLE) or task.state not in (
            TaskState.RUNNING,
            TaskState.PLANNING,
        ):
            return Said(False, "no_pause", NOTHING_TO_PAUSE, task=task)
        if task.wish is not Wish.NONE:
            return Said(True, "pausing", STOPPING if task.wish is Wish.STOP else ALREADY, task=task)
        now = await kept(tx, task, "pause_asked", press.user, pause=replace(task.pause, wish=Wish.PAUSE))
        tx.enqueue(jobs.task(now.id, now.revision))
        return Said(True, "pausing", AFTER if now.plan and now.plan.begun else "", task=now)

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
        now = await kept(tx, task, "pause_withdrawn", press.user, pause=replace(task.pause, wish=Wish.NONE))
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
            await judged_after(tx, task, Judged(press.user, True, comment=press.text))
            return await _on(tx, task, press.user, plan=step_check.passed(task, press.user))
        return await _again(tx, task, step, press.user)

    return await _pressed(world, press, TaskVerb.CONTINUE, do)


async def _said(tx: Tx, task: Task, press: TaskPress, text: str) -> Instruction:
    return Instruction(derived("said", task.id, task.revision), press.user, text, await tx.now())


async def _on(tx: Tx, task: Task, user: str, plan: Plan | None) -> Task:
    return await moved(tx, task, TaskEvent.CONTINUE, user, go=True, **unpaused(task, plan))


async def hold(world: World, press: TaskPress) -> Said:
    """*Hold*: what would have gone on by itself waits for a person. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | Said:
        if task.state is not TaskState.PAUSED:
            return Said(False, "late", TOO_LATE, task=task)
        if not step_check.briefly(task):
            return Said(True, "held", HELD, task=task)
        return await step_check.pause_for_review(tx, task, press.user)

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
        tx.enqueue(jobs.task(task.id, f"{action.id}:{action.state}:{task.revision}"))
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
    gone: list[Action] = []

    async def do(tx: Tx, task: Task) -> Task | Said:
        if task.is_finished or task.state is TaskState.SATISFACTION:
            return late_task(task)
        left = [step for step in task.plan.steps if step.action and not step.is_finished] if task.plan else []
        found = [action for step in left if (action := await withdrawn(tx, step, press.user, STOPPED))]
        gone[:] = [action for action in found if action.state is State.CANCELLED]
        if _goes_on(task) and any(action.state is State.EXECUTING for action in found):
            if task.wish is Wish.STOP:
                return Said(True, "stopping", STOPPING, task=task)
            return Said(True, "stopping", STOPPING, task=await _stopping(tx, task, press.user))
        return await _stopped(tx, task, found, press.user)

    said = await _twice(lambda: pressed(world, press, TaskVerb.STOP, lambda task: press.ref.version, do))
    for action in gone if said.ok else ():
        await forget(world, action)
    return said


def _goes_on(task: Task) -> bool:
    """Whether the end of a step that runs is written down by a run: not while its task waits for a look at another."""
    return task.state is not TaskState.PAUSED or task.why in (Why.STEP, Why.LAPSED)


async def _stopping(tx: Tx, task: Task, user: str) -> Task:
    wish, outcome = replace(task.pause, wish=Wish.STOP), replace(task.outcome, ended_by=user)
    return await kept(tx, task, "stop_asked", user, pause=wish, outcome=outcome)


async def _stopped(tx: Tx, task: Task, begun: Sequence[Action], user: str) -> Task:
    """End it now. A step that has just come to its end is written down first, by the run."""
    if _goes_on(task) and any(action.state in AWAY for action in begun):
        now = await _stopping(tx, task, user)
        tx.enqueue(jobs.task(now.id, now.revision))
        return now
    return await ended_by(tx, task, user)


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
            heard = replace(task.input, instructions=(*task.instructions, said))
            task = await tx.keep_task(task, input=heard)
        return await do(tx, task)

    return await _twice(lambda: pressed(world, press, verb, lambda task: task.pauses, checked))


async def _twice(press: Callable[[], Awaitable[Said]]) -> Said:
    """A press that met an action just as its time ran out looks at it once more."""
    try:
        return await press()
    except Stale:
        return await press()
