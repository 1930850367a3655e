"""Seal a version: how it is confirmed, its receipt, its phrase, its lease, its record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gate import runs
from gate.action import Action, Verdict
from gate.audit import Entry
from gate.canonical import parse
from gate.phrase import phrase_for
from gate.policy import Decision
from gate.previews import has_strange
from gate.receipt import receipt
from gate.template import TemplateError, expand
from gate.tool import ToolSpec
from gate.world import Lease, Tx, World

TOO_LONG = "This is too long to be shown whole, so it cannot be confirmed. Please split it up."


def ruled(world: World, decision: Decision) -> dict[str, Any]:
    """The fields of an action that the policy decides."""
    return {
        "cls": decision.cls,
        "risk": decision.risk,
        "verdict": decision.verdict,
        "reason": decision.reason,
        "rule": decision.rule,
        "policy": world.policy.version,
        "approvers": decision.approvers,
        "always_gated": decision.always_gated,
        "private": decision.private,
    }


def sealed(world: World, spec: ToolSpec, action: Action) -> Action:
    """Settle how it must be confirmed, then make receipt and phrase for exactly this version."""
    preview = action.preview
    if preview.whole and not world.reviewable(action):
        preview = replace(preview, problem=TOO_LONG)
    hidden = not world.fits(action) or has_strange(preview)
    verdict = action.verdict
    if (
        verdict is not Verdict.DENY
    ):  # what waits already asks a person, even where by now nobody would have to
        verdict = Verdict.TYPED if hidden or verdict is Verdict.TYPED else Verdict.CONFIRM
    action = replace(action, preview=preview, verdict=verdict, tries=0)
    made = receipt(action)
    targets = max(1, len(preview.affected))
    phrase = phrase_for(made, preview.verb, noun(spec, action), targets) if verdict is Verdict.TYPED else ""
    return replace(action, receipt=made, phrase=phrase)


def lease(action: Action) -> Lease:
    """The record for Redis: no arguments but the one-line preview."""
    return Lease(
        action=action.id,
        version=action.version,
        receipt=action.receipt,
        user=action.requester,
        session=action.session.key,
        tool=action.name,
        risk=action.risk,
        preview=action.preview.summary[:200],
        deadline=action.expires_at,
    )


def noun(spec: ToolSpec, action: Action) -> str:
    """The word to type, from the recipe, or the first short argument."""
    try:
        return str(expand(spec.recipe.noun, {"args": parse(action.args), "capture": action.capture}))
    except TemplateError:
        return ""


def entry(event: str, action: Action, actor: str, **more: Any) -> Entry:
    """An audit entry about an action as it stands."""
    return Entry(
        event=event,
        session=action.session.key,
        actor=actor,
        action=action.id,
        tool=action.name,
        arguments=action.args.decode("ascii", "backslashreplace"),
        version=action.version,
        receipt=action.receipt,
        **more,
    )


async def propose(tx: Tx, action: Action) -> None:
    """Put on the record that it is proposed: for its requester, by the API token that opened its task, if any. That
    token may know of it as it may of its task; of a step it learns by its task, which may withhold what it gave."""
    token = await tx.token_of(action.task, action.turn)
    if token and not action.task:
        await tx.made_by(token, action.id)
    tx.audit(entry("proposed", action, action.requester, reason=action.reason, token=token))


def announce(tx: Tx, action: Action) -> None:
    """Ask for the card and for the end of its time. A card of several is asked for once all of them are there."""
    if not action.shares or action.version > 1:
        tx.enqueue(runs.draw(action.id, action.revision))
    delay = (action.expires_at - action.created_at).total_seconds()
    tx.enqueue(runs.expire(action.id, action.version, delay))
