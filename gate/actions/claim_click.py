"""Claim a click: confirm, cancel and reject, each in one transaction that has one winner."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from gate.actions.action_versions import (
    audit_entry,
    lease_record,
    store_version,
    update_cards,
    with_blocked_preview,
)
from gate.actions.button_press import (
    OUTDATED,
    Press,
    PressResult,
    already_decided,
    is_genuine_modal,
    load_action,
    mark_message_handled,
)
from gate.actions.preview import policy_decision, reads_in_private
from gate.actions.review_log import APPROVE, REJECT, is_review_missing, record_action_review
from gate.actions.undone_action import move_original
from gate.actions.words_of_tokens import count_words_of_token
from gate.rules import jobs
from gate.rules.action import EARLIER, Action, Decision, Json, Resolution, Verdict, Vote
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.canonical_json import stored_args
from gate.rules.messages import PART
from gate.rules.permissions import Verb, has_enough_votes
from gate.rules.policy import made_private, with_risk
from gate.rules.ports import Stale, Tx, Unavailable, World
from gate.rules.receipt import intact
from gate.rules.rule_changes import needs_new_yes
from gate.rules.task import Task
from gate.rules.tool import ToolSpec
from gate.rules.typed_phrase import MAX_TRIES, phrase_matches
from gate.rules.undo_privacy import decision_on_undo

EXPIRED = "This expired before it was confirmed. Nothing ran; press *Ask again* for a fresh preview."
UPDATED = (
    "I was updated since this card was made, and need your yes to it once more. I am showing it to you anew."
)
CHANGED = (
    "Something about this tool or its rules changed since you saw the card. I am showing it to you anew."
)
MISTYPED = "The phrase was typed wrongly three times"
EARLIER_VERSION = "An earlier version of me prepared this."
CARD_NOT_POSTED = "This card is only just being posted. Nothing changed: please press again in a moment."
POSTED_CHECKS, POSTED_CHECK_SECONDS = 10, 0.05  # looks, and seconds between them
SHORTENED_CARD = "This card has no room for all of it. Press *Show on its own card*, and decide there."
NOT_OUR_CARD = "This button does not stand on a card of mine. Please use the card in the thread."


async def confirm(world: World, press: Press) -> PressResult:
    """One person's yes to exactly the version they saw. Raises Unavailable: then nothing changed."""
    action = await load_action(world, press, Verb.CONFIRM)
    if isinstance(action, PressResult):
        return action
    hindrance = await _refusal_reason(world, action, press)
    if hindrance:
        return hindrance
    if not rules_unchanged(world, action) or await is_review_missing(world, action):
        return await _supersede(world, action)
    if action.verdict is Verdict.TYPED and not phrase_matches(action, press.typed or ""):
        return await _count_wrong_phrase(world, action, press)
    try:
        said = await _record_vote(world, action, press)
    except (Stale, NoSuchArrow):
        return await _lost_race(world, action)
    if said.code == "confirmed":
        await drop_lease(world, action)
    return said


async def modal_refusal(world: World, action: Action, press: Press) -> PressResult | None:
    """Why the typed modal must not be opened on what this person pressed, or None."""
    if action.state is not State.PREPARED:
        return already_decided(action)
    if not press.ref.fits(action):
        return PressResult(False, "stale", OUTDATED, action)
    return await _lease_problem(world, action)


async def _refusal_reason(world: World, action: Action, press: Press) -> PressResult | None:
    """Why this press cannot be a yes to what was shown, or None."""
    if action.state is not State.PREPARED:
        return already_decided(action)
    if not press.ref.fits(action):
        return PressResult(False, "stale", OUTDATED, action)
    if not action.preview.is_complete:
        return PressResult(
            False, "no_preview", "There is no preview of this yet, so it cannot be confirmed.", action
        )
    if action.flaw == EARLIER:
        return await _reissue(world, action)
    if not intact(action):
        async with world.ledger.begin() as tx:
            tx.audit(audit_entry("tampered", action, "system", outcome="refused"))
        return PressResult(
            False, "stale", "The stored action is not the one that was shown. Nothing ran.", action
        )
    if press.message_ts and (elsewhere := await _wrong_card_reason(world, action, press)):
        return elsewhere
    if action.verdict is Verdict.TYPED and press.typed is None:
        return PressResult(False, "needs_phrase", "This one needs *Review…* and a typed phrase.", action)
    if press.view and not await is_genuine_modal(world, press, "typed"):
        return PressResult(False, "stale", OUTDATED, action)
    return await _lease_problem(world, action)


async def _lease_problem(world: World, action: Action) -> PressResult | None:
    """Redis keeps time: without its lease an action counts as expired; a lease of another version is mended."""
    held = await world.leases.get(action.id)
    if held is None:
        # Nor has a lease what somebody has decided on since we looked.
        return await expire(world, action, lost=True) or await _lost_race(world, action)
    if (held.version, held.receipt) == (action.version, action.receipt):
        return None
    left = (action.expires_at - await world.ledger.now()).total_seconds()
    if left > 0:
        await world.leases.put(lease_record(action), left)
    return PressResult(False, "stale", OUTDATED, action)


