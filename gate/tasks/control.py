"""Control: pause a plan, go on, stop it, and decide what becomes of a step that did not go through."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from gate.actions.button_press import PressResult, TaskPress
from gate.actions.claim_click import drop_lease
from gate.actions.review_log import record_step_review, step_under_review
from gate.rules import jobs, plans
from gate.rules.action import Action, ResultDecision
from gate.rules.action_states import State
from gate.rules.ids import derive_id
from gate.rules.permissions import TaskVerb
from gate.rules.planner_port import Mode
from gate.rules.ports import Tx, World
from gate.rules.task import Flow, Instruction, PauseReason, Plan, Step, StepState, StopRequest, Task
from gate.rules.task_states import TaskEvent, TaskState
from gate.tasks import step_check
from gate.tasks.step_action import AWAY, FAILURE_REASONS, under_way, with_try, withdraw_action
from gate.tasks.task_transitions import (
    FULL,
    already_decided,
    end_by_user,
    is_about_private,
    move_task,
    press_task,
    record,
    retry_once,
    say_in_thread,
    start_turn,
    too_many_instructions,
    update_task,
    with_instruction,
    with_step,
    without_pause,
)

MOST = 4000  # characters of what is said with *Continue*
SWITCHED_OFF = "Pausing is switched off here. *Stop* ends the task after the current step."
PAUSING = "I pause once the current step is over."
DECIDE_FIRST = "I pause once the card that waits is decided. Nothing else starts before that."
ALREADY_PAUSING = "It pauses already, once the current step is over."
PAUSE_WITHDRAWN = "I do not pause, then: it goes on after the current step."
RUNNING = "It is running already. Where a step waits for a yes, please decide on its card."
STOPPING = "I stop once the current step is over. Nothing else starts."
ALL_DONE = "Every step is done: only the answer is still being written."
NOTHING_TO_PAUSE = "There is nothing to pause here: decide on its card, or stop it."
NO_FAILED_STEP = "No step waits for that. Please use the newest card in the thread."
TOO_LATE = "It has gone on already. *Pause* stops it after the current step."
ALREADY_HELD = "It waits already, until somebody says how it goes on."
STOPPED_EARLY = "I stopped. Nothing more of it runs."
STOPPED = "The task was stopped"
TAKEN_IN_LATER = "Got it. This is still paused: I take that in once somebody lets it go on, on its card."
STEP_GOES_ON = (
    PauseReason.STEP,
    PauseReason.LAPSED,
    PauseReason.WISH,
)  # a step may still run in such a pause
StepDecision = Callable[[Tx, Task, Step], Awaitable[Task | PressResult]]


async def pause(world: World, press: TaskPress) -> PressResult:
    """*Pause*: what runs finishes first. Where a step of a plan only waits for its person, the plan pauses at once, and
    that step can still be decided on. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if not task.switches.pause_enabled:
            return PressResult(False, "no_pause", SWITCHED_OFF, task=task)
        if task.is_finished or task.state in (TaskState.PAUSED, TaskState.SATISFACTION):
            return already_decided(task)
        if task.flow not in (Flow.PLAN, Flow.SIMPLE) or task.state not in (
            TaskState.RUNNING,
            TaskState.PLANNING,
        ):
            return PressResult(False, "no_pause", NOTHING_TO_PAUSE, task=task)
        if task.planned and task.plan and task.plan.current is None and task.state is TaskState.RUNNING:
            return PressResult(False, "no_pause", ALL_DONE, task=task)
        if task.wish is not StopRequest.NONE:
            return PressResult(
                True, "pausing", STOPPING if task.wish is StopRequest.STOP else ALREADY_PAUSING, task=task
            )
        now = await update_task(
            tx, task, "pause_asked", press.user, pause=replace(task.pause, wish=StopRequest.PAUSE)
        )
        tx.enqueue(jobs.task(now.id, now.revision))
        return PressResult(True, "pausing", await _pauses_when(tx, now), task=now)

    return await press_task(world, press, TaskVerb.PAUSE, _version, do)


async def _pauses_when(tx: Tx, task: Task) -> str:
    """What a pause waits for, in a sentence; "" where it comes at once."""
    begun = task.plan.begun if task.plan else ()
    found = [await tx.action(step.action) for step in begun]
    if not all(action is not None and action.state is State.PREPARED for action in found):
        return PAUSING
    return DECIDE_FIRST if found and not task.planned else ""


