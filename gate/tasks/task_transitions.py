"""The life of a task: opened, moved along its arrows with its record, and who may press what on its cards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Unpack

from gate.actions.button_press import NOT_FOUND, PressResult, TaskPress, mark_message_handled
from gate.actions.words_of_tokens import count_words_of_token, told_to_token
from gate.rules import advisers, events, jobs, plans
from gate.rules.action import Json
from gate.rules.audit import Entry
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.ids import derive_id
from gate.rules.ledger_ports import TaskParts
from gate.rules.messages import PROGRESS_DELAY, CardKey, CardKind
from gate.rules.permissions import TaskVerb, may_task
from gate.rules.plan_room import within_room
from gate.rules.planner_port import Mode, PlannerContext, Turn
from gate.rules.ports import LedgerEvent, Note, Stale, StaleTask, Tx, World
from gate.rules.previews import measured
from gate.rules.task import Instruction, Pause, PauseReason, Plan, Step, StopRequest, Task
from gate.rules.task_states import NoSuchTaskArrow, TaskEvent, TaskState
from gate.rules.undo_privacy import is_confidential
from gate.rules.unreleased_results import redacted_step

BROKEN = "Something went wrong on my side, so I stopped here. Nothing more of it will run. Please ask in other words."
PLANNER_AWAY = (
    "I cannot reach the model at the moment. Your request is kept, and I continue as soon as it answers."
)
OLD_CARD = "This was changed since you saw it. Please use the newest card in the thread."
IN_WORDS = "Answered in words."  # the result of a task that called for nothing
INSTRUCTIONS = 50  # kept of one task
FULL = "That is too many instructions for one task. Please stop it and ask anew with all of them."
# Events that are somebody's words: nothing is decided by them.
INSTRUCTION_EVENTS = frozenset({"opened", "heard", "user_instruction", "kept talking"})
EARLIER_TURNS = 100  # of the thread, that a planner is reminded of


def record(tx: Tx, task: Task, event: str, actor: str = "system", reason: str = "") -> None:
    """Put a change of a task on the record and on the event stream, and have its cards drawn."""
    _record(tx, task, event, actor, reason)
    request_cards(tx, task)


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
            user_confirmed=actor != "system" and event not in INSTRUCTION_EVENTS,
            reason=reason[:1000],
        )
    )
    body: dict[str, Json] = {"state": task.state.value, "revision": task.revision, "event": event}
    tx.publish(LedgerEvent("task_changed", task.session, task.id, body))


def retire_cards(tx: Tx, before: Task, now: Task) -> None:
    """Have the cards of steps drawn once more of which the card of the plan tells all since: they go."""
    if now.plan is None or now.plan is before.plan:
        return
    told = {step.id for step in before.plan.steps if step.is_told} if before.plan else set()
    for step in now.plan.steps:
        if step.is_told and step.id not in told and step.action and not step.is_covered:
            tx.request_card(CardKey(CardKind.ACTION, step.action))


def _request(tx: Tx, before: Task, now: Task) -> None:
    """Tell who listens that a task asks something since."""
    for told in events.of_task(before, now):
        tx.publish(told)


def request_cards(tx: Tx, task: Task, within: float = 0.0) -> None:
    """Have the cards of a task brought up to date, at the latest in so many seconds."""
    if task.has_cards:
        tx.request_card(CardKey(CardKind.TASK, task.id), within)
    else:
        tx.notify_status(task)


async def move_task(
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
        tx.request_card(CardKey(CardKind.ACTION, now.asked_on))
    retire_cards(tx, task, now)
    _request(tx, task, now)
    if go:
        tx.enqueue(jobs.task(now.id, now.revision))
    return now


async def update_task(
    tx: Tx, task: Task, event: str, actor: str = "system", *, note: str = "", **changes: Unpack[TaskParts]
) -> Task:
    """Change what is no matter of state, and write it down. Of `reason` and `note` as above. That it goes on is shown
    only where that takes long."""
    now = await tx.update_task(task, **changes)
    _record(tx, now, event, actor, note or changes.get("reason", ""))
    retire_cards(tx, task, now)
    _request(tx, task, now)
    goes_on = now.state is TaskState.RUNNING and now.wish is StopRequest.NONE
    request_cards(tx, now, PROGRESS_DELAY if goes_on else 0.0)
    return now


async def update_step(
    tx: Tx, task: Task, step: Step, event: str, text: str, *, note: str = "", **changes: Unpack[TaskParts]
) -> Task:
    """Write a step down, and what else it changes of its task; `text` becomes the reason of the task. Of a step that no
    shown plan lists, its action and its entry as a read are the record."""
    changes["plan"] = with_step(task, step).plan
    if step.origin is not None:
        return await tx.update_task(task, **changes)
    changes["reason"] = text
    return await update_task(tx, task, event, note=note, **changes)


async def lock_unchanged(tx: Tx, task: Task) -> Task:
    """The task, its row locked, when nothing of it has changed since it was read. Raises StaleTask."""
    now = await tx.task(task.id)
    if now is None or now.revision != task.revision:
        raise StaleTask(now)
    return now


async def start_turn(tx: Tx, task: Task, mode: Mode, text: str) -> str:
    """A turn of the planner for this task, as it stands in this transaction; its id, for `task.planning`."""
    turn = await tx.open_turn(turn_of(task, mode, text, await tx.now()))
    tx.enqueue(jobs.turn(turn.id, "begin", turn))
    return turn.id


def turn_of(task: Task, mode: Mode, text: str, at: datetime) -> Turn:
    """The turn that begins with this text for a task as it stands."""
    turn_id = derive_id("turn", task.id, task.revision, mode)
    return Turn(turn_id, task.session, task.requester, text, at, task=task.id, mode=mode)


async def is_about_private(tx: Tx, task: Task) -> bool:
    """Whether something that was called for it is confidential: then so may be what is said about it."""
    steps = task.plan.steps if task.plan else ()
    if any(step.is_private for step in steps):
        return True
    found = [await tx.action(step.action) for step in steps if step.action]
    return any(action is not None and is_confidential(action) for action in found)


async def told_words(tx: Tx, task: Task, text: str) -> str:
    """What people said about a task, as its cards and the record tell it: of what is confidential only how long it is
    and its hash. Its turn has the words."""
    return measured(text) if text and await is_about_private(tx, task) else text


def words_are_private(task: Task, turn: Turn) -> bool:
    """Whether a turn is about words that its task does not tell: then what is answered, which may quote them, is for
    whoever typed them alone."""
    if any(one.alone and one.text in turn.text for one in task.instructions):
        return True
    return bool(turn.text) and task.reason == measured(turn.text)


async def planner_context(world: World, task: Task) -> PlannerContext:
    """What a planner may know of a task at this moment."""
    earlier = await _earlier(world, task)
    steps: tuple[Step, ...] = (
        task.plan.steps if task.plan and task.planned else ()
    )  # else its turn tells of them
    # Why a task is paused, and what a step of a plan came to, may be a tool's words; every other reason is the
    # requester's, or ours.
    is_of_others = task.state is TaskState.PAUSED or _runs_a_plan(task)
    return PlannerContext(
        request=task.text,
        switches=task.switches,
        decided=task.decided,
        requirements=task.requirements,
        instructions=task.instructions,
        reason="" if is_of_others else await _words(world, task, earlier),
        done=tuple(redacted_step(task, s) for s in steps if s.is_finished),
        left=tuple(redacted_step(task, s) for s in steps if not s.is_finished),
        earlier=earlier[-EARLIER_TURNS:],
        older=len(earlier) > EARLIER_TURNS,
        told_by=await told_by(world, task, earlier),
        remarks=task.input.remarks,
        attempts=task.attempts,
    )


async def _words(world: World, task: Task, earlier: tuple[Turn, ...]) -> str:
    """The reason of a task, in the words of the turn that keeps them where the task does not."""
    if "SHA-256" not in task.reason:
        return task.reason
    now = await world.ledger.turn(task.turn)
    said = [turn.text for turn in (*earlier, now) if turn and turn.task == task.id]
    return next((text for text in said if measured(text) == task.reason), task.reason)


def _runs_a_plan(task: Task) -> bool:
    return task.state is TaskState.RUNNING and task.planned


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
    agents = await world.ledger.grants.of_agents({task.id, *(turn.task for turn in others if turn.task)})
    if task.id in agents:
        return tuple(turn for turn in others if turn.task == task.id)
    return tuple(turn for turn in others if turn.task not in agents)


async def told_by(world: World, task: Task, earlier: tuple[Turn, ...] | None = None) -> frozenset[str]:
    """`PlannerContext.told_by`. `earlier`: the turns before, where they have been read."""
    if not advisers.are_counted(world.policy):
        return frozenset()
    turns, grants = await _earlier(world, task) if earlier is None else earlier, world.ledger.grants
    tasks = {task.id, *(turn.task for turn in turns)}
    said = await grants.said_in({task.turn, *(turn.id for turn in turns)} - {""}, tasks - {""})
    to_agent = await grants.said_to_token(task.id, task.session.team, task.requester)
    asked = {turn.requester for turn in turns}
    return (said | to_agent | asked) - {task.requester}


async def load_task(world: World, press: TaskPress, verb: TaskVerb) -> Task | PressResult:
    """The task, when it exists and this person may do this with it; else what to tell them."""
    task = await world.ledger.task(press.ref.id)
    if task is None or task.session.team != press.team:
        return PressResult(False, "gone", NOT_FOUND)
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
    return PressResult(False, "not_allowed", ruling.reason, task=task)


async def press_task(
    world: World,
    press: TaskPress,
    verb: TaskVerb,
    number: Callable[[Task], int],
    do: Callable[[Tx, Task], Awaitable[Task | PressResult]],
) -> PressResult:
    """One press on a card of a task: the person, the card's number, then `do` in one transaction that holds the
    row. A press on an older card, or too late, changes nothing and is told so. Raises Unavailable."""
    found = await load_task(world, press, verb)
    if isinstance(found, PressResult):
        return found
    says = bool(press.text.strip() or press.values or verb is TaskVerb.MODIFY)
    told = await told_to_token(world, found.session.team, found.requester) if says else frozenset[str]()
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            task = await tx.task(found.id)
            if task is None:
                return PressResult(False, "gone", NOT_FOUND)
            if number(task) != press.ref.version:
                return PressResult(False, "stale", OLD_CARD, task=task)
            done = await do(tx, task)
            if isinstance(done, Task) or done.ok:
                await mark_message_handled(tx, press)
            if press.text.strip() or press.values:
                await count_words(tx, task, press.user)
            if isinstance(done, Task) and tx.token and not done.is_finished:
                asks = replace(done.request, asks=True)  # no grant covers what came through an API token
                heard = advisers.having_heard(done.input, told)
                done = await tx.update_task(done, request=asks, input=heard)
    except (NoSuchTaskArrow, StaleTask):
        return already_decided(await world.ledger.task(found.id) or found)
    return done if isinstance(done, PressResult) else PressResult(True, verb.value, task=done)


async def retry_once(press: Callable[[], Awaitable[PressResult]]) -> PressResult:
    """A press that met an action just as its time ran out looks at it once more."""
    try:
        return await press()
    except Stale:
        return await press()


async def count_words(tx: Tx, task: Task, user: str) -> None:
    """Count what this person says about a task as words of others in its thread, from when they are stored: what an
    admin says, or comes through an API token, may reach a planner by way of a later request."""
    await count_words_of_token(tx, task.session, True)
    if user != task.requester:
        await tx.grants.taint(task.session, WORDS_OF_OTHERS, False)


def already_decided(task: Task) -> PressResult:
    """The truth for a press that comes when the task has moved on."""
    by = f" by <@{task.ended_by}>" if task.ended_by else ""
    return PressResult(False, "late", ALREADY_DECIDED.get(task.state, OLD_CARD).format(by=by), task=task)


ALREADY_DECIDED = {
    TaskState.RUNNING: "This is running already.",
    TaskState.PAUSED: "This is paused. Please use the newest card in the thread.",
    TaskState.DONE: "This is done already{by}.",
    TaskState.CANCELLED: "This was cancelled already{by}.",
    TaskState.STOPPED_BY_USER: "This was stopped already{by}.",
    TaskState.FAILED: "This has failed already. Please ask for what you need anew.",
    TaskState.SATISFACTION: "This has run to its end already.",
}


async def say_in_thread(tx: Tx, task: Task, text: str, cause: str | int, to: str = "") -> None:
    """Say something of ours in the task's thread, once for each cause."""
    note = Note(derive_id("task note", task.id, cause), task.session, "answer", {"text": text}, to)
    await tx.note(note)