async def _wrong_card_reason(world: World, action: Action, press: Press) -> PressResult | None:
    """What to say of a button that does not stand on the action's card. A card that people see already may take
    a moment more to be on record."""
    posted = await world.ledger.posted(action.id)
    for _ in range(POSTED_CHECKS):
        if posted is None or posted.ts:
            break
        await world.clock.sleep(POSTED_CHECK_SECONDS)
        posted = await world.ledger.posted(action.id)
    if posted is not None and not posted.ts:
        return PressResult(False, "early", CARD_NOT_POSTED, action)
    if posted is None or posted.ts != press.message_ts:
        return PressResult(False, "not_ours", NOT_OUR_CARD, action)
    return PressResult(False, "part", SHORTENED_CARD, action) if posted.digest == PART else None


def decision_now(world: World, action: Action) -> Decision | None:
    """The policy on this call as things stand now; None when the tool is gone."""
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return None
    return decision_for(world, spec, action, stored_args(action.args), action.capture)


def decision_for(
    world: World,
    spec: ToolSpec,
    action: Action,
    args: Mapping[str, Json],
    capture: Mapping[str, Json] | None = None,
) -> Decision:
    """As `policy_decision`, on these arguments for an action, whose risk does not fall and which stays private, or
    becomes it with what is read for its preview; of an undo, as it was asked for."""
    return decision_on(
        world, action, spec, args, policy_decision(world, spec, args, action.session.channel, capture)
    )


def decision_on(
    world: World, action: Action, spec: ToolSpec, args: Mapping[str, Json], told: Decision
) -> Decision:
    """The same where the policy has `told` of this call already what it says."""
    decision = with_risk(told, action.risk)
    if action.undoes:
        decision = decision_on_undo(decision, action.proposal.decision)
    private = action.private or reads_in_private(world, spec, args, action.session.channel)
    return made_private(decision, private)


def rules_unchanged(world: World, action: Action) -> bool:
    """Whether definition and rules still want no other yes than the one to what was shown."""
    spec = world.tools.find(action.server, action.tool)
    now = decision_now(world, action)
    if spec is None or now is None or spec.definition != action.definition:
        return False
    return not needs_new_yes(action.proposal.decision, now)


async def _supersede(world: World, action: Action) -> PressResult:
    """Void this version: what was shown is no longer what would run. A run makes the new preview."""
    problem = "The tool or the rules changed after this was shown. I am looking again…"
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            version = with_blocked_preview(replace(action, version=action.version + 1), problem)
            changed = await store_version(tx, action, version)
            tx.audit(audit_entry("voided", changed, "system", note="definition or rules changed"))
            tx.enqueue(jobs.refresh(action.id, changed.version))
            update_cards(tx, changed)
    except (Stale, NoSuchArrow):
        return await _lost_race(world, action)
    return PressResult(False, "changed", CHANGED, changed)


async def _reissue(world: World, action: Action) -> PressResult:
    """Withdraw what an earlier version prepared, and ask it anew: nothing shows that it is what was shown."""
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            resolution = Resolution(reason=EARLIER_VERSION, own=True)
            moved = await tx.move(action, Event.CANCEL, resolution=resolution)
            tx.audit(
                audit_entry(
                    "cancelled", moved, "system", status="error", outcome="called_off", note=EARLIER_VERSION
                )
            )
            if not action.undoes:  # a way back is asked for at what it takes back
                tx.enqueue(jobs.renew(action.id, action.requester, moved.revision))
            notify_ended(tx, moved)
    except (Stale, NoSuchArrow):
        return await _lost_race(world, action)
    await drop_lease(world, action)
    return PressResult(False, "changed", UPDATED, moved)


async def _record_vote(world: World, action: Action, press: Press) -> PressResult:
    async with world.ledger.begin(world.limits.decision) as tx:
        current = await tx.action(action.id)  # locked, so that two votes at once count each other
        if current is None or current.version != action.version or current.state is not State.PREPARED:
            raise Stale(current)
        await mark_message_handled(tx, press)
        vote = Vote(action.id, action.version, press.user, True, await tx.now())
        if not await tx.vote(vote):
            return PressResult(
                False, "already_voted", "You have already confirmed this; others still have to.", action
            )
        if not (
            has_enough_votes(action, [vote])
            or has_enough_votes(action, await tx.votes(action.id, action.version))
        ):
            moved = await tx.move(current, Event.VOTE)
            tx.audit(audit_entry("voted", moved, press.user, user_confirmed=True))
            await record_action_review(tx, moved, press.user, APPROVE, press.reason, over=False)
            update_cards(tx, moved)
            return PressResult(True, "voted", action=moved)
        await record_action_review(tx, current, press.user, APPROVE, press.reason)
        return PressResult(True, "confirmed", action=await approve(tx, current, press.user))