async def unpause(world: World, press: TaskPress) -> PressResult:
    """“Continue”, said while it runs: takes a *Pause* back that has not come about yet. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.wish is StopRequest.STOP:
            return PressResult(True, "stopping", STOPPING, task=task)
        if task.state is not TaskState.RUNNING:
            return already_decided(task)
        if task.wish is StopRequest.NONE:
            return PressResult(True, "running", RUNNING, task=task)
        now = await update_task(
            tx, task, "pause_withdrawn", press.user, pause=replace(task.pause, wish=StopRequest.NONE)
        )
        return PressResult(True, "running", PAUSE_WITHDRAWN, task=now)

    return await press_task(world, press, TaskVerb.PAUSE, _version, do)


def _version(task: Task) -> int:
    return task.plan.version if task.plan else 0


async def resume(world: World, press: TaskPress) -> PressResult:
    """*Continue*. What is said with it (`press.text`) is taken in before the next step; what has lapsed asks
    again, what failed is tried again. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        step = task.plan.current if task.plan else None
        if task.why not in FAILURE_REASONS or step is None:
            looked = step_under_review(task)
            private = looked is not None and step_check.as_ruled_now(world, task, looked).is_private
            kept = ResultDecision(press.user, True, comment=press.text, private=private)
            await record_step_review(tx, task, kept)
            passed = step_check.with_review_passed(world, task, press.user)
            return await _continue(tx, task, press.user, plan=passed)
        return await _retry_step(tx, task, step, press.user)

    return await _press_on_pause(world, press, TaskVerb.CONTINUE, do)


async def take_in(world: World, press: TaskPress) -> PressResult:
    """What somebody says to a paused task (`press.text`), which stays so: it is planned anew at once, and pauses again
    with that plan. Where a result or a step waits for a decision, that is left as it is, and the words are kept. Raises
    Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        plan = task.plan
        if task.why is not PauseReason.WISH or not task.planned or plan is None or plan.begun:
            record(tx, task, "user_instruction", press.user)
            return PressResult(True, "kept", TAKEN_IN_LATER, task=task)
        planning = replace(task.planning, turn=await start_turn(tx, task, Mode.PLAN, task.unused_text))
        again = replace(task.pause, why=PauseReason.NONE, wish=StopRequest.PAUSE)
        return await move_task(
            tx, task, TaskEvent.REPLAN, press.user, planning=planning, pause=again, reason=""
        )

    return await _press_on_pause(world, press, TaskVerb.STEER, do)


async def _instruction(tx: Tx, task: Task, press: TaskPress, text: str) -> Instruction:
    key, alone = derive_id("said", task.id, task.revision), await is_about_private(tx, task)
    return Instruction(key, press.user, text, await tx.now(), alone=alone)


async def _continue(tx: Tx, task: Task, user: str, plan: Plan | None) -> Task:
    return await move_task(tx, task, TaskEvent.CONTINUE, user, go=True, **without_pause(task, plan))


async def hold(world: World, press: TaskPress) -> PressResult:
    """*Hold*: what would have gone on by itself waits for a person. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.PAUSED:
            return PressResult(False, "late", TOO_LATE, task=task)
        if not step_check.has_review_timeout(task):
            return PressResult(True, "held", ALREADY_HELD, task=task)
        return await step_check.pause_for_review(tx, task, press.user)

    return await press_task(world, press, TaskVerb.PAUSE, lambda task: task.pauses, do)


async def retry(world: World, press: TaskPress) -> PressResult:
    """*Retry*: the step begins once more, as another action that asks for itself. Raises Unavailable."""

    async def do(tx: Tx, task: Task, step: Step) -> Task | PressResult:
        return await _retry_step(tx, task, step, press.user)

    return await _decide_failed_step(world, press, TaskVerb.CONTINUE, do)


async def _retry_step(tx: Tx, task: Task, step: Step, user: str) -> Task | PressResult:
    """Begin a step once more, unless it is under way or has gone through after all."""
    action = await withdraw_action(tx, step, user, "Its step was begun again")
    late = under_way(tx, task, action)
    if late:
        return late
    again = plans.new_attempt(with_try(step, action))
    return await _continue(tx, task, user, plan=with_step(task, again).plan)


