"""Undo: a new action that takes one back. The click is its approval, unless the target changed since."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import count

from gate.actions.action_versions import (
    audit_entry,
    lease_record,
    make_proposal,
    next_version,
    request_card,
    store_version,
    with_receipt,
)
from gate.actions.button_press import TAMPERED, Press, PressResult, already_decided, load_action
from gate.actions.claim_click import approve, decision_for, decision_now, notify_ended
from gate.actions.edit import without_bound_args
from gate.actions.prepare import as_sentence
from gate.actions.preview import (
    PreviewReadFailed,
    PreviewResult,
    make_preview,
    policy_decision,
    reads_in_private,
    run_capture,
)
from gate.actions.undo_drift import Drift, look_for_drift, shown_with_drift
from gate.rules import jobs
from gate.rules.action import (
    Action,
    Decision,
    Inverse,
    Origin,
    Outcome,
    Proposal,
    Resolution,
    Source,
    Verdict,
    Vote,
)
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.canonical_json import BadArguments, canonical, stored_args
from gate.rules.ids import derive_id
from gate.rules.permissions import Verb
from gate.rules.policy import made_private
from gate.rules.ports import Stale, Tx, World
from gate.rules.previews import failed_preview, way_back
from gate.rules.receipt import intact
from gate.rules.resolved_recipes import is_told
from gate.rules.templates import TemplateError, expand
from gate.rules.tool import ToolSpec
from gate.rules.undo_privacy import decision_on_undo, is_confidential, preview_of_undo

KEEP_DAYS = 30
CHECKING_TARGET = "I am looking whether the target is still as it was left…"
NO_LONGER_FITS = "The call that was kept to take it back does not fit its tool: {problem}"
NOT_TOLD = (
    "I could not look what this undo would touch, and a rule does not allow that everywhere. Nothing changed: press "
    "Undo again in a moment, or ask your administrator"
)
NOT_UNDOABLE = "This cannot be undone: I know no way back, or its time is over. Nothing changed."


def inverse_of(spec: ToolSpec, action: Action, outcome: Outcome, now: datetime) -> Inverse | None:
    """The call that takes a successful action back, made from its arguments, capture and result."""
    structured = outcome.structured if isinstance(outcome.structured, dict) else {}
    scope = {
        "args": stored_args(action.args),
        "capture": action.capture,
        "result": {"text": outcome.text, **structured},
    }
    way = way_back(spec, scope)
    if way is None or action.undoes:
        return None
    try:
        args = canonical(expand(way.args, scope))
        drift = spec.recipe.drift
        same = {key: expand(template, scope) for key, template in drift.same.items()} if drift else {}
        drift_args = canonical(expand(drift.read.args, scope)) if drift else b"{}"
    except (TemplateError, BadArguments):
        return None
    return Inverse(
        server=action.server,
        tool=way.tool,
        args=args,
        drift_tool=drift.read.tool if drift else "",
        drift_args=drift_args,
        drift_same=same,
        until=now + timedelta(days=spec.recipe.keeps_days or KEEP_DAYS),
    )


async def request_undo(world: World, press: Press, expired: Action | None = None) -> PressResult:
    """Somebody pressed Undo. Writes the undo down with its approval; a run looks and goes on. `expired`: the undo that
    is asked again instead, which is no approval.

    Raises Unavailable: then nothing changed.
    """
    action = await load_action(world, press, Verb.UNDO)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.SUCCEEDED:
        return already_decided(action)
    if action.flaw:
        return PressResult(False, "altered", TAMPERED, action)
    now = await world.ledger.now()
    if action.inverse is None or (action.inverse.until and action.inverse.until <= now):
        return PressResult(False, "no_undo", NOT_UNDOABLE, action)
    spec = world.tools.find(action.inverse.server, action.inverse.tool)
    if spec is None:
        return PressResult(
            False, "no_tool", f"{action.server} is not connected at the moment. Try again soon.", action
        )
    own = _decision_on_way_back(world, spec, action, action.inverse)
    if own.verdict is Verdict.DENY:
        return PressResult(False, "denied", as_sentence(own.reason), action)
    undo_id, there = await undo_slot(world, action)
    if there is not None and there.version > 1:
        return PressResult(
            False, "asked", f"<@{there.requester}> is asked about it already, on a card.", there
        )
    made = _first_proposal(world, spec, action, own, now)
    first = _first_version(action, undo_id, press.user, made, expired.id if expired else "")
    undo = with_receipt(world, spec, first)
    async with world.ledger.begin(world.limits.decision) as tx:
        stored = await tx.insert(undo)
        if stored.receipt == undo.receipt:
            await _record_asked(tx, undo, expired or action)
    return PressResult(True, "renewing" if expired else "undoing", action=action)


async def _record_asked(tx: Tx, undo: Action, about: Action) -> None:
    """Put on the record that an undo is asked for, with the yes that this is. `about`: what it takes back, or the undo
    that it asks again, which is no yes."""
    if undo.renews:
        tx.audit(audit_entry("asked_again", about, undo.requester))
    else:
        await tx.vote(Vote(undo.id, undo.version, undo.requester, True, undo.created_at))
        tx.audit(audit_entry("undo_asked", about, undo.requester, user_confirmed=True))
    tx.enqueue(jobs.undo(undo.id))


def _decision_on_way_back(world: World, spec: ToolSpec, action: Action, back: Inverse) -> Decision:
    """The decision on the undo of an action, before anything is looked at for it."""
    args, channel = stored_args(back.args), action.session.channel
    found = policy_decision(world, spec, args, channel, {})
    own = decision_on_undo(found, action.proposal.decision, decision_now(world, action))
    return made_private(own, reads_in_private(world, spec, args, channel))


def is_refused_in_private(world: World, action: Action) -> bool:
    """Whether why the policy does not allow the undo of an action is told to whoever asked for that alone."""
    back = action.inverse
    spec = world.tools.find(back.server, back.tool) if back else None
    if back is None or spec is None:
        return is_confidential(action)
    own = _decision_on_way_back(world, spec, action, back)
    return own.private or own.secret


def _first_proposal(world: World, spec: ToolSpec, action: Action, own: Decision, now: datetime) -> Proposal:
    """The undo of an action before anybody has looked at its target."""
    assert action.inverse is not None
    args = stored_args(action.inverse.args)
    shown = replace(failed_preview(spec, args, CHECKING_TARGET), summary=action.preview.summary, verb="Undo")
    preview = replace(preview_of_undo(shown, own, args, action), problem=CHECKING_TARGET)
    return make_proposal(world, spec, PreviewResult(args, {}, preview), own, Source(at=now))


def _first_version(action: Action, undo_id: str, user: str, made: Proposal, renews: str) -> Action:
    return Action(
        id=undo_id,
        version=1,
        revision=1,
        state=State.PREPARED,
        session=action.session,
        requester=user,
        created_at=made.source.at,
        # The task may be taking back all of it.
        origin=Origin(task=action.task, undoes=action.id, renews=renews),
        proposal=made,
        receipt="",
    )


async def undo_slot(world: World, action: Action) -> tuple[str, Action | None]:
    """The id for an undo of this action, and the undo that waits under it. Those that came to nothing are over."""
    for number in count():
        undo_id = derive_id("undo", action.id, number)
        there = await world.ledger.action(undo_id)
        if there is None or there.state is State.PREPARED:
            return undo_id, there
    raise AssertionError("count() ends")


async def run_undo(world: World, undo_id: str) -> None:
    """Look at the target of an undo that was asked for: unchanged, it runs; changed, or asked again, it waits for a
    person first."""
    undo = await world.ledger.action(undo_id)
    original = await world.ledger.action(undo.undoes) if undo else None
    if undo is None or original is None or original.inverse is None or undo.state is not State.PREPARED:
        return
    if undo.version > 1 or not intact(undo) or original.flaw:
        return  # it waits for a person by now; or nothing shows that anybody has asked for this
    if refusal := _misfit(world, undo) or await undo_refusal(world, undo):
        return await _call_off(world, undo, refusal)
    drift = await look_for_drift(world, undo, original)
    if drift or undo.renews:
        return await _ask_first(world, undo, original, drift or Drift())
    try:
        async with world.ledger.begin() as tx:
            await approve(tx, undo, undo.requester)
    except (Stale, NoSuchArrow):
        return  # somebody else's undo was first: the original's card tells


async def undo_refusal(world: World, undo: Action) -> str:
    """Why the policy does not allow an undo that nobody is asked about, by what its reads say that it touches: its
    arguments may only name an id. "" where it does, and where no rule is about that: then nothing is read."""
    spec, channel = world.tools.find(undo.server, undo.tool), undo.session.channel
    if spec is None or not _may_be_denied_by_reads(world, spec, channel):
        return ""
    args = stored_args(undo.args)
    try:
        read = await run_capture(world, spec, without_bound_args(spec, args), channel)
    except (PreviewReadFailed, TemplateError):
        return NOT_TOLD
    if not is_told(spec.recipe, args, read.found):
        return NOT_TOLD
    decision = decision_for(world, spec, undo, args, read.found)
    return decision.reason if decision.verdict is Verdict.DENY else ""


def _may_be_denied_by_reads(world: World, spec: ToolSpec, channel: str) -> bool:
    """Whether a rule does not allow some calls of a tool because of what its reads tell."""
    targets = spec.recipe.targets
    if not (spec.recipe.reported_as or (targets and targets.reported)):
        return False
    return any(
        rule.names(spec.full_name)
        and (rule.texts or rule.schema is not None)
        and (rule.deny or (rule.channels and channel not in rule.channels))
        for rule in world.policy.rules
    )


async def _call_off(world: World, undo: Action, why: str) -> None:
    """End an undo before it begins; its card says why."""
    try:
        async with world.ledger.begin() as tx:
            moved = await tx.move(
                undo, Event.CANCEL, resolution=Resolution(reason=as_sentence(why), own=True)
            )
            tx.audit(
                audit_entry("cancelled", moved, "system", status="error", outcome="called_off", reason=why)
            )
            notify_ended(tx, moved)
    except (Stale, NoSuchArrow):
        return  # it was withdrawn, or is over


def _misfit(world: World, undo: Action) -> str:
    """Why the call that was kept for an undo does not fit its tool any more; "" where it does."""
    spec = world.tools.find(undo.server, undo.tool)
    problems = world.tools.problems(spec.schema, stored_args(undo.args)) if spec else ()
    certain = next((one.text for one in problems if not one.unsure), "")
    return NO_LONGER_FITS.format(problem=certain) if certain else ""


async def _ask_first(world: World, undo: Action, original: Action, drift: Drift) -> None:
    """Show what the undo would do now, and how its target changed, and wait for a person."""
    spec = world.tools.find(undo.server, undo.tool)
    if spec is None:
        return
    seen = await make_preview(
        world, spec, without_bound_args(spec, stored_args(undo.args)), undo.session.channel
    )
    asked, now = decision_for(world, spec, undo, seen.args, seen.capture), decision_now(world, original)
    decision = made_private(decision_on_undo(asked, original.proposal.decision, now), seen.private)
    source = replace(undo.proposal.source, at=await world.ledger.now())
    seen = shown_with_drift(undo, original, seen, decision, drift)
    made = make_proposal(world, spec, seen, decision, source)
    shown = next_version(world, spec, undo, made)
    await world.leases.put(lease_record(shown), (shown.expires_at - source.at).total_seconds())
    try:
        async with world.ledger.begin() as tx:
            moved = await store_version(tx, undo, shown)
            event = "drifted" if drift.quietly else "proposed"
            tx.audit(audit_entry(event, moved, "system", note=" ".join(drift.quietly)[:1000]))
            request_card(tx, moved)
    except (Stale, NoSuchArrow):
        return


def undo_kind(action: Action) -> str:
    """The action type of the undo stack (docs/promises.md ACT-09): move, delete, write, …"""
    return action.preview.verb.lower()