async def approve(tx: Tx, action: Action, user: str, note: str = "", grant: str = "") -> Action:
    """The last yes: approved, on the record, and on its way, in this one transaction. With `grant`, nobody was asked
    for just this."""
    moved = await tx.move(action, Event.APPROVE, resolution=Resolution(by=user, grant=grant))
    if action.undoes:
        await move_original(tx, moved, Event.UNDO)
    tx.audit(audit_entry("confirmed", moved, user, user_confirmed=not grant, note=note))
    # The call is work of whoever asked for it, not of whoever confirms it.
    tx.enqueue(replace(jobs.carry_out(action.id), owner=action.requester))
    update_cards(tx, moved)
    return moved


async def _count_wrong_phrase(world: World, action: Action, press: Press) -> PressResult:
    """A wrong phrase: three of them end it."""
    tries = action.tries + 1
    text = "That is not the phrase. Type it exactly as shown, with the same capitals."
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            if tries < MAX_TRIES:
                kept = await tx.update_action(action, resolution=Resolution(tries=tries))
                tx.audit(audit_entry("mistyped", kept, press.user, outcome=f"try {tries} of {MAX_TRIES}"))
                return PressResult(False, "wrong_phrase", text, kept)
            moved = await end_pending(tx, action, Event.CANCEL, press.user, MISTYPED, own=True)
    except (Stale, NoSuchArrow):
        return await _lost_race(world, action)
    await drop_lease(world, action)
    return PressResult(False, "cancelled", "Three wrong phrases: I cancelled this. Nothing ran.", moved)


async def cancel(world: World, press: Press) -> PressResult:
    """Withdraw an action that has not started. By its requester or an admin, in any version."""
    return await _end_by_press(world, press, Verb.CANCEL, Event.CANCEL, "cancelled")


async def reject(world: World, press: Press) -> PressResult:
    """A no with a reason. One ends it, however many would have said yes."""
    return await _end_by_press(world, press, Verb.REJECT, Event.REJECT, "rejected")


async def _end_by_press(world: World, press: Press, verb: Verb, event: Event, code: str) -> PressResult:
    action = await load_action(world, press, verb)
    if isinstance(action, PressResult):
        return action
    if press.view and not await is_genuine_modal(world, press, "reject"):
        return PressResult(False, "stale", OUTDATED, action)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            moved = await end_pending(tx, action, event, press.user, press.reason)
            if action.state is State.PREPARED:
                await record_action_review(tx, moved, press.user, REJECT, press.reason or code)
            await mark_message_handled(tx, press)
    except (Stale, NoSuchArrow):
        return await _lost_race(world, action)
    await drop_lease(world, action)
    return PressResult(True, code, action=moved)


async def end_pending(
    tx: Tx, action: Action, event: Event, user: str, reason: str, *, own: bool = False
) -> Action:
    """Withdraw or reject an action that has not started: on the record, its card and its planner told. `own`: the
    reason is ours, not the user's (`Resolution.own`)."""
    resolution = replace(action.resolution, by=user, reason=reason, own=own, token=tx.token)
    moved = await tx.move(action, event, resolution=resolution)
    if action.undoes and action.state is State.APPROVED:
        await move_original(tx, moved, Event.UNDO_FAILED)
    await count_words_of_token(tx, action.session, "" if own else reason)
    tx.audit(
        audit_entry(
            moved.state, moved, user, status="rejected_by_user", outcome=moved.state.value, reason=reason
        )
    )
    notify_ended(tx, moved)
    return moved


def notify_ended(tx: Tx, action: Action, task: Task | None = None) -> None:
    """What every end of an action asks for: its card, and the planner's ear, unless its result is held. `task`: its
    task as it stood lately, where the caller knows."""
    update_cards(tx, action)
    cause = f"{action.id}:{action.state}{':judged' if action.judged else ''}"
    if action.under_review:
        return
    owner = "" if tx.token else action.requester  # what follows is work of theirs, whoever ended it
    if action.turn:
        tx.enqueue(replace(jobs.turn(action.turn, cause, None, task, action), owner=owner))
    elif action.task:
        tx.enqueue(replace(jobs.task(action.task, cause), owner=owner))


async def expire(world: World, action: Action, *, lost: bool = False) -> PressResult | None:
    """Expire an action whose time is over, or whose lease was lost. None when it was no longer waiting."""
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            moved = await tx.move(action, Event.EXPIRE, lost=lost)
            note = "its reservation was lost" if lost else ""
            tx.audit(audit_entry("expired", moved, "system", outcome="expired", note=note))
            notify_ended(tx, moved)
    except (Stale, NoSuchArrow):
        return None
    await drop_lease(world, action)
    return PressResult(False, "expired", EXPIRED, moved)


async def drop_lease(world: World, action: Action) -> None:
    """Drop the lease of a decided action. Only tidiness: without it the lease ends by itself."""
    with contextlib.suppress(Unavailable):
        await world.leases.drop(action.id)


async def _lost_race(world: World, action: Action) -> PressResult:
    """Somebody or the clock was first: say who."""
    now = await world.ledger.action(action.id)
    if now is None:
        return PressResult(False, "gone", OUTDATED)
    if now.state is State.PREPARED and now.expires_at <= await world.ledger.now():
        return await expire(world, now) or already_decided(now)
    return already_decided(now)
