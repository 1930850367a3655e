"""Tasks as programs see them."""

from __future__ import annotations

from collections.abc import Sequence

from gate import withheld
from gate.access import Kind, Token
from gate.action import Action
from gate.audit import Line
from gate.task import Plan, Step, Task, Why
from gate.task_states import TaskState
from handlers.api import shapes
from handlers.api import task_models as models
from handlers.api.problems import unmarked

WAITING = "waiting_approval"
REVIEW = "PAUSED_FOR_REVIEW"


def task(token: Token, found: Task, waiting: Sequence[Action]) -> models.Task:
    """A task as this token is shown it, with the actions of it that wait for a person."""
    one = withheld.told_task(found) if token.kind is Kind.AGENT else found
    return models.Task(
        id=one.id,
        revision=one.revision,
        state=one.state.value,
        status=status(one, waiting),
        text=one.text,
        requester=one.requester,
        session_id=one.session.key,
        created_at=one.created_at,
        asks=_asks(one),
        questions=[
            models.Question(id=q.id, text=q.text, options=list(q.options), assumption=q.assumption)
            for q in one.questions
        ],
        requirements=list(one.requirements),
        plan=_plan(found, one.plan) if one.plan else None,
        waiting=[action.id for action in waiting],
        instructions=[
            models.Instruction(user=said.user, text=said.text, at=said.at, used=said.used)
            for said in one.instructions
        ],
        reason=unmarked(one.reason),
        result=unmarked(one.result),
        ended_by=one.ended_by or None,
    )


def status(one: Task, waiting: Sequence[Action]) -> str:
    """The words of the specs where they have one, else the state."""
    before = not one.over and any(action.review for action in waiting)
    if before or (one.state is TaskState.PAUSED and one.why is Why.REVIEW):
        return REVIEW
    return WAITING if waiting and not one.over else one.state.value


def _asks(one: Task) -> models.Asks | None:
    state, plan = one.state, one.plan
    if state is TaskState.CLARIFYING and one.questions:
        return models.Asks(kind="question", number=one.asked, text=one.questions[0].text)
    if state is TaskState.TALKING and one.requirements:
        return models.Asks(kind="requirements", number=one.attempts, text="\n".join(one.requirements))
    if state is TaskState.PLAN_REVIEW and plan is not None:
        return models.Asks(kind="plan", number=plan.version, text=unmarked(one.reason))
    if state is TaskState.PAUSED:
        return models.Asks(kind="pause", number=one.pauses, text=unmarked(one.reason))
    if state is TaskState.SATISFACTION:
        return models.Asks(kind="satisfaction", number=one.ends, text=unmarked(one.result))
    return None


def _plan(found: Task, plan: Plan) -> models.Plan:
    return models.Plan(
        version=plan.version,
        seal=plan.seal,
        note=plan.note,
        approved_by=plan.approved_by or None,
        steps=[_step(step, found) for step in plan.steps],
    )


def _step(step: Step, found: Task) -> models.Step:
    review = withheld.standing(found, step)
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
        problem=unmarked(step.problem),
        result=unmarked(step.text),
        confidence=step.confidence.score if step.confidence else None,
        confidence_text=unmarked(step.confidence.text) if step.confidence else "",
        result_review=review.value if review else None,
        result_reviewed_by=withheld.decided_by(step) or None,
        preview=shapes.preview(step.preview) if step.preview else None,
    )


def line(token: Token, one: Line) -> models.Line:
    """An entry of the audit log, without what was passed to the tool and what came back; for an agent without the
    words of who let a result out, which are for people."""
    entry = one.entry
    private = token.kind is Kind.AGENT and entry.event == "result_released"
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
        outcome=unmarked(entry.outcome),
        user_confirmed=entry.user_confirmed,
        execution_ms=entry.execution_ms,
        reason="" if private else unmarked(entry.reason),
        token_id=entry.token or None,
    )
