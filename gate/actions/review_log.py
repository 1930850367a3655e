"""What a review leaves behind: the pause on the stream of events, and the decision as a record of its own."""

from __future__ import annotations

from dataclasses import replace

from gate.actions.words_of_tokens import count_words_of_token
from gate.rules.action import Action, ResultDecision, ResultReview, Session
from gate.rules.canonical_json import stored_args
from gate.rules.plans import step_of
from gate.rules.ports import Tx, World
from gate.rules.reviews import (
    COMMENT,
    Phase,
    ReviewDecision,
    ReviewRecord,
    matched_names,
    node,
    paused,
    resumed,
    step_result,
)
from gate.rules.task import PauseReason, Step, Task
from gate.rules.task_states import TaskState
from gate.rules.undo_privacy import is_confidential, keeps_values

APPROVE, REJECT = ReviewDecision.APPROVE, ReviewDecision.REJECT


async def announce_action_review(tx: Tx, action: Action) -> None:
    """An action waits for its person: say so where that is a review."""
    if action.review:
        tx.publish(paused(action.session, action.task, node(action), Phase.BEFORE, await tx.now()))


async def announce_step_review(tx: Tx, task: Task, step: Step) -> None:
    """A task waits until somebody has looked at what this step gave."""
    tx.publish(paused(task.session, task.id, (task.id, step.id), Phase.AFTER, await tx.now()))


async def action_review_name(world: World, action: Action) -> str:
    """The operator's review that a call waits for before it runs, as the rules stand now; "" where none does. An undo
    waits for none: whoever wants it has looked at what it takes back."""
    before = any(one.enabled and one.trigger_phase is Phase.BEFORE for one in world.policy.reviews)
    if not before or action.undoes:
        return ""
    return world.policy.review(Phase.BEFORE, action.name, await names_in_plan(world, action))


async def is_review_missing(world: World, action: Action) -> bool:
    """Whether the rules want a review since that its card was not shown for, so that no yes to it was one."""
    return not action.review and bool(await action_review_name(world, action))


def result_review_name(world: World, action: Action) -> str:
    """The operator's review that the result of a call outside of plans waits for; "" where none does. A step's task
    waits instead; what an undo gives goes to nobody."""
    if (action.step and not action.turn) or action.undoes:
        return ""
    return world.policy.review(Phase.AFTER, action.name)


async def names_in_plan(world: World, action: Action) -> tuple[str, ...]:
    """What reviews may name an action by besides its tool: its step in a plan, by its id and its title."""
    task = await world.ledger.task(action.task) if action.step and not action.turn else None
    step = step_of(task.plan, action.step) if task else None
    return matched_names(step) if step else ()


async def withholds_words(world: World, action: Action) -> bool:
    """Whether the log keeps only measures of what a server says in the middle of its call: what comes of it is not
    kept either, or waits for a review. An undo is named as what it takes back."""
    if is_confidential(action) or keeps_values(action):
        return True
    if not world.policy.reviews:
        return False
    about = await world.ledger.action(action.undoes) if action.undoes else action
    names = await names_in_plan(world, about) if about else ()
    return bool(world.policy.review(Phase.AFTER, action.name, names))


async def announce_review(tx: Tx, action: Action) -> None:
    """The result of a call waits for a person: say so."""
    if action.under_review:
        tx.publish(paused(action.session, action.task, node(action), Phase.AFTER, await tx.now()))


async def record_review(tx: Tx, action: Action, judged: ResultDecision) -> None:
    """Put somebody's decision on what a call outside of plans gave on record."""
    execution, at_node = node(action)
    record = ReviewRecord(
        execution_id=execution,
        node_id=at_node,
        reviewer_id=judged.by,
        decision=APPROVE if judged.kept else REJECT,
        trigger_phase=Phase.AFTER,
        original_data=step_result(action),
        modified_data=judged.revised,
        comment=judged.comment[:COMMENT],
        reviewed_at=await tx.now(),
    )
    await _save(tx, record, action.session)
    tx.publish(resumed(action.session, action.task, execution, record.reviewed_at))


async def _save(tx: Tx, record: ReviewRecord, session: Session) -> None:
    await count_words_of_token(tx, session, record.comment, record.modified_data)
    await tx.reviews.save(record, session)


async def record_action_review(
    tx: Tx, action: Action, user: str, decision: ReviewDecision, comment: str, *, over: bool = True
) -> None:
    """Put somebody's decision on an action on record, where it is a review. `over`: nobody else is needed for it."""
    if not action.review:
        return
    ran, proposed = stored_args(action.args), stored_args(action.proposed) if action.proposed else None
    execution, at_node = node(action)
    record = ReviewRecord(
        execution_id=execution,
        node_id=at_node,
        reviewer_id=user,
        decision=decision,
        trigger_phase=Phase.BEFORE,
        original_data=ran if proposed is None else proposed,
        modified_data=None if proposed is None or proposed == ran else ran,
        comment=comment[:COMMENT],
        reviewed_at=await tx.now(),
    )
    await _save(tx, record, action.session)
    if over:
        tx.publish(resumed(action.session, action.task, execution, record.reviewed_at))


async def record_step_review(tx: Tx, task: Task, judged: ResultDecision) -> None:
    """Put somebody's decision on the result that a task waits at on record: among the reviews, and on the action."""
    step = step_under_review(task)
    if step is None:
        return
    judged = replace(judged, comment=judged.comment[:COMMENT])
    record = ReviewRecord(
        execution_id=task.id,
        node_id=step.id,
        reviewer_id=judged.by,
        decision=APPROVE if judged.kept else REJECT,
        trigger_phase=Phase.AFTER,
        original_data=step.result,
        modified_data=judged.revised,
        comment=judged.comment,
        reviewed_at=await tx.now(),
    )
    await _save(tx, record, task.session)
    action = await tx.action(step.action) if step.action else None
    # What an earlier review of the call itself has changed, or dropped, is not let out by going on.
    as_it_is = judged.kept and judged.revised is None
    if action is not None and not action.flaw and not (action.judged and as_it_is):
        await tx.update_action(action, result_review=ResultReview(judged=judged))
    tx.publish(resumed(task.session, task.id, task.id, record.reviewed_at))


def step_under_review(task: Task | None) -> Step | None:
    """The step whose result a task waits to have looked at."""
    if (
        task is None
        or task.plan is None
        or task.state is not TaskState.PAUSED
        or task.why is not PauseReason.REVIEW
    ):
        return None
    return next((step for step in task.plan.steps if step.shown == task.pauses), None)
