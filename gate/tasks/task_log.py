"""The life of a task: opened, moved along its arrows with its record, and who may press what on its cards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from gate.actions.button_press import GONE, Said, TaskPress, heeded
from gate.rules import events, jobs, plans
from gate.rules.action import Json
from gate.rules.audit import Entry
from gate.rules.ids import derived
from gate.rules.ledger_ports import TaskParts
from gate.rules.messages import SOON, CardKey, CardKind
from gate.rules.permissions import TaskVerb, may_task
from gate.rules.planner_port import Brief, Mode, Turn
from gate.rules.ports import Happening, Note, StaleTask, Tx, World
from gate.rules.redaction import redacted_step
from gate.rules.task import Pause, Plan, Step, Task, Why, Wish
from gate.rules.task_states import NoSuchTaskArrow, TaskEvent, TaskState

BROKEN = "Something went wrong on my side, so I stopped here. Nothing more of it will run. Please ask in other words."
PLANNER_AWAY = (
    "I cannot reach the model at the moment. Your request is kept, and I continue as soon as it answers."
)
OLD_CARD = "This was changed since you saw it. Please use the newest card in the thread."
# Events that are somebody's words: nothing is decided by them.
SAID = frozenset({"opened", "heard", "user_instruction", "kept talking"})
EARLIER_TURNS = 100  # of the thread, that a planner is reminded of


def record(tx: Tx, task: Task, event: str, actor: str = "system", reason: str = "") -> None:
    """Put a change of a task on the record and on the event stream, and have its cards drawn."""
    _record(tx, task, event, actor, reason)
    show(tx, task)


def _record(tx: Tx, task: Task, event: str, actor: str, reason: str) -> None:
    tx.audit(
        Entry(
            event=f"task_{event}",
            session=task.session.key,
            actor=actor,
            action=task.id,
            version=task.plan.version if task.plan else 0,
            receipt=task.plan.seal if task.plan else "",
            outcome=task.state.value,
            user_confirmed=actor != "system" and event not in SAID,
            reason=reason[:1000],
        )
    )
    body: dict[str, Json] = {"state": task.state.value, "revision": task.revision, "event": event}
    tx.emit(Happening("task_changed", task.session, task.id, body))


def _request(tx: Tx, before: Task, now: Task) -> None:
    """Tell who listens that a task asks something since."""
    for told in events.of_task(before, now):
        tx.emit(told)


def show(tx: Tx, task: Task, within: float = 0.0) -> None:
    """Have the cards of a task brought up to date, at the latest in so many seconds."""
    if task.has_cards:
        tx.show(CardKey(CardKind.TASK, task.id), within)
    else:
        tx.signal(task)


async def moved(
    tx: Tx,
    task: Task,
    event: TaskEvent,
    actor: str = "system",
    *,
    go: bool = False,
    note: str = "",
    **changes: Unpack[TaskParts],
) -> Task:
    """Follow an arrow and write it down. With `go`, a run lets the task go on. A `reason` is kept with the task; a
    `note` stands on the record alone."""
    now = await tx.move_task(task, event, **changes)
    record(tx, now, event.value, actor, note or changes.get("reason", ""))
    if now.asked_on and TaskState.SATISFACTION in (task.state, now.state):
        tx.show(CardKey(CardKind.ACTION, now.asked_on))
    _request(tx, task, now)
    if go:
        tx.enqueue(jobs.task(now.id, now.revision))
    return now


async def kept(
    tx: Tx, task: Task, event: str, actor: str = "system", *, note: str = "", **changes: Unpack[TaskParts]
) -> Task:
    """Change what is no matter of state, and write it down. Of `reason` and `note` as above. That it goes on is shown
    only where that takes long."""
    now = await tx.keep_task(task, **changes)
    _record(tx, now, event, actor, note or changes.get("reason", ""))
    _request(tx, task, now)
    goes_on = now.state is TaskState.RUNNING and now.wish is Wish.NONE
    show(tx, now, SOON if goes_on else 0.0)
    return now


async def stepped(
    tx: Tx, task: Task, step: Step, event: str, text: str, *, note: str = "", **changes: Unpack[TaskParts]
) -> Task:
    """Write a step down, and what else it changes of its task; `text` becomes the reason of the task. Of a step that no
    shown plan lists, its action and its entry as a read are the record."""
    changes["plan"] = with_step(task, step).plan
    if step.origin is not None:
        return await tx.keep_task(task, **changes)
    changes["reason"] = text
    return await kept(tx, task, event, note=note, **changes)


async def unchanged(tx: Tx, task: Task) -> Task:
    """The task, its row locked, when nothing of it has changed since it was read. Raises StaleTask."""
    now = await tx.task(task.id)
    if now is None or now.revision != task.revision:
        raise StaleTask(now)
    return now


async def begun_turn(tx: Tx, task: Task, mode: Mode, text: str) -> str:
    """A turn of the planner for this task, as it stands in this transaction; its id, for `task.planning`."""
    turn = await tx.open_turn(turn_of(task, mode, text, await tx.now()))
    tx.enqueue(jobs.turn(turn.id, "begin", turn))
    return turn.id


def turn_of(task: Task, mode: Mode, text: str, at: datetime) -> Turn:
    """The turn that begins with this text for a task as it stands."""
    turn_id = derived("turn", task.id, task.revision, mode)
    return Turn(turn_id, task.session, task.requester, text, at, task=task.id, mode=mode)


async def brief_of(world: World, task: Task) -> Brief:
    """What a planner may know of a task at this moment."""
    earlier = await _earlier(world, task)
    steps: tuple[Step, ...] = (
        task.plan.steps if task.plan and task.planned else ()
    )  # else its turn tells of them
    return Brief(
        request=task.text,
        switches=task.switches,
        decided=task.decided,
        requirements=task.requirements,
        instructions=task.instructions,
        # Why a task is paused may be a tool's words; every other reason is the requester's, or ours.
        reason="" if task.state is TaskState.PAUSED else task.reason,
        done=tuple(redacted_step(task, s) for s in steps if s.is_finished),
        left=tuple(redacted_step(task, s) for s in steps if not s.is_finished),
        earlier=earlier[-EARLIER_TURNS:],
        older=len(earlier) > EARLIER_TURNS,
        remarks=task.input.remarks,
        attempts=task.attempts,
    )


async def _earlier(world: World, task: Task) -> tuple[Turn, ...]:
    """What was said in the thread before, with one turn more than a planner is told of where there are as many.

    What people said there is no context of an agent's task, whose plan the agent can read; and what an agent wrote into
    a thread is none of a person's, in whose name it was written.
    """
    if not task.turn and task.since == task.created_at:
        return ()  # it is the first of its thread, and nothing was asked of a planner yet
    others = await world.ledger.history(task.session, task.since, EARLIER_TURNS + 1, but=task.turn)
    if not others:
        return ()
    agents = await world.ledger.learnt.of_agents({task.id, *(turn.task for turn in others if turn.task)})
    if task.id in agents:
        return tuple(turn for turn in others if turn.task == task.id)
    return tuple(turn for turn in others if turn.task not in agents)


async def standing_task(world: World, press: TaskPress, verb: TaskVerb) -> Task | Said:
    """The task, when it exists and this person may do this with it; else what to tell them."""
    task = await world.ledger.task(press.ref.id)
    if task is None or task.session.team != press.team:
        return Said(False, "gone", GONE)
    ruling = may_task(world.policy, verb, task, await world.people.known(press.team, press.user))
    if ruling.allowed:
        return task
    async with world.ledger.begin(world.limits.decision) as tx:
        denied = Entry(
            event="turned_away",
            session=task.session.key,
            actor=press.user,
            action=task.id,
            outcome=verb.value,
            reason=ruling.reason,
        )
        tx.audit(denied)
    return Said(False, "not_allowed", ruling.reason, task=task)


async def pressed(
    world: World,
    press: TaskPress,
    verb: TaskVerb,
    number: Callable[[Task], int],
    do: Callable[[Tx, Task], Awaitable[Task | Said]],
) -> Said:
    """One press on a card of a task: the person, the card's number, then `do` in one transaction that holds the
    row. A press on an older card, or too late, changes nothing and is told so. Raises Unavailable."""
    found = await standing_task(world, press, verb)
    if isinstance(found, Said):
        return found
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            task = await tx.task(found.id)
            if task is None:
                return Said(False, "gone", GONE)
            if number(task) != press.ref.version:
                return Said(False, "stale", OLD_CARD, task=task)
            done = await do(tx, task)
            if isinstance(done, Task) or done.ok:
                await heeded(tx, press)
            if isinstance(done, Task) and tx.token and not done.is_finished:
                asks = replace(done.request, asks=True)  # no grant covers what came through an API token
                done = await tx.keep_task(done, request=asks)
    except (NoSuchTaskArrow, StaleTask):
        return late_task(await world.ledger.task(found.id) or found)
    return done if isinstance(done, Said) else Said(True, verb.value, task=done)


def late_task(task: Task) -> Said:
    """The truth for a press that comes when the task has moved on."""
    by = f" by <@{task.ended_by}>" if task.ended_by else ""
    return Said(False, "late", LATE.get(task.state, OLD_CARD).format(by=by), task=task)


LATE = {
    TaskState.RUNNING: "This is running already.",
    TaskState.PAUSED: "This is paused. Please use the newest card in the thread.",
    TaskState.DONE: "This is done and settled already{by}.",
    TaskState.CANCELLED: "This was cancelled already{by}.",
    TaskState.STOPPED_BY_USER: "This was stopped already{by}.",
    TaskState.FAILED: "This has failed already. Please ask for what you need anew.",
    TaskState.SATISFACTION: "This has run to its end already.",
}


async def say_in_thread(tx: Tx, task: Task, text: str, cause: str | int, to: str = "") -> None:
    """Say something of ours in the task's thread, once for each cause."""
    note = Note(derived("task note", task.id, cause), task.session, "answer", {"text": text}, to)
    await tx.note(note)


