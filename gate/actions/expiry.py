"""Sweep: what time does to actions and tasks, by their due columns; and what follows the death of a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gate.actions.claim_click import expire, notify_ended
from gate.actions.execute import cancel_approved, outcome_entry
from gate.actions.execution_claim import NOT_STARTED_IN_TIME
from gate.rules import jobs
from gate.rules.action import Action, Outcome, Session
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.due_times import IDLE_SECONDS
from gate.rules.jobs import for_owner
from gate.rules.planner_port import Turn
from gate.rules.ports import DueItem, Stale, World
from gate.rules.task import Step, Task
from gate.rules.task_states import TaskState
from gate.tasks import clarify, feedback, plan_review, step_check

MAX_RESTARTS = 2  # runs of one card after which no further one is asked for
LOST = (
    "I lost track of this while it ran: the process that ran it stopped, or could not report back. "
    "It may or may not have happened, and I will not run it again by myself."
)


async def overdue(world: World) -> int:
    """Settle what is due by now. How many there were. Raises as `finish_unanswered` does."""
    found = await world.ledger.due()
    await process_items(world, found)
    return len(found)


async def process_items(world: World, found: Sequence[DueItem]) -> None:
    """Do what time asks for: what expires, a claim or a run that was lost, a wait that is over, a task that stands
    still. Nothing happens to what has changed since it was found.

    Raises what went wrong with one of them once the others are settled.
    """
    wrong = None
    for due in found:
        try:
            await (_process_task(world, due) if due.kind == "task" else _process_action(world, due))
        except Exception as error:
            wrong = error
    if wrong:
        raise wrong


async def restart_given_up(world: World, given_up: Sequence[str] = ()) -> None:
    """Draw what should have been drawn and read what should have been read, where the run that was to do it may be
    lost. A run that still waits bears the second one, which finds nothing to do.

    `given_up`: the keys of all runs of cards that the engine has given up, of late; such a card is asked for anew, but
    not for ever: what ends the process each time it is drawn would end it again."""
    vain = [jobs.card_of_run(key) for key in given_up]
    times = Counter(about for about, _ in vain)
    if again := {about: number for about, number in sorted(vain) if times[about] <= MAX_RESTARTS}:
        await world.ledger.count_failed_draws(again)
    cards, threads = await world.ledger.lost_work()
    if not cards and not threads:
        return
    async with world.ledger.begin() as tx:
        now = await tx.now()
        for card in cards:
            tx.request_card(card)
        for thread in threads:
            tx.enqueue(jobs.take_in(thread.key, f"sweep:{thread.key}:{now.timestamp() // IDLE_SECONDS:.0f}"))


async def _process_action(world: World, due: DueItem) -> None:
    action = await world.ledger.action(due.id)
    if action is None or action.revision != due.revision:
        return
    with for_owner(action.requester):  # what follows is work for them
        if action.state is State.PREPARED:
            await expire(world, action)
        elif action.state is State.EXECUTING:
            await mark_unknown(world, action)
        elif action.state is State.APPROVED:
            await enqueue_again(world, action)


async def _process_task(world: World, due: DueItem) -> None:
    """Let a task go on whose run was lost, or given up after too many crashes; or end its wait."""
    task = await world.ledger.task(due.id)
    if task is None or task.revision != due.revision:
        return
    with for_owner(task.requester):
        if not task.driven:
            await _end_wait(world, task, -due.left)
        async with world.ledger.begin() as tx:
            if task.driven:
                tx.enqueue(jobs.task(task.id, f"sweep:{(await tx.now()).timestamp():.0f}"))
            await tx.postpone_sweep(task.id)


async def resume_thread(world: World, name: str, about: str, cause: str) -> None:
    """Let a thread go on after the death of the process that a run `name` about `about` was in: what follows a run
    in its process is written down nowhere but in the ledger. `cause` tells one death from the next; safe to repeat."""
    pressed = await world.ledger.actions_of_group(about) if name == "confirm_all" else ()
    session = pressed[0].session if pressed else await _session_of_run(world, name, about)
    if session is None:
        return
    tasks = [task for task in await world.ledger.tasks_of(session) if not task.is_finished]
    turns = [turn for task in tasks if task.turn and (turn := await world.ledger.turn(task.turn))]
    made = list(pressed)
    made += [action for turn in turns for action in await world.ledger.actions_of_turn(turn.id)]
    made += [
        a for task in tasks for s in _steps(task) if s.action and (a := await world.ledger.action(s.action))
    ]
    async with world.ledger.begin() as tx:
        tx.enqueue(jobs.take_in(session.key, cause))
        for task in tasks:
            tx.enqueue(jobs.task(task.id, cause))
        for turn in turns:
            tx.enqueue(jobs.turn(turn.id, cause))
        for action in made:
            if action.state is State.APPROVED:
                tx.enqueue(jobs.carry_out(action.id, cause))


async def _session_of_run(world: World, name: str, about: str) -> Session | None:
    """The thread that a run was about, by what its first argument names."""
    if name == "take_in":
        return Session.of(about)
    found: Task | Turn | Action | None
    if name == "task":
        found = await world.ledger.task(about)
    elif name == "turn":
        found = await world.ledger.turn(about)
    else:
        found = await world.ledger.action(about)
    return found.session if found else None


def _steps(task: Task) -> tuple[Step, ...]:
    return task.plan.steps if task.plan else ()


async def _end_wait(world: World, task: Task, late: float) -> None:
    """End the wait of a task, so many seconds after its time."""
    if task.state is TaskState.PAUSED:
        await step_check.end_review_time(world, task, late)
    elif task.state is TaskState.SATISFACTION:
        await feedback.finish_unanswered(world, task.id, task.ends)
    elif task.state is TaskState.CLARIFYING:
        await clarify.expire_questions(world, task.id, task.asked)
    elif task.state is TaskState.PLAN_REVIEW and task.plan is not None:
        await plan_review.expire_plan(world, task.id, task.plan.version)


async def mark_unknown(world: World, action: Action) -> None:
    """A claim that nobody renews: the outcome is unknown. Never while its holder still beats."""
    try:
        async with world.ledger.begin() as tx:
            now = await tx.action(action.id)
            if (
                now is None
                or now.state is not State.EXECUTING
                or (now.claim and now.claim.until > await tx.now())
            ):
                return
            outcome = Outcome("unknown", LOST, at=world.clock.now())
            moved = await tx.move(now, Event.LOSE, execution=replace(now.execution, outcome=outcome))
            tx.audit(outcome_entry(moved, outcome))
            notify_ended(tx, moved)
    except (Stale, NoSuchArrow):
        return


async def enqueue_again(world: World, action: Action) -> None:
    """Approved and not started for long: its run may be lost. A second run is harmless, the claim sees to it;
    but many would be in the way of others, so each comes after twice the time of the one before. Once its time to
    begin is over, it is called off."""
    votes = await world.ledger.votes(action.id, action.version)
    confirmed = max((vote.at for vote in votes), default=action.created_at)
    waited = (await world.ledger.now() - confirmed).total_seconds()
    if waited > world.limits.begin:
        return await cancel_approved(world, action, NOT_STARTED_IN_TIME)
    async with world.ledger.begin() as tx:
        tx.enqueue(jobs.carry_out(action.id, int(waited).bit_length()))
