"""Make a version: its proposal, how it is confirmed, its phrase, its receipt, its lease, its record."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

from gate.actions.preview import PreviewResult
from gate.rules.action import OWN_CARD, Action, Decision, Proposal, Resolution, Source, Verdict
from gate.rules.action_states import Event, State
from gate.rules.audit import Entry
from gate.rules.canonical_json import canonical, stored_args
from gate.rules.messages import PROGRESS_DELAY, cards_of
from gate.rules.policy import is_only_claimed, without_claim_offer
from gate.rules.ports import Lease, Tx, World
from gate.rules.previews import HELD_NOTES, has_deceptive_text, measured, quotes_reads
from gate.rules.receipt import receipt
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import ToolSpec
from gate.rules.typed_phrase import phrase_for
from gate.rules.undo_privacy import HELD, is_confidential, keeps_values, told_args

# Seconds in which a simple request that ends with this change asks whether it was right on the same card, so that both
# are drawn in one update.
CARD_DELAY = 0.2
TOO_LONG = "This is too long to be shown whole, so it cannot be confirmed. Please split it up."


def make_proposal(
    world: World, spec: ToolSpec, seen: PreviewResult, decision: Decision, source: Source
) -> Proposal:
    """What is to be shown of a call, once it was looked at; its phrase is made by `with_receipt`.

    Raises BadArguments."""
    return Proposal(
        server=spec.server,
        tool=spec.name,
        definition=spec.definition,
        args=canonical(seen.args),
        capture=seen.capture,
        preview=seen.preview,
        decision=decision,
        policy=world.policy.version,
        source=source,
        expires_at=source.at + timedelta(seconds=decision.ttl or world.limits.ttl),
    )


def with_receipt(world: World, spec: ToolSpec, action: Action) -> Action:
    """The action with the way in which its proposal has to be confirmed, and with phrase and receipt for exactly this
    version, which nobody has answered."""
    made = action.proposal
    if made.preview.is_complete and not world.reviewable(action):
        made = replace(made, preview=replace(made.preview, problem=TOO_LONG))
    hidden = not world.fits(action) or has_deceptive_text(made.preview)
    verdict = _pending_verdict(made.decision.verdict, hidden)
    made = replace(made, decision=replace(made.decision, verdict=verdict), phrase="")
    if verdict is Verdict.TYPED:
        made = replace(made, phrase=_phrase(spec, replace(action, proposal=made)))
    return _with_receipt(replace(action, proposal=made, resolution=Resolution()))


def next_version(world: World, spec: ToolSpec, action: Action, proposed: Proposal) -> Action:
    """The version that shows this instead; of its tool nothing may be said that could not be said before."""
    if not is_only_claimed(action.proposal.decision):
        proposed = replace(proposed, decision=without_claim_offer(proposed.decision))
    return with_receipt(world, spec, replace(action, version=action.version + 1, proposal=proposed))


def with_blocked_preview(action: Action, problem: str) -> Action:
    """The action with a card that says why nobody can confirm it."""
    preview = replace(action.preview, problem=problem)
    return _with_receipt(replace(action, proposal=replace(action.proposal, preview=preview)))


async def store_version(tx: Tx, action: Action, version: Action) -> Action:
    """Put this version in the place of the one before, whose votes are void. One that has become private, or is
    reviewed since, leaves the card that it shares. Raises Stale or NoSuchArrow."""
    leaves = (version.private or version.review) and action.shares
    return await tx.move(
        action,
        Event.EDIT,
        origin=replace(action.origin, group=action.group + OWN_CARD) if leaves else action.origin,
        proposal=version.proposal,
        receipt=version.receipt,
        resolution=version.resolution,
    )


def _pending_verdict(verdict: Verdict, hidden: bool) -> Verdict:
    """How a person is asked; also what would run at once, since it waits already."""
    if verdict is Verdict.DENY:
        return verdict
    return Verdict.TYPED if hidden or verdict is Verdict.TYPED else Verdict.CONFIRM


def _with_receipt(action: Action) -> Action:
    return replace(action, receipt=receipt(action))


def _phrase(spec: ToolSpec, action: Action) -> str:
    """Its code is made of a hash over all but the phrase, which the receipt covers, too."""
    targets = max(1, len(action.preview.affected))
    return phrase_for(receipt(action), action.preview.verb, confirm_noun(spec, action), targets)


def lease_record(action: Action) -> Lease:
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


def confirm_noun(spec: ToolSpec, action: Action) -> str:
    """The word to type, from the recipe, or the first short argument; none that was read where a rule or a review
    keeps that, or that an undo keeps."""
    notes = action.preview.notes
    if HELD in notes or (not HELD_NOTES.isdisjoint(notes) and quotes_reads(spec.recipe.noun)):
        return ""
    try:
        return str(expand(spec.recipe.noun, {"args": stored_args(action.args), "capture": action.capture}))
    except TemplateError:
        return ""


def audit_entry(
    event: str, action: Action, actor: str, *, reason: str = "", note: str = "", **more: Any
) -> Entry:
    """An audit entry about an action as it stands. Its reason: `note`, in words of ours that quote nothing, or
    `reason`, which may quote what somebody typed or a tool said: of what is confidential only its length and hash."""
    quoted = measured(reason) if reason and is_confidential(action) else reason
    return Entry(
        event=event,
        session=action.session.key,
        actor=actor,
        action=action.id,
        tool=action.name,
        arguments=_logged_args(action),
        version=action.version,
        receipt=action.receipt,
        requester=action.requester,
        reason=note or quoted,
        **more,
    )


def _logged_args(action: Action) -> str:
    if keeps_values(action):
        return json.dumps(told_args(action), sort_keys=True)
    return action.args.decode("ascii", "backslashreplace")


def logged_result(text: str, confidential: bool) -> str:
    """What the log, which many may read, keeps of a result: of what is confidential only how long it is and its
    hash."""
    return measured(text) if text and confidential else text[:1000]


def logged_reason(action: Action) -> str:
    """What the log keeps of why it asks: the name of a rule may say what a private call is about."""
    return logged_result(action.reason, action.private)


async def token_behind(tx: Tx, task: str, turn: str, renews: str) -> str:
    """The id of the API token that opened its task or its turn, or that made the action which it renews; "" where none
    did."""
    return await tx.token_of(task or ("" if turn else renews), turn)


async def record_maker(tx: Tx, action: Action) -> None:
    """Put down the API token that proposes it, if one does: what is written in the same transaction is told to it."""
    follows = action.task or action.turn or action.renews or action.undoes
    if tx.token and not follows:
        await tx.record_token(tx.token, action.id)


async def record_proposed(tx: Tx, action: Action) -> None:
    """Put on the record that it is proposed: for its requester, by the API token that is behind it, if any. That token
    learns of a step by its task, which may withhold what it gave; of what is asked again once that is over, nothing."""
    after_task = action.renews and action.turn and not action.task
    token = "" if after_task else await token_behind(tx, action.task, action.turn, action.renews)
    if token and not (action.task or action.turn):
        await tx.record_token(token, action.id)
    await record_maker(tx, action)
    tx.audit(audit_entry("proposed", action, action.requester, note=logged_reason(action), token=token))


def update_cards(tx: Tx, action: Action) -> None:
    """Have the cards brought up to date that an action is on. That it runs is shown only where that takes long; an
    undo that goes through needs no card of its own."""
    quiet = action.undoes and action.version == 1 and not action.review
    if quiet and action.state in (State.PREPARED, State.APPROVED, State.EXECUTING):
        return
    runs = action.state in (State.APPROVED, State.EXECUTING, State.UNDOING)
    ended = action.state is State.SUCCEEDED and bool(action.turn)
    for card in cards_of(action):
        tx.request_card(card, PROGRESS_DELAY if runs else CARD_DELAY if ended else 0.0)


def request_card(tx: Tx, action: Action) -> None:
    """Ask for the card. A card of several is asked for once all of them are there."""
    if not action.shares or action.version > 1:
        update_cards(tx, action)