async def retold(world: World, task: Task, result: str) -> None:
    """Write down what came of a task that has run to its end, where something of it was taken back since."""
    if result != task.result:
        async with world.ledger.begin() as tx:
            await kept(
                tx, await unchanged(tx, task), "taken_back", outcome=replace(task.outcome, result=result)
            )


async def failed(tx: Tx, task: Task, reason: str) -> Task:
    """End a task that cannot go on, and say why."""
    ended = await moved(tx, task, TaskEvent.FAIL, reason=reason)
    await say_in_thread(tx, ended, reason, "failed")
    return ended


async def ended_by(tx: Tx, task: Task, user: str) -> Task:
    """End a task because somebody said so, with what was done until then."""
    result = plans.summary(task.plan) if task.plan and task.planned else ""
    outcome = replace(task.outcome, result=result, ended_by=user)
    return await moved(
        tx, task, TaskEvent.STOP, user, pause=replace(task.pause, wish=Wish.NONE), outcome=outcome
    )


def with_step(task: Task, step: Step) -> Task:
    """The task with this step in place of the one that has its id."""
    assert task.plan is not None
    steps = tuple(step if one.id == step.id else one for one in task.plan.steps)
    return replace(task, plan=replace(task.plan, steps=steps))


def paused(task: Task, why: Why) -> Pause:
    """The next pause of a task. What somebody wished has come about with it."""
    return Pause(why=why, pauses=task.pauses + 1)


def unpaused(task: Task, plan: Plan | None) -> TaskParts:
    """What changes of a task that goes on after a pause, with this plan."""
    return {"pause": replace(task.pause, why=Why.NONE), "reason": "", "plan": plan}


def planner_away(turn: Turn) -> Note:
    """The message that the model cannot be reached: one for each task, however often the model is asked again."""
    return Note(derived("away", turn.task or turn.id), turn.session, "answer", {"text": PLANNER_AWAY})
