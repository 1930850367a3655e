"""What is paused for review, and what was decided before: lists from Redis, made anew from SQL; history from SQL."""

from __future__ import annotations

import contextlib

from gate.actions.review_log import step_under_review
from gate.rules import plans
from gate.rules.action import Action, Json
from gate.rules.action_states import State
from gate.rules.canonical_json import stored_args
from gate.rules.ports import Pending, Unavailable, World
from gate.rules.reviews import (
    PendingReview,
    Phase,
    ReviewRecord,
    node,
    step_result,
    version_after,
    version_before,
)
from gate.rules.steps import is_shown_in_thread
from gate.rules.task import Task

LOOKS = 20  # times that a copy is compared with what it was made from, before somebody else has to go on


async def pending_reviews(world: World, team: str, user: str) -> tuple[PendingReview, ...]:
    """What waits for a review in this team, as far as this person may know of it. From Redis; from SQL where Redis
    is away, and into Redis where it has no such list. Raises Unavailable when SQL is needed and away, too."""
    waiting = await _cached(world, team)
    if waiting is None:
        waiting = await _pending_in_sql(world, team)
    seen = [one for one in waiting if not one.private or one.requester == user]
    return tuple(sorted(seen, key=lambda one: (one.execution, one.node)))


async def _cached(world: World, team: str) -> tuple[PendingReview, ...] | None:
    if world.pending is None:
        return None
    try:
        found = await world.pending.all(team)
        return await rebuild_cache(world, world.pending, team) if found is None else found
    except Unavailable:
        return None


async def rebuild_cache(world: World, pending: Pending, team: str) -> tuple[PendingReview, ...]:
    """Make the list in Redis anew. What changes meanwhile is seen, since it is compared once more at the end.
    Raises Unavailable."""
    true = await _pending_in_sql(world, team)
    for _ in range(LOOKS):
        await pending.replace(team, true)
        now = await _pending_in_sql(world, team)
        if now == true:
            break
        true = now
    return true


async def update_cache(world: World, record: Action | Task) -> None:
    """Bring what Redis says of an action or a task in line with SQL. Raises Unavailable: then it is tried again."""
    await (cache_task(world, record) if isinstance(record, Task) else cache_action(world, record))


async def cache_action(world: World, action: Action | None) -> None:
    """Bring what Redis says of an action in line with SQL. Raises Unavailable: then it is tried again."""
    if world.pending is None or action is None or not (action.review or action.under_review or action.judged):
        return
    for _ in range(LOOKS):
        waiting = pending_of_action(action)
        await _update_entry(world.pending, action.session.team, action.id, waiting)
        before, action = action, await world.ledger.action(action.id) or action
        if before.revision == action.revision:
            return  # whoever writes last has looked last


async def cache_task(world: World, task: Task | None) -> None:
    """The same for a task, as after a step."""
    if world.pending is None or task is None or not task.pauses:
        return
    for _ in range(LOOKS):
        await _update_entry(world.pending, task.session.team, task.id, _pending_of_task(task))
        before, task = task, await world.ledger.task(task.id) or task
        if before.revision == task.revision:
            return


async def remove_from_cache(world: World, execution: str, action_id: str = "") -> None:
    """Just decided: take it off the list at once. Only haste: the drawing of its card does it as well."""
    with contextlib.suppress(Unavailable):
        await cache_task(world, await world.ledger.task(execution))
        await cache_action(world, await world.ledger.action(action_id or execution))


async def _update_entry(pending: Pending, team: str, key: str, waiting: PendingReview | None) -> None:
    await (pending.put(waiting) if waiting else pending.drop(team, key))


async def _pending_in_sql(world: World, team: str) -> tuple[PendingReview, ...]:
    actions, tasks = await world.ledger.reviews.waiting(team)
    after = [_pending_of_task(task) for task in tasks]
    found = [*map(pending_of_action, actions), *after]
    waiting = [one for one in found if one]
    return tuple(sorted(waiting, key=lambda one: one.key))


def pending_of_action(action: Action) -> PendingReview | None:
    """The line of an action that waits to run, or whose result waits; None where neither does."""
    before = bool(action.review) and action.state is State.PREPARED
    if not before and not action.under_review:
        return None
    execution, at_node = node(action)
    return PendingReview(
        key=action.id,
        execution=execution,
        node=at_node,
        phase=Phase.BEFORE if before else Phase.AFTER,
        version=version_before(action) if before else version_after(action),
        revision=action.revision,
        session=action.session,
        requester=action.requester,
        tool=action.name,
        title=action.preview.summary[:200],
        private=action.private,
    )


def _pending_of_task(task: Task) -> PendingReview | None:
    step = step_under_review(task)
    if step is None:
        return None
    return PendingReview(
        key=task.id,
        execution=task.id,
        node=step.id,
        phase=Phase.AFTER,
        version=task.pauses,
        revision=task.revision,
        session=task.session,
        requester=task.requester,
        tool=step.name,
        title=plans.step_sentence(step),
        private=not is_shown_in_thread(step),
    )


async def detail(world: World, team: str, user: str, execution: str) -> tuple[PendingReview, Json] | None:
    """What waits in this execution, and its full inputs or outputs; None where nothing does, or it is not theirs to
    see. From SQL. Raises Unavailable."""
    task = await world.ledger.task(execution)
    reviewed = step_under_review(task)
    if task is not None and reviewed is not None:
        waiting, data = _pending_of_task(task), reviewed.result
    else:
        action = await _reviewed(world, task) if task else await world.ledger.action(execution)
        waiting = pending_of_action(action) if action else None
        data = (step_result(action) if action.under_review else stored_args(action.args)) if action else None
    if waiting is None or waiting.session.team != team or (waiting.private and waiting.requester != user):
        return None
    return waiting, data


async def paused_at(world: World, task: Task) -> PendingReview | None:
    """What a task waits to have reviewed: what `detail` finds under its id. Raises Unavailable."""
    if task.is_finished or step_under_review(task) is not None:
        return _pending_of_task(task)
    action = await _reviewed(world, task)
    return pending_of_action(action) if action else None


async def _reviewed(world: World, task: Task) -> Action | None:
    """The first action of its steps that waits for a review."""
    for step in task.plan.begun if task.plan else ():
        action = await world.ledger.action(step.action)
        if action is not None and pending_of_action(action) is not None:
            return action
    return None


async def history(
    world: World, team: str, execution: str, after: int = 0, limit: int = 50
) -> tuple[ReviewRecord, ...]:
    """The first reviews of an execution, the oldest first, from SQL; `after`: the id of the last one of the page
    before. Raises Unavailable."""
    return await world.ledger.reviews.of(team, execution, limit, after)


async def history_of(world: World, team: str, user: str, before: int = 0) -> tuple[ReviewRecord, ...]:
    """The latest reviews by this person, newest first; `before`: the id of the last one of the page before."""
    return await world.ledger.reviews.by(team, user, before=before)
