"""Decide: confirm, cancel and reject, each in one transaction that has one winner."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from gate.actions.button_press import OLD, Press, Said, heeded, late, opened, standing
from gate.actions.preview import decided
from gate.actions.review_log import APPROVE, REJECT, judged_before
from gate.actions.undone_action import move_original
from gate.actions.versioning import blocked, entry, lease, put_version, show
from gate.rules import jobs
from gate.rules.action import EARLIER, Action, Approvers, Decision, Json, Resolution, Verdict, Vote
from gate.rules.canonical_json import parse
from gate.rules.messages import PART
from gate.rules.permissions import Verb, enough
from gate.rules.ports import Stale, Tx, Unavailable, World
from gate.rules.receipt import intact
from gate.rules.states import Event, NoSuchArrow, State
from gate.rules.task import Task
from gate.rules.tool import ToolSpec
from gate.rules.typed_phrase import MAX_TRIES, typed_right

EXPIRED = "This expired before it was confirmed. Nothing ran; press *Ask again* for a fresh preview."
UPDATED = (
    "I was updated since this card was made, and need your yes to it once more. I am showing it to you anew."
)
CHANGED = (
    "Something about this tool or its rules changed since you saw the card. I am showing it to you anew."
)
OLDER = "An earlier version of me prepared this."
EARLY = "This card is only just being posted. Nothing changed: please press again in a moment."
EARLY_LOOKS, EARLY_PAUSE = 10, 0.05  # looks, and seconds between them
IN_PART = "This card has no room for all of it. Press *Show on its own card*, and decide there."
NOT_MINE = "This button does not stand on a card of mine. Please use the card in the thread."


async def confirm(world: World, press: Press) -> Said:
    """One person's yes to exactly the version they saw. Raises Unavailable: then nothing changed."""
    action = await standing(world, press, Verb.CONFIRM)
    if isinstance(action, Said):
        return action
    hindrance = await _hindrance(world, action, press)
    if hindrance:
        return hindrance
    if not same_rules(world, action):
        return await _show_anew(world, action)
    if action.verdict is Verdict.TYPED and not typed_right(action, press.typed or ""):
        return await _mistyped(world, action, press)
    try:
        said = await _vote(world, action, press)
    except (Stale, NoSuchArrow):
        return await _lost(world, action)
    if said.code == "confirmed":
        await forget(world, action)
    return said


async def reviewed(world: World, action: Action, press: Press) -> Said | None:
    """Why the typed modal must not be opened on what this person pressed, or None."""
    if action.state is not State.PREPARED:
        return late(action)
    if not press.ref.fits(action):
        return Said(False, "stale", OLD, action)
    return await _lease_problem(world, action)


async def _hindrance(world: World, action: Action, press: Press) -> Said | None:
    """Why this press cannot be a yes to what was shown, or None."""
    if action.state is not State.PREPARED:
        return late(action)
    if not press.ref.fits(action):
        return Said(False, "stale", OLD, action)
    if not action.preview.is_complete:
        return Said(
            False, "no_preview", "There is no preview of this yet, so it cannot be confirmed.", action
        )
    if action.flaw == EARLIER:
        return await _reissue(world, action)
    if not intact(action):
        async with world.ledger.begin() as tx:
            tx.audit(entry("tampered", action, "system", outcome="refused"))
        return Said(False, "stale", "The stored action is not the one that was shown. Nothing ran.", action)
    if press.message_ts and (elsewhere := await _elsewhere(world, action, press)):
        return elsewhere
    if action.verdict is Verdict.TYPED and press.typed is None:
        return Said(False, "needs_phrase", "This one needs *Review…* and a typed phrase.", action)
    if press.view and not await opened(world, press, "typed"):
        return Said(False, "stale", OLD, action)
    return await _lease_problem(world, action)


async def _lease_problem(world: World, action: Action) -> Said | None:
    """Redis keeps time: without its lease an action counts as expired; a lease of another version is mended."""
    held = await world.leases.get(action.id)
    if held is None:
        # Nor has a lease what somebody has decided on since we looked.
        return await lapse(world, action, lost=True) or await _lost(world, action)
    if (held.version, held.receipt) == (action.version, action.receipt):
        return None
    left = (action.expires_at - await world.ledger.now()).total_seconds()
    if left > 0:
        await world.leases.put(lease(action), left)
    return Said(False, "stale", OLD, action)


