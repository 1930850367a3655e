"""Review: decide on a step before or after it has run, by the version that was seen."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gate.actions import claim_click, edit, result_review, undo
from gate.actions.button_press import NOT_FOUND, Press, PressResult, TaskPress
from gate.actions.review_log import REJECT, record_step_review, step_under_review
from gate.rules import plans
from gate.rules.action import Action, Json, Ref, ResultDecision
from gate.rules.permissions import TaskVerb
from gate.rules.plans import step_of
from gate.rules.ports import Tx, World
from gate.rules.reviews import (
    ReviewDecision,
    dropped,
    one_result,
    same,
    undoable,
    version_after,
    version_before,
)
from gate.rules.reviews import edited as edited_step
from gate.rules.task import PauseReason, Step, Task
from gate.rules.task_states import TaskEvent
from gate.rules.tool import InvalidAnswer, Problem
from gate.rules.undo_privacy import is_confidential
from gate.tasks import review_queue, step_check
from gate.tasks.task_transitions import (
    move_task,
    next_pause,
    press_task,
    update_task,
    with_step,
    without_pause,
)

ALREADY_DECIDED = (
    "Somebody has decided on this meanwhile, or it was changed. Please look at it as it stands now."
)
NOT_HERE = "That step does not wait for a review."
BOTH = "A rejection drops what the step gave, so there is nothing to change: send one or the other."
NOTHING_TO_UNDO = "No step with a rejected result is left here to be taken back."
ELSEWHERE = frozenset({"late", "stale", "already_voted"})  # codes of those who were not first
REJECTED = (
    "{label} ran, and its result was rejected{why}. What it gave is dropped: nothing can use it. "
    "The step counts as failed. {undo}"
)
UNDOABLE = "What it changed is still changed: “Undo this step” takes it back."
NO_UNDO = "There is nothing that could be taken back."


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """A decision on a review (docs/promises.md REVIEW-21), by whom. `edited`: inputs or outputs as the reviewer
    wants them."""

    execution: str  # the task; for a call outside of plans its action
    node: str  # the step; for a call outside of plans its action
    version: int  # gate.rules.reviews.Waiting.version, as it was seen
    decision: ReviewDecision
    team: str
    user: str
    edited: dict[str, Json] | None = None
    comment: str = ""
    phrase: str | None = None  # where what runs has to be typed for


@dataclass(frozen=True, slots=True)
class ReviewConflict:
    """Somebody else was first, or what was seen is no longer so (HTTP 409). Nothing changed."""

    text: str


async def decide_review(world: World, asked: ReviewRequest) -> PressResult | InvalidAnswer | ReviewConflict:
    """Decide on what is paused for review: exactly one who names the version that stands is heard.

    Before it runs, `edited` makes another version with a preview of its own, which has to be approved (code
    "edited"); after it has run, it is what later steps get, or outside of plans whoever asked for the call.
    Raises Unavailable: then nothing changed.
    """
    if asked.decision is REJECT and asked.edited is not None:
        return InvalidAnswer((Problem((), BOTH),))
    task = await world.ledger.task(asked.execution)
    step = step_of(task.plan, asked.node) if task else None
    if task is not None and step is not None and (step.shown or step.is_finished):
        said = await _after(world, task, asked)
    else:
        said = await _before(world, step.action if step else asked.node, asked)
    if isinstance(said, PressResult) and said.ok:
        await review_queue.remove_from_cache(world, asked.execution, step.action if step else "")
    if isinstance(said, PressResult) and not said.ok and said.code in ELSEWHERE:
        return ReviewConflict(said.text or ALREADY_DECIDED)
    return said


# Before


async def _before(world: World, action_id: str, asked: ReviewRequest) -> PressResult | InvalidAnswer:
    action = await world.ledger.action(action_id)
    if action is None or action.session.team != asked.team or asked.execution not in (action.task, action.id):
        return PressResult(False, "gone", NOT_FOUND)
    if action.under_review or action.judged:
        return await _reviewed_call(world, action, asked)
    if not action.review:
        return PressResult(False, "no_review", NOT_HERE, action)
    if asked.version != version_before(action):  # a rejection, too, is about what was seen
        return PressResult(False, "stale", ALREADY_DECIDED, action)
    ref = Ref(action.id, action.version, action.receipt[:16])
    press = Press(ref, asked.team, asked.user, typed=asked.phrase, reason=asked.comment)
    if asked.decision is REJECT:
        return await claim_click.reject(world, press)
    if asked.edited is not None:
        return await _edited(world, action, press, asked.edited)
    return await claim_click.confirm(world, press)


async def _edited(
    world: World, action: Action, press: Press, args: dict[str, Json]
) -> PressResult | InvalidAnswer:
    spec = world.tools.find(action.server, action.tool)
    return await edit.submit(world, press, edit.without_bound_args(spec, args) if spec else args)


# After


async def _reviewed_call(world: World, action: Action, asked: ReviewRequest) -> PressResult | InvalidAnswer:
    """A call outside of plans, whose result waits or has waited."""
    if asked.version != version_after(action):
        return PressResult(False, "stale", ALREADY_DECIDED, action)
    ref = Ref(action.id, action.version, action.receipt[:16])
    press = Press(ref, asked.team, asked.user, reason=asked.comment)
    if asked.decision is REJECT:
        return await result_review.reject(world, press)
    return await result_review.approve(world, press, asked.edited)


async def _after(world: World, task: Task, asked: ReviewRequest) -> PressResult | InvalidAnswer:
    press = TaskPress(Ref(task.id, asked.version, "0"), asked.team, asked.user, text=asked.comment)
    if asked.decision is REJECT:
        return await reject_output(world, press, asked.node)
    return await approve_output(world, press, asked.node, asked.edited)


async def approve_output(
    world: World, press: TaskPress, node: str = "", edited: dict[str, Json] | None = None
) -> PressResult | InvalidAnswer:
    """Let the task go on from the result that it waits at. `edited` is what later steps get in its place: it is kept
    beside the true result. `node`: the step that is meant; "" for whichever it is. Raises Unavailable."""
    unfit = await _result_problem(world, press, edited)
    if unfit is not None:
        return unfit

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        step = _is_asked_about(task, node)
        if step is None:
            return PressResult(False, "late", ALREADY_DECIDED, task=task)
        changed = None if edited is None or same(edited, step.result) else one_result(step.result, edited)
        private = step_check.as_ruled_now(world, task, step).is_private
        await record_step_review(tx, task, ResultDecision(press.user, True, changed, press.text, private))
        released = task if changed is None else with_step(task, edited_step(step, press.user, changed))
        plan = step_check.with_review_passed(world, released, press.user)
        return await move_task(tx, task, TaskEvent.CONTINUE, press.user, go=True, **without_pause(task, plan))

    verb = TaskVerb.CONTINUE if edited is None else TaskVerb.REVIEW
    return await press_task(world, press, verb, lambda task: task.pauses, do)


async def _result_problem(
    world: World, press: TaskPress, edited: dict[str, Json] | None
) -> InvalidAnswer | None:
    """Why what somebody wrote cannot be the result of the step; None where it can."""
    if edited is None:
        return None
    step = step_under_review(await world.ledger.task(press.ref.id))
    return result_review.result_problem(world, edited, step.server if step else "", step.tool if step else "")


def _is_asked_about(task: Task, node: str) -> Step | None:
    step = step_under_review(task)
    return step if step is not None and node in ("", step.id) else None


async def reject_output(world: World, press: TaskPress, node: str = "") -> PressResult:
    """What the step gave is dropped, the step counts as failed, and its undo is offered on a card of its own, beside
    *Retry*, *Skip* and *Abort*. Raises Unavailable: then nothing changed."""

    async def do(tx: Tx, task: Task) -> Task | PressResult:
        step = _is_asked_about(task, node)
        if step is None or task.plan is None:
            return PressResult(False, "late", ALREADY_DECIDED, task=task)
        await record_step_review(tx, task, ResultDecision(press.user, False, comment=press.text))
        action = await tx.action(step.action) if step.action else None
        # Everybody sees why a task is paused.
        confidential = step.is_private or (action is not None and is_confidential(action))
        told = "" if confidential else plans.clipped(press.text, 300)
        why = f": “{told}”" if told else ""
        undo_told = UNDOABLE if undoable(step) else NO_UNDO
        reason = REJECTED.format(label=plans.label(task.plan, step), why=why, undo=undo_told)
        failed = dropped(step, press.user, f"its result was rejected{why}")
        plan, pause = with_step(task, failed).plan, next_pause(task, PauseReason.DOUBT)
        return await update_task(
            tx, task, "review_rejected", press.user, plan=plan, pause=pause, reason=reason
        )

    return await press_task(world, press, TaskVerb.REVIEW, lambda task: task.pauses, do)


async def undo_rejected(world: World, press: TaskPress) -> PressResult:
    """*Undo this step*, after its result was rejected: as its own card's button does it. Raises Unavailable."""
    task = await world.ledger.task(press.ref.id)
    if task is None or task.session.team != press.team:
        return PressResult(False, "gone", NOT_FOUND)
    step = task.plan.current if task.plan else None
    if step is None or not step.rejected_by or not step.action or task.pauses != press.ref.version:
        return PressResult(False, "late", NOTHING_TO_UNDO, task=task)
    said = await undo.request_undo(world, Press(Ref(step.action, 0, ""), press.team, press.user))
    return replace(said, task=task)