async def rewrite_result(world: World, task: Task, result: str) -> None:
    """Write down what came of a task that has run to its end, where something of it was taken back since."""
    if result != task.result:
        # What the planner said in the end is not so any more.
        plan = replace(task.plan, closing="") if task.plan else None
        outcome = replace(task.outcome, result=result)
        async with world.ledger.begin() as tx:
            await update_task(tx, await lock_unchanged(tx, task), "taken_back", plan=plan, outcome=outcome)


async def fail_task(tx: Tx, task: Task, reason: str) -> Task:
    """End a task that cannot go on, and say why."""
    ended = await move_task(tx, task, TaskEvent.FAIL, reason=reason)
    await say_in_thread(tx, ended, reason, "failed")
    return ended


async def end_by_user(tx: Tx, task: Task, user: str) -> Task:
    """End a task because somebody said so, with what was done until then."""
    result = plans.summary(task.plan) if task.plan and task.planned else ""
    outcome = replace(task.outcome, result=result, ended_by=user)
    return await move_task(
        tx, task, TaskEvent.STOP, user, pause=replace(task.pause, wish=StopRequest.NONE), outcome=outcome
    )


def with_step(task: Task, step: Step) -> Task:
    """The task with this step in place of the one that has its id."""
    assert task.plan is not None
    steps = tuple(step if one.id == step.id else one for one in task.plan.steps)
    return replace(task, plan=replace(task.plan, steps=within_room(steps)))


def next_pause(task: Task, why: PauseReason) -> Pause:
    """The next pause of a task. What somebody wished has come about with it."""
    return Pause(why=why, pauses=task.pauses + 1)


def without_pause(task: Task, plan: Plan | None) -> TaskParts:
    """What changes of a task that goes on after a pause, with this plan."""
    return {"pause": replace(task.pause, why=PauseReason.NONE), "reason": "", "plan": plan}


def too_many_instructions(task: Task, more: int = 1) -> bool:
    """Whether a task has no room for so many more instructions: all of them are told to the planner."""
    return len(task.instructions) + more > INSTRUCTIONS


def with_instruction(task: Task, said: Instruction) -> TaskParts:
    """What changes of a task by an instruction. A grant covers what is asked for in a request of its own, so nothing
    that comes after this."""
    given = replace(task.input, instructions=(*task.instructions, said))
    return {"input": given, "request": replace(task.request, asks=True)}


def planner_away(turn: Turn) -> Note:
    """The message that the model cannot be reached: one for each task, however often the model is asked again."""
    return Note(derive_id("away", turn.task or turn.id), turn.session, "answer", {"text": PLANNER_AWAY})