async def _elsewhere(world: World, action: Action, press: Press) -> Said | None:
    """What to say of a button that does not stand on the action's card. A card that people see already may take
    a moment more to be on record."""
    posted = await world.ledger.posted(action.id)
    for _ in range(EARLY_LOOKS):
        if posted is None or posted.ts:
            break
        await world.clock.sleep(EARLY_PAUSE)
        posted = await world.ledger.posted(action.id)
    if posted is not None and not posted.ts:
        return Said(False, "early", EARLY, action)
    if posted is None or posted.ts != press.message_ts:
        return Said(False, "not_ours", NOT_MINE, action)
    return Said(False, "part", IN_PART, action) if posted.digest == PART else None


def decision_now(world: World, action: Action) -> Decision | None:
    """The policy on this call as things stand now; None when the tool is gone."""
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return None
    return decided_for(world, spec, action, parse(action.args), action.capture)


def decided_for(
    world: World, spec: ToolSpec, action: Action, args: Json, capture: Mapping[str, Json]
) -> Decision:
    """As `decided`, on these arguments for an action; an undo belongs to whoever asks for it, also where the policy
    names approvers for the tool."""
    decision = decided(world, spec, args, action.session.channel, capture)
    return replace(decision, approvers=Approvers()) if action.undoes else decision


def same_rules(world: World, action: Action) -> bool:
    """Whether definition, class and deciders are still those that were shown, or nobody need be asked any more."""
    spec = world.tools.find(action.server, action.tool)
    now = decision_now(world, action)
    if spec is None or now is None or spec.definition != action.definition:
        return False
    if now.verdict is Verdict.RUN:
        return True
    same = (now.cls, now.approvers, now.always_gated) == (action.cls, action.approvers, action.always_gated)
    return same and now.verdict is not Verdict.DENY


async def _show_anew(world: World, action: Action) -> Said:
    """Void this version: what was shown is no longer what would run. A run makes the new preview."""
    problem = "The tool or the rules changed after this was shown. I am looking again…"
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            version = blocked(replace(action, version=action.version + 1), problem)
            changed = await put_version(tx, action, version)
            tx.audit(entry("voided", changed, "system", reason="definition or rules changed"))
            tx.enqueue(jobs.refresh(action.id, changed.version))
            show(tx, changed)
    except (Stale, NoSuchArrow):
        return await _lost(world, action)
    return Said(False, "changed", CHANGED, changed)


async def _reissue(world: World, action: Action) -> Said:
    """Withdraw what an earlier version prepared, and ask it anew: nothing shows that it is what was shown."""
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            moved = await tx.move(action, Event.CANCEL, resolution=Resolution(reason=OLDER))
            tx.audit(entry("cancelled", moved, "system", status="error", outcome="called_off", reason=OLDER))
            if not action.undoes:  # a way back is asked for at what it takes back
                tx.enqueue(jobs.renew(action.id, action.requester, moved.revision))
            settled(tx, moved)
    except (Stale, NoSuchArrow):
        return await _lost(world, action)
    await forget(world, action)
    return Said(False, "changed", UPDATED, moved)


async def _vote(world: World, action: Action, press: Press) -> Said:
    async with world.ledger.begin(world.limits.decision) as tx:
        current = await tx.action(action.id)  # locked, so that two votes at once count each other
        if current is None or current.version != action.version or current.state is not State.PREPARED:
            raise Stale(current)
        await heeded(tx, press)
        vote = Vote(action.id, action.version, press.user, True, await tx.now())
        if not await tx.vote(vote):
            return Said(
                False, "already_voted", "You have already confirmed this; others still have to.", action
            )
        if not (enough(action, [vote]) or enough(action, await tx.votes(action.id, action.version))):
            moved = await tx.move(current, Event.VOTE)
            tx.audit(entry("voted", moved, press.user, user_confirmed=True))
            await judged_before(tx, moved, press.user, APPROVE, press.reason, over=False)
            show(tx, moved)
            return Said(True, "voted", action=moved)
        await judged_before(tx, current, press.user, APPROVE, press.reason)
        return Said(True, "confirmed", action=await approve(tx, current, press.user))


