"""Mode: the requester says, in the thread or over the API, who lets their task go on after each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.actions.button_press import Said, TaskPress
from gate.rules import thread_commands
from gate.rules.action import Json
from gate.rules.autonomy import ApprovalMode
from gate.rules.permissions import TaskVerb, may_task
from gate.rules.planner_port import Incoming
from gate.rules.ports import StaleTask, Tx, Unavailable, World
from gate.rules.settings import BadSwitches, Switches, switched
from gate.rules.task import Task
from gate.tasks import step_check
from gate.tasks.task_log import late_task, pressed, record

LOOKS = 20  # at a task that others change at the same time
NONE = "Nothing is under way in this thread. A request of its own can begin with its mode: `[manual] …`."
NOW = "From now on this task is in mode `{mode}`{least}."


async def said(world: World, incoming: Incoming) -> Said | None:
    """What came of `mode …`. None when the message says nothing of the kind. Raises Unavailable."""
    changes = thread_commands.mode(incoming.text)
    if changes is None:
        return None
    task = await _open(world, incoming)
    if task is None:
        return Said(False, "none", NONE) if incoming.mentioned else None
    ruling = may_task(
        world.policy, TaskVerb.MODE, task, await world.people.fresh(incoming.session.team, incoming.user)
    )
    if not ruling.allowed:
        return Said(False, "not_allowed", ruling.reason, task=task)
    for _ in range(LOOKS):
        try:
            return await _change(world, task, changes)
        except BadSwitches as wrong:
            return Said(False, "unfit", str(wrong), task=task)
        except StaleTask:
            continue
    raise Unavailable("the task did not stand still")


async def _open(world: World, incoming: Incoming) -> Task | None:
    """The task that is meant: the one that holds the thread, else the newest of their own."""
    tasks = [task for task in await world.ledger.tasks_of(incoming.session, 20) if not task.is_finished]
    own = [task for task in tasks if task.requester == incoming.user]
    return next((task for task in tasks if task.holds_thread), own[0] if own else None)


async def change(world: World, press: TaskPress, changes: Mapping[str, Json]) -> Said:
    """The same over the API: `changes` are the switches `approval_mode` and `confidence`. Raises Unavailable."""

    async def do(tx: Tx, task: Task) -> Task | Said:
        return late_task(task) if task.is_finished else await _changed(tx, task, changes)

    try:
        return await pressed(world, press, TaskVerb.MODE, lambda _: press.ref.version, do)
    except BadSwitches as wrong:
        return Said(False, "unfit", str(wrong))


async def _change(world: World, task: Task, changes: Mapping[str, Json]) -> Said:
    """Raises BadSwitches, and StaleTask."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.is_finished:
            return Said(False, "none", NONE)
        changed = await _changed(tx, now, changes)
    return Said(True, "mode", _described(changed.switches), task=changed)


async def _changed(tx: Tx, task: Task, changes: Mapping[str, Json]) -> Task:
    """The task with these switches. One that goes on by itself in a moment waits where its new mode would have it wait.
    Raises BadSwitches, and StaleTask."""
    switches = switched(task.switches, changes)
    if step_check.briefly(task) and switches.approval_mode != ApprovalMode.AUTO:
        task = await step_check.pause_for_review(tx, task, task.requester)
    changed = await tx.keep_task(task, request=replace(task.request, switches=switches))
    record(tx, changed, "mode_changed", changed.requester, _described(switches))
    return changed


def _described(switches: Switches) -> str:
    threshold = switches.approval_mode == ApprovalMode.THRESHOLD
    least = f": below a confidence of {switches.confidence:.2f} it waits" if threshold else ""
    return NOW.format(mode=switches.approval_mode, least=least)
