"""Actions as programs see them."""

from __future__ import annotations

from typing import Any, Literal

from gate import access
from gate.access import Token
from gate.action import Action, Outcome, Preview
from gate.canonical import parse
from gate.flows import verbs
from gate.flows.prepare import Answered
from gate.people import deciders
from gate.reviews import released
from gate.states import State
from handlers.api import models
from handlers.api.problems import unmarked

Status = Literal["pending", "executing", "PAUSED_FOR_REVIEW", "success", "error", "unknown", "cancelled"]
STATUS: dict[State, Status] = {
    State.PREPARED: "pending",
    State.APPROVED: "executing",
    State.EXECUTING: "executing",
    State.SUCCEEDED: "success",
    State.UNDOING: "success",
    State.UNDONE: "success",
    State.FAILED: "error",
    State.UNKNOWN: "unknown",
}
KINDS: dict[str, Literal["success", "error", "unknown", "not_sent"]] = {
    "success": "success",
    "unknown": "unknown",
    "not_sent": "not_sent",
}


def action(token: Token, found: Action) -> models.Action:
    """An action as this token is shown it."""
    one, known = access.shown(token, found), released(found)
    return models.Action(
        id=one.id,
        version=one.version,
        receipt=one.receipt,
        state=one.state.value,
        status="PAUSED_FOR_REVIEW" if one.held else STATUS.get(one.state, "cancelled"),
        tool=one.name,
        arguments=parse(one.args),
        risk_level=one.risk.value,
        effect=one.cls.value,
        reason=one.reason,
        needs_phrase=bool(found.phrase),
        phrase=one.phrase,
        deciders=unmarked(deciders(one)),
        preview=preview(one.preview),
        requester=one.requester,
        session_id=one.session.key,
        task_id=one.task or None,
        step_id=one.step or None,
        created_at=one.created_at,
        expires_at=one.expires_at,
        decided_by=one.decided_by or None,
        decision=unmarked(one.decision),
        outcome=_outcome(known) if known else None,
        result_review=_reviewed(one),
        result_reviewed_by=(one.judged.by or None) if one.judged else None,
        can_undo=one.state is State.SUCCEEDED and one.inverse is not None,
    )


def _reviewed(one: Action) -> models.Review | None:
    """How the review of its result stands; None where there is none."""
    if one.judged is None:
        return "waiting" if one.held else None
    if not one.judged.kept:
        return "rejected" if one.judged.by else "dropped"
    return "released" if one.judged.revised is None else "edited"


def preview(seen: Preview) -> models.Preview:
    """A preview, as values and as text."""
    return models.Preview(
        summary=seen.summary,
        facts=[models.Fact(label=f.label, value=f.value, old=f.old) for f in seen.facts],
        diff=seen.diff,
        affected=[
            models.Affected(name=a.name, size=a.size, kind=a.kind, modified=a.modified) for a in seen.affected
        ],
        notifies=seen.notifies,
        undo=seen.undo,
        recoverable=seen.recoverable,
        notes=list(seen.notes),
        unchecked=seen.prose,
        problem=seen.problem,
        text=verbs.text_of(seen),
    )


def _outcome(found: Outcome) -> models.Outcome:
    return models.Outcome(
        status=KINDS.get(found.kind, "error"),
        text=unmarked(found.text),
        result=found.structured,
        execution_time=found.took_ms / 1000,
        at=found.at,
    )


def answered(found: Answered) -> models.Answered:
    """What a read said."""
    result: Any = found.answer.structured if found.answer.structured is not None else found.answer.text
    return models.Answered(
        status="error" if found.answer.is_error else "success", tool=found.spec.full_name, result=result
    )


def as_text(one: Action) -> str:
    """The whole of an action for a reader without Slack, in words."""
    lines = [f"{one.name} ({one.cls}, risk {one.risk}): {one.state}", one.reason, "", verbs.text(one)]
    if one.state is State.PREPARED:
        lines += ["", f"Waits for {unmarked(deciders(one))} until {one.expires_at:%Y-%m-%d %H:%M:%S} UTC."]
    known, review = released(one), _reviewed(one)
    if review:
        by = (one.judged.by and f" by {one.judged.by}") if one.judged else f" for {one.requester}"
        lines += ["", f"Review of its result: {review}{by}."]
    if known:
        lines += ["", unmarked(known.text)]
    return "\n".join(lines) + "\n"
