"""Carry out: call the tool at most once, under a claim (claim.py), and write down what truly happened."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from gate.actions.action_versions import audit_entry, logged_result, update_cards
from gate.actions.claim_click import decision_now, notify_ended, rules_unchanged
from gate.actions.edit import without_bound_args
from gate.actions.execution_claim import HeldClaim, NotClaimed, claim, grant_note
from gate.actions.follow import begin_following
from gate.actions.gated_results import REVIEWED, MadeCall, without_gated_files
from gate.actions.grant_consent import grant_withdrawn_reason
from gate.actions.loop_time import counted
from gate.actions.prepare import as_sentence
from gate.actions.preview import PreviewReadFailed, run_capture
from gate.actions.review_log import (
    announce_review,
    is_review_missing,
    names_in_plan,
    result_review_name,
)
from gate.actions.sampling_records import not_sampling, sampling_for, sampling_subject
from gate.actions.server_questions import answered_in_thread, subject_of_action
from gate.actions.undo import inverse_of, undo_kind, undo_refusal
from gate.actions.undo_drift import drift_refusal
from gate.actions.undone_action import move_original
from gate.rules import jobs
from gate.rules.action import (
    EARLIER,
    FOUND_CHANGED,
    Action,
    CallClass,
    Outcome,
    ResultReview,
    Undo,
    Verdict,
    Vote,
    milliseconds,
)
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.audit import Entry
from gate.rules.canonical_json import stored_args
from gate.rules.grants import adds_no_words, returns_outside_content
from gate.rules.permissions import Verb, has_enough_votes, may
from gate.rules.ports import Stale, Tx, Unavailable, World
from gate.rules.previews import target_of
from gate.rules.receipt import intact
from gate.rules.reviews import Phase
from gate.rules.send_guard import guarded_by
from gate.rules.task import Task
from gate.rules.templates import TemplateError
from gate.rules.tool import Answer, OutcomeUnknown, ServerUnavailable, ToolSpec
from gate.rules.undo_privacy import is_confidential, told_outcome

TAMPERED = "The stored action is not the one that was shown"
EARLIER_VERSION = "It was prepared by an earlier version of me"
OUTCOME_EVENTS = {
    "success": Event.SUCCEED,
    "error": Event.FAIL,
    "not_sent": Event.FAIL,
    "unknown": Event.LOSE,
}
UNTOLD = {
    "success": "What its tool answered is not kept: the operator wants that reviewed, and nobody reviews an undo.",
    "error": f"It failed. {REVIEWED}",
    "not_sent": f"It did not run. {REVIEWED}",
    "unknown": REVIEWED,
}
LATE = {
    "success": "After that, its call ended and said that it ran.",
    "error": "After that, its call ended with an error.",
    "not_sent": "After that, it turned out that its call was not sent.",
}
STORE_RETRY_SECONDS = (
    0.05,
    0.1,
    0.2,
    0.5,
    1.0,
    2.0,
    5.0,
)  # seconds between tries to write down a result; the last repeats


@counted
async def execute(world: World, action_id: str) -> None:
    """Run an approved action. Safe to repeat: only the holder of a fresh claim ever calls the tool."""
    action, votes = await world.ledger.voted(action_id) or (None, ())
    if action is None or action.state is not State.APPROVED:
        return  # decided otherwise, or somebody else's claim: the janitor judges that by its lease
    subject = await sampling_subject(world, action)
    with sampling_for(world, subject):
        await _execute(world, action, votes, subject.withheld)


async def _execute(world: World, action: Action, votes: Sequence[Vote], withheld: bool) -> None:
    hindrance = await _refusal_reason(world, action, votes)
    if hindrance:
        return await cancel_approved(world, action, hindrance)
    try:
        claimed = await claim(world, action)
    except NotClaimed as hindered:
        return await cancel_approved(world, action, str(hindered))
    if claimed is None:
        return
    begun, task, held = claimed
    outcome = await held.outcome(_call(world, begun, held, withheld))
    await _retry_until_stored(world, lambda: record_outcome(world, begun, outcome, task, withheld))


async def _refusal_reason(world: World, action: Action, votes: Sequence[Vote]) -> str:
    """Why this must not run after all, although it was approved; "" when it may."""
    if not intact(action):
        return EARLIER_VERSION if action.flaw == EARLIER else TAMPERED
    with contextlib.suppress(ServerUnavailable):  # then the call does not get through either, and says why
        await world.tools.declared(action.server, action.tool)
    spec = world.tools.find(action.server, action.tool)
    decision = decision_now(world, action)
    if spec is None or decision is None:
        return f"{action.server} does not offer {action.tool} any more"
    if spec.definition != action.definition:
        return "The tool's definition changed after it was confirmed"
    if decision.verdict is Verdict.DENY:
        return decision.reason
    if not rules_unchanged(world, action) or await is_review_missing(world, action):
        return "The rules for it changed after it was confirmed"
    return (
        await _grant_refusal(world, action)
        or await _deciders_changed(world, action, votes)
        or await _drifted(world, action, spec)
    )


async def _grant_refusal(world: World, action: Action) -> str:
    if not action.grant:
        return ""
    async with world.ledger.begin() as tx:
        return await grant_withdrawn_reason(tx, world, action)


async def _deciders_changed(world: World, action: Action, votes: Sequence[Vote]) -> str:
    """Membership is checked again at the effect: those who said yes must still be allowed to."""
    standing = []
    for vote in votes:
        person = await world.people.fresh(action.session.team, vote.person, 0 if action.phrase else 60)
        if may(world.policy, Verb.CONFIRM, action, person).allowed:
            standing.append(vote)
    return "" if has_enough_votes(action, standing) else "Somebody who confirmed it may not do so any more"


async def _drifted(world: World, action: Action, spec: ToolSpec) -> str:
    """Whether what was captured for the preview is still so."""
    if action.undoes:
        # It was looked at in its own way, and is once more.
        refusal = await undo_refusal(world, action) or await drift_refusal(world, action)
        if refusal or action.version == 1:
            return refusal
    if not spec.recipe.capture or not action.capture:
        return ""
    args = without_bound_args(spec, stored_args(action.args))
    try:
        now = await run_capture(world, spec, args, action.session.channel)
    except (PreviewReadFailed, TemplateError) as error:
        return f"I could not look at the target again: {error}"
    captured = {name: was for name, was in action.capture.items() if name != FOUND_CHANGED}
    same = canonical_json(now.found) == canonical_json(captured)
    return "" if same else f"{target_of(action.preview) or 'Its target'} changed after it was confirmed"


def canonical_json(value: object) -> bytes:
    """Bytes to compare captures by; these may be larger than arguments may be."""
    return json.dumps(value, sort_keys=True).encode()


async def cancel_approved(world: World, action: Action, why: str) -> None:
    """Nothing ran. What drifted is asked again with a fresh preview."""
    try:
        async with world.ledger.begin() as tx:
            resolution = replace(action.resolution, by="", reason=as_sentence(why), own=True)
            moved = await tx.move(action, Event.CANCEL, resolution=resolution)
            tx.audit(
                audit_entry("cancelled", moved, "system", status="error", outcome="called_off", reason=why)
            )
            if action.undoes:
                await move_original(tx, moved, Event.UNDO_FAILED)
            elif why != TAMPERED:
                tx.enqueue(jobs.renew(action.id, action.requester, moved.revision))
            notify_ended(tx, moved)
    except (Stale, NoSuchArrow):
        return


async def _call(world: World, action: Action, held: HeldClaim, withheld: bool) -> Outcome:
    started = world.clock.now()
    try:
        await world.tools.declared(action.server, action.tool)
        asking = answered_in_thread(world, subject_of_action(action, withheld))
        with asking, guarded_by(held), _as_its_look(world, action, withheld):
            answer: Answer = await world.tools.call(
                action.server, action.tool, action.args, world.limits.call, action.definition
            )
        told = await _told(world, action, answer)
        outcome = Outcome("error" if told.is_error else "success", told.text, told.structured)
    except ServerUnavailable as error:
        outcome = Outcome("not_sent", f"It did not run: {error}.")
    except OutcomeUnknown as error:
        outcome = Outcome("unknown", str(error))
    ended = world.clock.now()
    return replace(outcome, at=ended, took_ms=milliseconds(started, ended))


def _as_its_look(world: World, action: Action, withheld: bool) -> AbstractContextManager[None]:
    """No model is asked where none was for the card: what is made would be another thing than what was shown."""
    spec = world.tools.find(action.server, action.tool)
    return not_sampling() if withheld and spec is not None and spec.recipe.capture else nullcontext()


async def _without_unreviewed_words(world: World, action: Action, outcome: Outcome) -> Outcome:
    """The outcome; where results of the call are reviewed, not what was said of a failure or by an undo: nobody reviews
    that, and cards, the API and an agent would tell it."""
    if not world.policy.reviews or (outcome.kind == "success" and not action.undoes):
        return outcome
    about = await world.ledger.action(action.undoes) if action.undoes else action
    names = await names_in_plan(world, about) if about else ()
    reviewed = world.policy.review(Phase.AFTER, action.name, names)
    return replace(outcome, text=UNTOLD[outcome.kind], structured=None) if reviewed else outcome


async def _told(world: World, action: Action, answer: Answer) -> Answer:
    """The answer of the tool without what its arguments did not ask for by name and the policy gates."""
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return answer
    args, channel = stored_args(action.args), action.session.channel
    call = MadeCall(spec, args, channel, is_confirmed=True, is_private=action.private)
    told = await without_gated_files(world, call, answer)
    # A read that may not be told has come to nothing; a change was made all the same.
    return told if spec.recipe.cls is CallClass.READ else replace(told, is_error=answer.is_error)


async def record_outcome(
    world: World, action: Action, outcome: Outcome, task: Task | None, withheld: bool
) -> None:
    """Result, undo entry and audit row in one transaction, of an action as it was claimed. A late truth replaces
    `unknown`. `task`: as it stood then; whoever goes on with it sees when that has changed. `withheld`: as
    `review_log.withholds_words` says."""
    outcome = await _without_unreviewed_words(world, action, outcome)
    try:
        async with world.ledger.begin() as tx:
            return notify_ended(tx, await store_outcome(tx, world, action, outcome, withheld), task)
    except Stale as stale:  # its claim was renewed, it was judged to be lost, or this is written already
        now = stale.action
    if now is None or now.claim is None or action.claim is None or now.claim.token != action.claim.token:
        return
    if now.state is State.EXECUTING or (now.state is State.UNKNOWN and outcome.kind != "unknown"):
        async with world.ledger.begin() as tx:
            notify_ended(tx, await store_outcome(tx, world, now, outcome, withheld))
    elif outcome.kind != "unknown" and now.outcome is not None and now.outcome.at != outcome.at:
        await _record_late(world, now, outcome)


async def _record_late(world: World, action: Action, outcome: Outcome) -> None:
    """The outcome of a call that ended after a person had settled its action, which stays as they did: the log and the
    card say what became of the call, without its result, which nobody reviewed. Its time says that it is written."""
    settled = action.outcome
    assert settled is not None
    told = replace(settled, text=f"{settled.text} {LATE[outcome.kind]}", at=outcome.at)
    async with world.ledger.begin() as tx:
        moved = await tx.update_action(action, execution=replace(action.execution, outcome=told))
        tx.audit(replace(outcome_entry(moved, outcome), event="ended_late", result=""))
        update_cards(tx, moved)


async def store_outcome(tx: Tx, world: World, action: Action, outcome: Outcome, withheld: bool) -> Action:
    """Move an action to its end and write it down. Who calls this lets `notify_ended` ask for what follows."""
    spec = world.tools.find(action.server, action.tool)
    told = told_outcome(action, outcome)
    begun = action.claim.until if action.claim else action.created_at  # by the database's clock
    inverse = inverse_of(spec, action, outcome, begun) if outcome.kind == "success" and spec else None
    held = result_review_name(world, action) if outcome.kind == "success" else ""
    bar = inverse is not None and not held  # where the result waits, the bar opens with the answer
    moved = await tx.move(
        action,
        OUTCOME_EVENTS[outcome.kind],
        execution=replace(action.execution, outcome=told),
        result_review=ResultReview(awaits=held),
        undo=Undo(inverse=inverse, open=bar),
    )
    tx.audit(outcome_entry(moved, told, withheld))
    await announce_review(tx, moved)
    outside = spec is not None and returns_outside_content(spec) and outcome.kind != "not_sent"
    if outside or spec is None or not adds_no_words(spec, moved.args, outcome):
        await tx.grants.taint(moved.session, moved.name, outside)
    if outcome.kind == "success" and not held:
        begin_following(tx, world, spec, moved)
    if inverse:
        await tx.push_undo(moved, inverse, undo_kind(moved), moved.capture, outcome.structured)
    if moved.undoes and outcome.kind != "unknown":
        await move_original(tx, moved, Event.UNDO_DONE if outcome.kind == "success" else Event.UNDO_FAILED)
    return moved


def outcome_entry(action: Action, outcome: Outcome, withheld: bool = False) -> Entry:
    """The audit entry of a result. `withheld`: what came of it is not kept, also where a step's task waits for a
    review of it."""
    unkept = action.under_review or (withheld and not is_confidential(action))
    return audit_entry(
        action.state,
        action,
        action.decided_by,
        result="" if unkept else logged_result(outcome.text, is_confidential(action)),
        status="success" if outcome.kind == "success" else "error",
        outcome=outcome.kind,
        user_confirmed=not action.grant,
        execution_ms=outcome.took_ms,
        note=grant_note(action),
    )


async def _retry_until_stored(world: World, write: Callable[[], Awaitable[None]]) -> None:
    """The tool has run: its result must not be lost to a database that is away for a while."""
    for attempt in range(10_000):
        try:
            return await write()
        except (Unavailable, Stale):
            await world.clock.sleep(STORE_RETRY_SECONDS[min(attempt, len(STORE_RETRY_SECONDS) - 1)])
