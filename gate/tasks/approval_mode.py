"""Mode: the requester says, in the thread or over the API, who lets their task go on after each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.actions.button_press import PressResult, TaskPress
from gate.rules.action import Json
from gate.rules.autonomy import ApprovalMode
from gate.rules.permissions import TaskVerb, may_task
from gate.rules.planner_port import Incoming
from gate.rules.ports import StaleTask, Tx, Unavailable, World
from gate.rules.settings import BadSwitches, Switches, with_switches
from gate.rules.task import Task
from gate.sentences import thread_commands
from gate.tasks import step_check
from gate.tasks.task_transitions import already_decided, press_task, record

MAX_TASKS = 20  # at a task that others change at the same time
NO_TASK = "Nothing is under way in this thread. A request of its own can begin with its mode: `[manual] …`."
MODE_SET = "From now on this task is in mode `{mode}`{least}."


async def set_mode_by_text(world: World, incoming: Incoming) -> PressResult | None:
    """What came of `mode …`. None when the message says nothing of the kind. Raises Unavailable."""
    changes = thread_commands.mode(incoming.text)
    if changes is None:
        return None
    task = await _target_task(world, incoming)
    if task is None:
        return PressResult(False, "none", NO_TASK) if incoming.mentioned else None
    ruling = may_task(
        world.policy, TaskVerb.MODE, task, await world.people.fresh(incoming.session.team, incoming.user)
    )
    if not ruling.allowed:
        return PressResult(False, "not_allowed", ruling.reason, task=task)
    for _ in range(MAX_TASKS):
        try:
            return await _set_mode(world, task, changes, incoming.key)
        except BadSwitches as wrong:
            return PressResult(False, "unfit", str(wrong), task=task)
        except StaleTask:
            continue
    raise Unavailable("the task did not stand still")


async def _target_task(world: World, incoming: Incoming) -> Task | None:
    """The task that is meant: of their own the one that holds the thread, else the newest; else the one of somebody
    else that holds it."""
    tasks = [
        task
        for task in await world.ledger.tasks_of(incoming.session, 20, incoming.user)
        if not task.is_finished
    ]
    own = [task for task in tasks if task.requester == incoming.user]
    holding = (task for task in own or tasks if task.holds_thread)
    return next(holding, own[0] if own else None)


async def set_mode(world: World, press: TaskPress, changes: Mapping[str, Json]) -> PressResult:
    """The same over the API: `changes` are the switches `approval_mode` and `confidence`. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        return already_decided(task) if task.is_finished else await _with_mode(tx, task, changes)

    try:
        return await press_task(world, press, TaskVerb.MODE, lambda _: press.ref.version, do)
    except BadSwitches as wrong:
        return PressResult(False, "unfit", str(wrong))


async def _set_mode(world: World, task: Task, changes: Mapping[str, Json], message: str) -> PressResult:
    """Raises BadSwitches, and StaleTask."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.is_finished:
            return PressResult(False, "none", NO_TASK)
        changed = await _with_mode(tx, now, changes)
        await tx.finish_message(message)  # read once more, it would undo what was set since
    return PressResult(True, "mode", _described(changed.switches), task=changed)


async def _with_mode(tx: Tx, task: Task, changes: Mapping[str, Json]) -> Task:
    """The task with these switches. One that goes on by itself in a moment waits where its new mode would have it wait.
    Raises BadSwitches, and StaleTask."""
    switches = with_switches(task.switches, changes)
    if step_check.has_review_timeout(task) and switches.approval_mode != ApprovalMode.AUTO:
        task = await step_check.pause_for_review(tx, task, task.requester)
    changed = await tx.update_task(task, request=replace(task.request, switches=switches))
    record(tx, changed, "mode_changed", changed.requester, _described(switches))
    return changed


def _described(switches: Switches) -> str:
    threshold = switches.approval_mode == ApprovalMode.THRESHOLD
    least = f": where it is less than {100 * switches.confidence:g}% sure, it waits" if threshold else ""
    return MODE_SET.format(mode=switches.approval_mode, least=least)