async def skip_step(world: World, press: TaskPress) -> PressResult:
    """*Skip*: go on without the step. What needs its result will say so when it comes to it. Raises Unavailable."""

    async def do(tx: Tx, task: Task, step: Step) -> Task | PressResult:
        action = await withdraw_action(tx, step, press.user, "Its step was skipped")
        late = under_way(tx, task, action)
        if late:
            return late
        skipped = replace(with_try(step, action), state=StepState.SKIPPED)
        plan = with_step(task, skipped).plan
        assert plan is not None
        # An admin approves nothing for others: what was to follow it was approved as what follows it.
        left = plan if press.user == task.requester else plans.without_consent_to_what_is_left(plan)
        return await _continue(tx, task, press.user, plan=left)

    return await _decide_failed_step(world, press, TaskVerb.CONTINUE, do)


async def abort(world: World, press: TaskPress) -> PressResult:
    """*Abort*: end the task because of a step that did not go through. Raises Unavailable."""
    return await stop(world, press)


async def stop(world: World, press: TaskPress) -> PressResult:
    """*Stop*, on whatever card: what waits is withdrawn at once; what runs right now finishes, and then nothing
    else starts. Raises Unavailable: then nothing changed."""
    gone: list[Action] = []

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        if task.is_finished or task.state is TaskState.SATISFACTION:
            return already_decided(task)
        left = [step for step in task.plan.steps if step.action and not step.is_finished] if task.plan else []
        found = [action for step in left if (action := await withdraw_action(tx, step, press.user, STOPPED))]
        gone[:] = [action for action in found if action.state is State.CANCELLED]
        if _is_ended_by_run(task) and any(action.state is State.EXECUTING for action in found):
            if task.wish is StopRequest.STOP:
                return PressResult(True, "stopping", STOPPING, task=task)
            return PressResult(True, "stopping", STOPPING, task=await _request_stop(tx, task, press.user))
        return await _stop_now(tx, task, found, press.user)

    said = await retry_once(
        lambda: press_task(world, press, TaskVerb.STOP, lambda task: press.ref.version, do)
    )
    for action in gone if said.ok else ():
        await drop_lease(world, action)
    return said


def _is_ended_by_run(task: Task) -> bool:
    """Whether the end of a step that runs is written down by a run: not while its task waits for a look at another."""
    return task.state is not TaskState.PAUSED or task.why in STEP_GOES_ON


async def _request_stop(tx: Tx, task: Task, user: str) -> Task:
    wish, outcome = replace(task.pause, wish=StopRequest.STOP), replace(task.outcome, ended_by=user)
    return await update_task(tx, task, "stop_asked", user, pause=wish, outcome=outcome)


async def _stop_now(tx: Tx, task: Task, begun: Sequence[Action], user: str) -> Task:
    """End it now. A step that has just come to its end is written down first, by the run."""
    if _is_ended_by_run(task) and any(action.state in AWAY for action in begun):
        now = await _request_stop(tx, task, user)
        tx.enqueue(jobs.task(now.id, now.revision))
        return now
    ended = await end_by_user(tx, task, user)
    if not begun and not task.asked and (task.plan is None or not task.plan.version):  # no card of it says so
        await say_in_thread(tx, ended, STOPPED_EARLY, f"stopped:{task.id}")
    return ended


async def _decide_failed_step(
    world: World, press: TaskPress, verb: TaskVerb, do: StepDecision
) -> PressResult:
    """A decision on a step that did not go through."""

    async def checked(tx: Tx, task: Task) -> Task | PressResult:
        step = task.plan.current if task.plan else None
        if step is None or task.why not in FAILURE_REASONS:
            return PressResult(False, "late", NO_FAILED_STEP, task=task)
        return await do(tx, task, step)

    return await _press_on_pause(world, press, verb, checked)


async def _press_on_pause(
    world: World, press: TaskPress, verb: TaskVerb, do: Callable[[Tx, Task], Awaitable[Task | PressResult]]
) -> PressResult:
    """A press on the card of a pause. What was written into its field is kept, whichever button was pressed."""
    text = press.text.strip()[:MOST]

    async def checked(tx: Tx, task: Task) -> Task | PressResult:
        if task.state is not TaskState.PAUSED:
            return already_decided(task)
        if text and too_many_instructions(task):
            return PressResult(False, "full", FULL, task=task)
        if text:
            said = await _instruction(tx, task, press, text)
            task = await tx.update_task(task, **with_instruction(task, said))
        return await do(tx, task)

    return await retry_once(lambda: press_task(world, press, verb, lambda task: task.pauses, checked))
