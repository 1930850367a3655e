"""Converts actions to response models and text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from gate.actions.prepare import Answered
from gate.rules import access
from gate.rules.access import Token
from gate.rules.action import Action, Outcome, Preview
from gate.rules.action_states import State
from gate.rules.permissions import deciders
from gate.rules.reviews import released
from gate.rules.spelled_out import visible
from gate.rules.undo_privacy import told_args
from gate.tasks.review_queue import pending_of_action
from handlers.api import models
from handlers.api.route import plain_text

LISTED = 100  # facts, and affected things, of an action in a list
LEFT_OUT = "{count:,} more are not told in a list: ask for this one alone."
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


def proposed(token: Token, found: Action) -> models.Proposed:
    """An action that was just proposed."""
    return models.Proposed(action=action(token, found))


def page(token: Token, found: Sequence[Action], after: str | None) -> models.Page:
    """A page of actions, with the beginning of their previews alone; `after`: where the next page begins."""
    return models.Page(actions=[action(token, one, LISTED) for one in found], next=after)


def action(token: Token, found: Action, most: int | None = None) -> models.Action:
    """An action as this token is shown it. `most`: see `preview`."""
    one, known, paused = access.visible_action(token, found), released(found), pending_of_action(found)
    return models.Action(
        id=one.id,
        version=one.version,
        receipt=one.receipt,
        state=one.state.value,
        status="PAUSED_FOR_REVIEW" if one.under_review else STATUS.get(one.state, "cancelled"),
        tool=one.name,
        arguments=told_args(one),
        risk_level=one.risk.value,
        effect=one.cls.value,
        reason=one.reason,
        needs_phrase=bool(found.phrase),
        phrase=one.phrase,
        deciders=plain_text(deciders(one)),
        preview=preview(one.preview, one.prose, most),
        requester=one.requester,
        session_id=one.session.key,
        task_id=one.task or None,
        step_id=one.step or None,
        created_at=one.created_at,
        expires_at=one.expires_at,
        decided_by=one.decided_by or None,
        decision=plain_text(one.decision),
        outcome=_outcome(known) if known else None,
        result_review=_reviewed(one),
        result_reviewed_by=(one.judged.by or None) if one.judged else None,
        paused_node_id=paused.node if paused else None,
        paused_phase=paused.phase if paused else None,
        can_undo=one.state is State.SUCCEEDED and one.inverse is not None,
    )


def _reviewed(one: Action) -> models.Review | None:
    """How the review of its result stands; None where there is none."""
    if one.judged is None:
        return "waiting" if one.under_review else None
    if not one.judged.kept:
        return "rejected" if one.judged.by else "dropped"
    return "released" if one.judged.revised is None else "edited"


def preview(seen: Preview, prose: str = "", most: int | None = None) -> models.Preview:
    """A preview, as values and as text. `prose`: the words of whoever proposed the call. `most`: facts, and affected
    things, that are told; all of them without it."""
    left_out = len(seen.facts[most:]) + len(seen.affected[most:]) if most is not None else 0
    seen = replace(seen, facts=seen.facts[:most], affected=seen.affected[:most])
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
        unchecked=prose,
        problem=seen.problem,
        text=preview_text(seen, left_out),
        left_out=left_out,
    )


def preview_text(seen: Preview, left_out: int = 0) -> str:
    """A preview as plain text: the same facts as on the card. `left_out`: of its facts and affected things. What is not
    what it looks like is spelled out, as on the card: a terminal would obey it."""
    return visible(_as_shown(seen, left_out))


def _as_shown(seen: Preview, left_out: int = 0) -> str:
    """No name of others begins a line, and of a longer text of theirs each line but the first is set in. A line ends at
    a newline alone: what else breaks one is spelled out."""
    facts = (f"{_on_one(fact.label)}: " + fact.value.replace("\n", "\n    ") for fact in seen.facts)
    lines = [_on_one(seen.summary), *facts]
    if seen.diff:
        lines += ["", *(f"    {line}" for line in seen.diff.removesuffix("\n").split("\n"))]
    lines += [
        f"- {_on_one(a.name)}" + (f" ({a.size} bytes)" if a.size is not None else "") for a in seen.affected
    ]
    if left_out:
        lines.append(LEFT_OUT.format(count=left_out))
    if seen.notifies:
        lines.append(f"Will also notify: {seen.notifies}")
    lines.append(f"Can be undone: {seen.undo}")
    return "\n".join([*lines, *seen.notes, *filter(None, [seen.problem])])


def _on_one(text: str) -> str:
    return " / ".join(text.split("\n"))


def _outcome(found: Outcome) -> models.Outcome:
    return models.Outcome(
        status=KINDS.get(found.kind, "error"),
        text=plain_text(found.text),
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
    lines = [
        f"{one.name} ({one.cls}, risk {one.risk}): {one.state}",
        one.reason,
        "",
        _as_shown(one.preview),
    ]
    if one.state is State.PREPARED:
        lines += ["", f"Waits for {plain_text(deciders(one))} until {one.expires_at:%Y-%m-%d %H:%M:%S} UTC."]
    known, review = released(one), _reviewed(one)
    if review:
        by = (one.judged.by and f" by {one.judged.by}") if one.judged else f" for {one.requester}"
        lines += ["", f"Review of its result: {review}{by}."]
    if known:
        lines += ["", plain_text(known.text)]
    return visible("\n".join(lines)) + "\n"
