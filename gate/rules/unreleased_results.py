"""What an agent may know of what a step gave: nothing before it has been let out, as of a call outside of plans."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum

from gate.rules.access import Parties
from gate.rules.action import Action, Preview, ResultDecision, ResultReview
from gate.rules.action_states import State
from gate.rules.plans import place, step_of
from gate.rules.previews import HELD_NOTES
from gate.rules.steps import HIDDEN, PRIVATE, PRIVATE_REASON, is_shown_in_thread, public_step
from gate.rules.task import NOBODY, PauseReason, Step, StepState, Task
from gate.rules.task_states import TaskState

UNDER_REVIEW = "Step {place} is done. What it gave is not here yet: it waits for {user} to review it."
NEVER = "Step {place} ran. Nobody has released what it gave, so nothing of it is told here."
REASON_KEPT = "Why is not told here: it may quote what a step gave, and nobody has let that out as it is."
KEPT = "The rest is not told here: it may quote what the call gave, and nobody has let that out as it is."
ABOUT_RESULTS = (
    PauseReason.REVIEW,
    PauseReason.SUMMARY,
    PauseReason.DOUBT,
)  # pauses whose reason quotes what a step gave


# Where the reason is words of its requester's, our own, or what became of a call that gave no result.
QUOTING_NONE = (
    TaskState.CLARIFYING,
    TaskState.TALKING,
    TaskState.PLANNING,
    TaskState.PLAN_REVIEW,
    TaskState.PAUSED,
)


class ReleaseState(StrEnum):
    """How the look at what a step gave stands."""

    WAITING = "waiting"
    RELEASED = "released"
    EDITED = "edited"
    REJECTED = "rejected"
    DROPPED = "dropped"  # it was never released, and never will be: not trusted, or its task ended before


RELEASED_STATES = (
    None,
    ReleaseState.RELEASED,
)  # nobody has to look at it, or somebody has let it out as it is


def release_state(task: Task, step: Step) -> ReleaseState | None:
    """How it stands; None where nobody has to look at what the step gave, or it has given nothing."""
    if step.rejected_by:
        return ReleaseState.REJECTED
    if not step.ran:
        return None
    if step.state is not StepState.DONE:
        return ReleaseState.DROPPED
    if not step.shown:
        return None
    if not step.passed:
        waits = task.state is TaskState.PAUSED and step.shown == task.pauses
        return ReleaseState.WAITING if waits else ReleaseState.DROPPED
    return ReleaseState.EDITED if step.edited else ReleaseState.RELEASED


def decided_by(step: Step) -> str:
    """Who let out what it gave, changed or rejected it; "" where nobody has."""
    by = step.rejected_by or step.passed
    return "" if by == NOBODY else by


def redacted_task(task: Task) -> Task:
    """The task as an agent may know it: without what has not been let out or is private to a person, and with what was
    changed as changed."""
    if task.plan is None:
        return task
    steps = tuple(public_step(redacted_step(task, step)) for step in task.plan.steps)
    return replace(task, plan=replace(task.plan, steps=steps), reason=_reason(task))


def redacted_step(task: Task, step: Step) -> Step:
    """The same of one step; a planner, too, knows no more of it."""
    now = release_state(task, step)
    if now in RELEASED_STATES:
        return step
    # The words of a score may quote the true result, also of what was changed or rejected since.
    score = step.confidence and replace(step.confidence, reasons=(), judged="")
    step = replace(step, output=replace(step.output, confidence=score))
    if now in (ReleaseState.REJECTED, ReleaseState.EDITED):  # of its true result nothing is left
        return step
    return replace(step, output=replace(step.output, text="", result=None))


def _reason(task: Task) -> str:
    """Why it is paused, how it ended, or how far *Undo all* came: what a person sees there quotes results. So where one
    was not let out as it was, only the reasons are told that quote none."""
    if task.plan is None or not task.reason:
        return task.reason
    step = _about(task)
    if task.why in ABOUT_RESULTS and step is not None and not step.rejected_by:
        waits = release_state(task, step) is ReleaseState.WAITING
        return (UNDER_REVIEW if waits else NEVER).format(place=place(task.plan, step), user=task.requester)
    return task.reason if task.state in QUOTING_NONE or all_released(task) else REASON_KEPT


def all_released(task: Task) -> bool:
    """Whether all that its steps gave was let out as it was."""
    return all(
        release_state(task, step) in RELEASED_STATES for step in (task.plan.steps if task.plan else ())
    )


def may_quote(task: Task, action: Action) -> bool:
    """Whether what is told of the task may quote what a tool answered when one of its actions was taken back: that may
    quote what its steps gave."""
    return not action.private and all_released(task) and _is_let_out(redacted_action(task, action))


def _about(task: Task) -> Step | None:
    """The step that a pause is about."""
    if task.plan is None or task.why is PauseReason.DOUBT:
        return task.plan.current if task.plan else None
    return next((step for step in task.plan.steps if step.shown and step.shown == task.pauses), None)


def redacted_action(task: Task | None, action: Action) -> Action:
    """The action as an agent may know it: without what has not been let out, and of a private call of a task, or that
    somebody has edited, only its tool and how it stands, since its person may have typed the rest."""
    return without_typed(_as_far_as_released(task, action))


def without_typed(action: Action) -> Action:
    """The action as an agent may know it that asked for it: without what it was given, would change and gave, where
    that is private and a person may have typed it."""
    return _without_words(action) if _is_told_alone(action) else action


def _is_told_alone(action: Action) -> bool:
    return action.private and bool(action.task or action.edited_by)


def public_nodes(of: Task | Action | Parties) -> frozenset[str]:
    """The nodes of an execution, as reviews name them, of which an agent may know more than how they stand. A step that
    is no longer in the plan is none of them: nobody knows any more whether it was private."""
    if isinstance(of, Task):
        steps = of.plan.steps if of.plan else ()
        return frozenset(step.id for step in steps if is_shown_in_thread(step))
    return frozenset({of.id}) if isinstance(of, Action) and not _is_told_alone(of) else frozenset()


def _without_words(action: Action) -> Action:
    """The action without what it was given, would change, gave, what people said of it, and the rule that makes it
    ask, whose name may say what it is about."""
    seen, judged = action.preview, action.judged
    preview = Preview(action.name, seen.verb, (), undo=seen.undo, notes=(HIDDEN,))
    outcome = action.outcome and replace(action.outcome, text=PRIVATE, structured=None)
    review = replace(action.result_review, judged=judged and replace(judged, revised=None, comment=""))
    decision = replace(action.proposal.decision, reason=PRIVATE_REASON, rule="")
    return replace(
        action,
        proposal=replace(action.proposal, args=b"{}", preview=preview, decision=decision),
        resolution=replace(action.resolution, reason=""),
        execution=replace(action.execution, outcome=outcome),
        result_review=review,
    )


def _as_far_as_released(task: Task | None, action: Action) -> Action:
    """The action in the fields of a call outside of plans: `held` while somebody has to look at its result, `judged`
    once they have. Until its step is written down, it counts as running."""
    if not action.step or action.outcome is None or action.outcome.kind != "success":
        return action
    if action.under_review or action.judged:  # its own review says what may be known
        return action
    step = step_of(task.plan, action.step) if task else None
    if task is None or step is None or step.action != action.id:  # the step has become another action since
        return _dropped(action)
    if not step.ran:
        running = replace(action.execution, outcome=None)
        return (
            _dropped(action)
            if task.is_finished
            else replace(action, state=State.EXECUTING, execution=running)
        )
    now = release_state(task, step)
    if now is None:
        return action
    if now is ReleaseState.WAITING:
        return replace(action, result_review=ResultReview(awaits="review"))
    if now is ReleaseState.DROPPED:
        return _dropped(action)
    kept = now is not ReleaseState.REJECTED
    return _judged(action, ResultDecision(decided_by(step), kept, step.result if step.edited else None))


def redacted_undo(original: Action, undo: Action) -> Action:
    """An undo as an agent may know it. `original`: what it takes back, as the agent may know that. Its arguments, its
    preview and its answer may quote what the original gave, or what was read for it: so they are told only where that
    has been let out."""
    if undo.private or _is_told_alone(original):
        return _without_words(undo)
    if _is_let_out(original) and HELD_NOTES.isdisjoint(original.preview.notes):
        return undo
    seen = undo.preview
    preview = Preview(
        seen.summary, seen.verb, (), undo=seen.undo, problem=seen.problem and KEPT, notes=(KEPT,)
    )
    outcome = undo.outcome and replace(undo.outcome, text="", structured=None)
    return replace(
        undo,
        proposal=replace(undo.proposal, args=b"{}", preview=preview),
        resolution=replace(undo.resolution, reason=""),
        execution=replace(undo.execution, outcome=outcome),
    )


def _is_let_out(action: Action) -> bool:
    """Whether its result was let out as it was, of an action as an agent may know it."""
    judged = action.judged
    return not action.under_review if judged is None else judged.kept and judged.revised is None


def _dropped(action: Action) -> Action:
    return _judged(action, ResultDecision("", False))


def _judged(action: Action, judged: ResultDecision) -> Action:
    return replace(action, result_review=ResultReview(judged=judged))
