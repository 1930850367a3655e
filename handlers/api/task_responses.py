"""Converts tasks and audit entries to response models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict

from gate.rules import unreleased_results
from gate.rules.access import Token, TokenKind
from gate.rules.audit import Line
from gate.rules.events import APPROVALS, open_request
from gate.rules.previews import measured
from gate.rules.reviews import PendingReview
from gate.rules.task import PauseReason, Plan, Step, Task
from gate.rules.task_states import TaskState
from handlers.api import action_responses
from handlers.api import task_models as models
from handlers.api.action_responses import LISTED
from handlers.api.route import plain_text

WAITING = "waiting_approval"
REVIEW = "PAUSED_FOR_REVIEW"


def page(tasks: Sequence[Callable[..., models.Task]], after: str | None) -> models.TaskPage:
    """A page of tasks, with the beginning of the previews of their steps alone; `after`: where the next one begins."""
    return models.TaskPage(tasks=[make(most=LISTED) for make in tasks], next=after)


def audit(token: Token, lines: Sequence[Line]) -> models.Audit:
    """Entries of the audit log."""
    return models.Audit(lines=[line(token, one) for one in lines])


def task(
    token: Token, found: Task, waiting: Sequence[str], paused: PendingReview | None, most: int | None = None
) -> models.Task:
    """A task as this token is shown it, with the ids of its actions that wait for a person, and its review that waits.
    `most`: see `action_responses.preview`."""
    one = unreleased_results.redacted_task(found) if token.kind is TokenKind.AGENT else found
    return models.Task(
        id=one.id,
        revision=one.revision,
        state=one.state.value,
        status=status(one, waiting, paused),
        paused_node_id=paused.node if paused else None,
        paused_phase=paused.phase if paused else None,
        text=one.text,
        switches=asdict(one.switches),
        requester=one.requester,
        session_id=one.session.key,
        created_at=one.created_at,
        asks=_asks(one),
        questions=[
            models.Question(id=q.id, text=q.text, options=list(q.options), assumption=q.assumption)
            for q in one.questions
        ],
        requirements=list(one.requirements),
        plan=_plan(token, found, one.plan, most) if one.plan else None,
        waiting=list(waiting),
        instructions=[
            models.Instruction(
                user=said.user,
                text=measured(said.text) if said.alone else said.text,
                at=said.at,
                used=said.used,
            )
            for said in one.instructions
        ],
        reason=plain_text(one.reason),
        result=plain_text(one.result),
        ended_by=one.ended_by or None,
    )


def status(one: Task, waiting: Sequence[str], paused: PendingReview | None) -> str:
    """`PAUSED_FOR_REVIEW` (docs/promises.md REVIEW-01); `waiting_approval` (GATE-21) as long as something waits that
    `approval_requested` was sent for; else the state."""
    if paused:
        return REVIEW
    asked = open_request(one)
    approval = asked is not None and asked[0] in APPROVALS
    looked_at = one.state is TaskState.PAUSED and one.why in (PauseReason.SUMMARY, PauseReason.DOUBT)
    waits = approval or looked_at or (bool(waiting) and not one.is_finished)
    return WAITING if waits else one.state.value


def _asks(one: Task) -> models.Asks | None:
    found = open_request(one)
    if found is None:
        return None
    kind, number = found
    texts = {
        "question": one.questions[0].text if one.questions else "",
        "requirements": "\n".join(one.requirements),
        "satisfaction": plain_text(one.result),
    }
    return models.Asks(kind=kind, number=number, text=texts.get(kind, plain_text(one.reason)))


def _plan(token: Token, found: Task, plan: Plan, most: int | None) -> models.Plan:
    return models.Plan(
        version=plan.version,
        seal="" if token.kind is TokenKind.AGENT else plan.seal,
        note=plan.note,
        answer=plan.closing,
        approved_by=plan.approved_by or None,
        steps=[_step(step, found, most) for step in plan.steps],
    )


def _step(step: Step, found: Task, most: int | None) -> models.Step:
    review = unreleased_results.release_state(found, step)
    return models.Step(
        id=step.id,
        title=step.title,
        tool=step.name,
        arguments=dict(step.args),
        state=step.state.value,
        effect=step.cls.value,
        needs=step.verdict.value,
        approved=bool(step.consent),
        action_id=step.action or None,
        problem=plain_text(step.problem),
        result=plain_text(step.text),
        confidence=step.confidence.score if step.confidence else None,
        confidence_text=plain_text(step.confidence.text) if step.confidence else "",
        result_review=review.value if review else None,
        result_reviewed_by=unreleased_results.decided_by(step) or None,
        preview=action_responses.preview(step.preview, most=most) if step.preview else None,
    )


def line(token: Token, one: Line) -> models.Line:
    """An entry of the audit log, without what was passed to the tool and what came back; for an agent without the
    words of who let a result out, which are for people."""
    entry = one.entry
    private = token.kind is TokenKind.AGENT and entry.event == "result_released"
    return models.Line(
        seq=one.seq,
        at=one.at,
        event=entry.event,
        session_id=entry.session,
        actor=entry.actor,
        action_id=entry.action,
        tool=entry.tool,
        version=entry.version,
        status=entry.status,
        outcome=plain_text(entry.outcome),
        user_confirmed=entry.user_confirmed,
        execution_ms=entry.execution_ms,
        reason="" if private else plain_text(entry.reason),
        token_id=entry.token or None,
    )