async def approve(tx: Tx, action: Action, user: str, reason: str = "", grant: str = "") -> Action:
    """The last yes: approved, on the record, and on its way, in this one transaction. With `grant`, nobody was asked
    for just this."""
    moved = await tx.move(action, Event.APPROVE, resolution=Resolution(by=user, grant=grant))
    if action.undoes:
        await move_original(tx, moved, Event.UNDO)
    tx.audit(entry("confirmed", moved, user, user_confirmed=not grant, reason=reason))
    tx.enqueue(jobs.carry_out(action.id))
    show(tx, moved)
    return moved


async def _mistyped(world: World, action: Action, press: Press) -> Said:
    """A wrong phrase: three of them end it."""
    tries = action.tries + 1
    text = "That is not the phrase. Type it exactly as shown, with the same capitals."
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            if tries < MAX_TRIES:
                kept = await tx.keep(action, resolution=Resolution(tries=tries))
                tx.audit(entry("mistyped", kept, press.user, outcome=f"try {tries} of {MAX_TRIES}"))
                return Said(False, "wrong_phrase", text, kept)
            moved = await end(
                tx, action, Event.CANCEL, press.user, "the phrase was typed wrongly three times"
            )
    except (Stale, NoSuchArrow):
        return await _lost(world, action)
    await forget(world, action)
    return Said(False, "cancelled", "Three wrong phrases: I cancelled this. Nothing ran.", moved)


async def cancel(world: World, press: Press) -> Said:
    """Withdraw an action that has not started. By its requester or an admin, in any version."""
    return await _refusal(world, press, Verb.CANCEL, Event.CANCEL, "cancelled")


async def reject(world: World, press: Press) -> Said:
    """A no with a reason. One ends it, however many would have said yes."""
    return await _refusal(world, press, Verb.REJECT, Event.REJECT, "rejected")


async def _refusal(world: World, press: Press, verb: Verb, event: Event, code: str) -> Said:
    action = await standing(world, press, verb)
    if isinstance(action, Said):
        return action
    if press.view and not await opened(world, press, "reject"):
        return Said(False, "stale", OLD, action)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            moved = await end(tx, action, event, press.user, press.reason)
            if action.state is State.PREPARED:
                await judged_before(tx, moved, press.user, REJECT, press.reason or code)
            await heeded(tx, press)
    except (Stale, NoSuchArrow):
        return await _lost(world, action)
    await forget(world, action)
    return Said(True, code, action=moved)


async def end(tx: Tx, action: Action, event: Event, user: str, reason: str) -> Action:
    """Withdraw or reject an action that has not started: on the record, its card and its planner told."""
    resolution = replace(action.resolution, by=user, reason=reason)
    moved = await tx.move(action, event, resolution=resolution)
    if action.undoes and action.state is State.APPROVED:
        await move_original(tx, moved, Event.UNDO_FAILED)
    tx.audit(
        entry(moved.state, moved, user, status="rejected_by_user", outcome=moved.state.value, reason=reason)
    )
    settled(tx, moved)
    return moved


def settled(tx: Tx, action: Action, task: Task | None = None) -> None:
    """What every end of an action asks for: its card, and the planner's ear, unless its result is held. `task`: its
    task as it stood lately, where the caller knows."""
    show(tx, action)
    cause = f"{action.id}:{action.state}{':judged' if action.judged else ''}"
    if action.under_review:
        return
    if action.turn:
        tx.enqueue(jobs.turn(action.turn, cause, None, task, action))
    elif action.task:
        tx.enqueue(jobs.task(action.task, cause))


async def lapse(world: World, action: Action, *, lost: bool = False) -> Said | None:
    """Expire an action whose time is over, or whose lease was lost. None when it was no longer waiting."""
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            moved = await tx.move(action, Event.EXPIRE, lost=lost)
            reason = "its reservation was lost" if lost else ""
            tx.audit(entry("expired", moved, "system", outcome="expired", reason=reason))
            settled(tx, moved)
    except (Stale, NoSuchArrow):
        return None
    await forget(world, action)
    return Said(False, "expired", EXPIRED, moved)


async def forget(world: World, action: Action) -> None:
    """Drop the lease of a decided action. Only tidiness: without it the lease ends by itself."""
    with contextlib.suppress(Unavailable):
        await world.leases.drop(action.id)


async def _lost(world: World, action: Action) -> Said:
    """Somebody or the clock was first: say who."""
    now = await world.ledger.action(action.id)
    if now is None:
        return Said(False, "gone", OLD)
    if now.state is State.PREPARED and now.expires_at <= await world.ledger.now():
        return await lapse(world, now) or late(now)
    return late(now)
