"""Mode: the requester says in the thread who lets their task go on after each step."""

from __future__ import annotations

from gate import plain
from gate.autonomy import ApprovalMode
from gate.flows import after_step
from gate.flows.life import record
from gate.flows.press import Said
from gate.people import TaskVerb, may_task
from gate.switches import BadSwitches, Switches, switched
from gate.talk import Incoming
from gate.task import Task
from gate.world import StaleTask, Unavailable, World

LOOKS = 20  # at a task that others change at the same time
NONE = "Nothing is under way in this thread. A request of its own can begin with its mode: `[manual] …`."
NOW = "From now on this task is in mode `{mode}`{least}."


async def said(world: World, incoming: Incoming) -> Said | None:
    """What came of `mode …`. None when the message says nothing of the kind. Raises Unavailable."""
    changes = plain.mode(incoming.text)
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
    tasks = [task for task in await world.ledger.tasks_of(incoming.session, 20) if not task.over]
    own = [task for task in tasks if task.requester == incoming.user]
    return next((task for task in tasks if task.holds_thread), own[0] if own else None)


async def _change(world: World, task: Task, changes: dict[str, str]) -> Said:
    """Raises BadSwitches, and StaleTask."""
    async with world.ledger.begin() as tx:
        now = await tx.task(task.id)
        if now is None or now.over:
            return Said(False, "none", NONE)
        switches = switched(now.switches, changes)
        if after_step.briefly(now) and switches.approval_mode != ApprovalMode.AUTO:
            now = await after_step.held(tx, now, now.requester)
        changed = await tx.keep_task(now, switches=switches)
        record(tx, changed, "mode_changed", changed.requester, _told(switches))
    return Said(True, "mode", _told(switches), task=changed)


def _told(switches: Switches) -> str:
    threshold = switches.approval_mode == ApprovalMode.THRESHOLD
    least = f": below a confidence of {switches.confidence:.2f} it waits" if threshold else ""
    return NOW.format(mode=switches.approval_mode, least=least)
