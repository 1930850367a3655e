"""Together: the calls of one reply on one card, and one press that is a yes to each of them."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from gate.actions.action_versions import update_cards
from gate.actions.button_press import (
    NOT_FOUND,
    OUTDATED,
    Press,
    PressResult,
    already_decided,
    load_action,
    refusal_entry,
)
from gate.actions.claim_click import NOT_OUR_CARD, POSTED_CHECK_SECONDS, POSTED_CHECKS, confirm
from gate.actions.preview import policy_decision
from gate.arguments.declared_targets import Targets
from gate.arguments.target_texts import judged_texts
from gate.arguments.unicode_safety import quoted
from gate.rules import batch_receipt, jobs
from gate.rules.action import OWN_CARD, Action, Json, Ref, Session, Verdict
from gate.rules.action_states import State
from gate.rules.autonomy import ApprovalMode
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.checks_in_a_row import checked_in_a_row
from gate.rules.ids import derive_id
from gate.rules.permissions import Verb, may
from gate.rules.planner_port import Call, Mode, Turn
from gate.rules.ports import Note, Stale, Unavailable, World

CARD_CHANGED = (
    "This card changed since you saw it, so nothing was confirmed. Please look at it as it stands now."
)
OUTDATED_PRESS = (
    "I was updated before I got to your *Confirm all*, so nothing was confirmed. Please press it once more."
)
WAITS_EACH_TIME = "This request waits after every step now, so please confirm one after the other."
ALREADY_DECIDED = "Nothing on this card waits for a decision any more."
CONFIRMED_STATES = frozenset(
    {
        State.APPROVED,
        State.EXECUTING,
        State.SUCCEEDED,
        State.FAILED,
        State.UNKNOWN,
        State.UNDOING,
        State.UNDONE,
    }
)
MOST_TOGETHER = 24_000  # characters of arguments, of which some 60 KB of numbers take 0.3 s
WILDCARD, COST_OF_A_WILDCARD = re.compile(r"[*?\[]"), 50  # characters that take as long as one
NAME, TEXT = 60, 2_500  # characters of one action's summary, and of all that is told
HAS_OWN_CARD = "This has a card of its own already. Please use that one."


@dataclass(frozen=True, slots=True)
class GroupPress:
    """A press on *Confirm all*: `ref` names the group, how many actions, and the beginning of their seal."""

    ref: Ref
    team: str
    user: str
    message_ts: str  # of the card that was pressed


@dataclass(frozen=True, slots=True)
class GroupConfirmation:
    """A press on *Confirm all* of a group that was committed. `shown`: the actions in the versions that were on the
    card, as their own buttons name them, with commas between. `id` tells one press from another."""

    group: str
    id: str
    team: str
    user: str
    message_ts: str
    shown: str


def card_groups(
    world: World, turn: Turn, index: int, calls: Sequence[Call], tried: Container[str]
) -> dict[int, str]:
    """The card that each call of a stored reply shares with others, by its place: where several wait for a person.
    `tried`: tools that ran in the same request, or may have, in a try that is over: a call of one may be the same once
    more, so no yes to several covers it."""
    most = world.limits.calls_per_turn
    if _are_long(world, calls[:most]):
        return {}
    with checked_in_a_row():
        fresh = [(n, one) for n, one in enumerate(calls[:most]) if f"{one.server}.{one.tool}" not in tried]
        waiting = [place for place, call in fresh if _needs_decision(world, turn, call)]
    shared: dict[int, str] = {}
    for first in range(0, len(waiting), batch_receipt.MAX_CALLS):
        places = waiting[first : first + batch_receipt.MAX_CALLS]
        if len(places) > 1:
            more = (first,) if first else ()
            shared |= dict.fromkeys(places, derive_id("group", turn.id, index, *more))
    return shared


def _are_long(world: World, calls: Sequence[Call]) -> bool:
    """Whether what of the calls has to be gone through is more together than is judged in one go: then each has its own
    card, for which it is judged alone."""
    left = MOST_TOGETHER
    for call in calls:
        spec = world.tools.find(call.server, call.tool)
        left -= _size_to_judge(spec.recipe.targets, call.args) if spec is not None else 0
        if left < 0:
            return True
    return False


def _size_to_judge(targets: Targets | None, args: Mapping[str, Json]) -> int:
    """Characters of a call that rules are held against, with what patterns among them take; of a tool that declares
    nothing, all of them, and of others the rest for a quarter."""
    try:
        size = len(canonical(args))
    except BadArguments:
        return 0  # it is refused, and judged by no rule
    texts = judged_texts(targets, args)
    size = size if targets is None else size // 4 + sum(map(len, texts))
    return size + COST_OF_A_WILDCARD * sum(len(WILDCARD.findall(text)) for text in texts)


def _needs_decision(world: World, turn: Turn, call: Call) -> bool:
    """Whether this call will wait for a person before the eyes of the whole thread."""
    spec = world.tools.find(call.server, call.tool)
    if spec is None or turn.mode is not Mode.ACT:
        return False
    try:
        canonical(call.args)
    except BadArguments:
        return False
    given = {key: value for key, value in call.args.items() if key not in spec.recipe.bind}
    if world.tools.problems(spec.schema, given):
        return False
    decision = policy_decision(world, spec, call.args, turn.session.channel, asked=call.risk)
    return decision.verdict in (Verdict.CONFIRM, Verdict.TYPED) and not decision.private


async def confirm_all(world: World, press: GroupPress) -> PressResult:
    """A press on *Confirm all*, of exactly those actions that the button was made for: else nothing is confirmed.

    It is committed here, in one transaction; a run then confirms each, `confirm_each`, however long that takes.
    Raises Unavailable: then nothing changed."""
    if not press.message_ts:
        return PressResult(False, "not_ours", NOT_OUR_CARD)
    members = [a for a in await world.ledger.actions_of_group(press.ref.id) if a.session.team == press.team]
    if not members:
        return PressResult(False, "gone", NOT_FOUND)
    if not any(action.state is State.PREPARED for action in members):
        return PressResult(False, "late", ALREADY_DECIDED)
    if await _waits_after_each(world, members[0]):
        return PressResult(False, "manual", WAITS_EACH_TIME)
    for _ in range(POSTED_CHECKS):
        covered = await _confirmable_actions(world, press)
        if press.ref == Ref(press.ref.id, len(covered), batch_receipt.batch_seal(covered)):
            return await _record_press(world, press, covered)
        await world.clock.sleep(
            POSTED_CHECK_SECONDS
        )  # what people see already may take a moment more to be on record
    return PressResult(False, "stale", CARD_CHANGED)


async def _waits_after_each(world: World, action: Action) -> bool:
    """Whether its request has been put into the mode in which a person looks at each step before the next."""
    task = await world.ledger.task(action.task) if action.task else None
    return task is not None and task.switches.approval_mode == ApprovalMode.MANUAL


async def _record_press(world: World, press: GroupPress, actions: Sequence[Action]) -> PressResult:
    """Commit the press. Who may confirm none of them is turned away at once; each is asked about again as it is
    confirmed."""
    person = await world.people.known(press.team, press.user)
    rulings = [may(world.policy, Verb.CONFIRM, action, person) for action in actions]
    shown = ",".join(action.button for action in actions)
    async with world.ledger.begin(world.limits.decision) as tx:
        if any(ruling.allowed for ruling in rulings):
            tx.enqueue(
                jobs.confirm_all(
                    press.ref.id, world.ids.new(), press.team, press.user, press.message_ts, shown
                )
            )
            return PressResult(True, "taken")
        for action, ruling in zip(actions, rulings, strict=True):
            tx.audit(refusal_entry(action, press.user, Verb.CONFIRM, ruling.reason))
    said = [PressResult(False, "not_allowed", ruling.reason) for ruling in rulings]
    return PressResult(
        False, "not_allowed", _failure_summary([*zip(actions, said, strict=True)], len(actions))
    )


async def confirm_each(world: World, yes: GroupConfirmation) -> None:
    """What a press on *Confirm all* asked for: confirm one after the other, as a press on each one's own button
    would, with a vote, a record and a transaction each. Who pressed is told once what did not go through, and why.

    Safe to repeat. Raises Unavailable when one of them could not be decided yet, once the others are."""
    refs = [ref for ref in map(Ref.parse, yes.shown.split(",")) if ref]
    failed: list[tuple[Action, PressResult]] = []
    away: Unavailable | None = None
    for ref in refs:
        try:
            failed += await _confirm_one(world, Press(ref, yes.team, yes.user, message_ts=yes.message_ts))
        except Unavailable as error:
            away = error
    if away:
        raise away
    if failed:
        await _notify_once(world, yes, failed[0][0].session, _failure_summary(failed, len(refs)))


async def reject_unproved(world: World, yes: GroupConfirmation) -> None:
    """Confirm nothing of a press that nothing proves, as of one that version 1 has queued: tell whoever it names, once,
    and bring the card up to date, where there still is one that waits. Safe to repeat."""
    members = [one for one in await world.ledger.actions_of_group(yes.group) if one.session.team == yes.team]
    waiting = [one for one in members if one.state is State.PREPARED]
    if waiting:
        async with world.ledger.begin() as tx:
            for one in waiting:
                update_cards(tx, one)
        await _notify_once(world, yes, waiting[0].session, OUTDATED_PRESS)


async def _confirm_one(world: World, press: Press) -> list[tuple[Action, PressResult]]:
    """Confirm one: nothing when this person's yes counts, by this call or by an earlier one; else the action as
    they saw it, and why."""
    seen = await world.ledger.action(press.ref.id)
    said = await confirm(world, press)
    if said.ok or said.code == "already_voted" or seen is None:
        return []
    now = await world.ledger.action(seen.id)
    if now is not None and now.state in CONFIRMED_STATES and now.decided_by == press.user:
        return []
    return [(seen, said)]


async def _confirmable_actions(world: World, press: GroupPress) -> list[Action]:
    """The actions that can go by one click and stand whole on the card that was pressed, in order."""
    now = await world.ledger.now()
    waiting = [
        action
        for action in await world.ledger.actions_of_group(press.ref.id)
        if batch_receipt.is_coverable(action)
    ]
    found = []
    for action in waiting:
        posted = await world.ledger.posted(action.id)
        stands = posted is not None and posted.ts == press.message_ts and posted.shows == action.version
        if stands and action.expires_at > now and action.session.team == press.team:
            found.append(action)
    return found


async def _notify_once(world: World, yes: GroupConfirmation, session: Session, text: str) -> None:
    """Tell the one person who pressed, once for each press."""
    note = Note(derive_id("together", yes.id), session, "answer", {"text": text}, yes.user)
    async with world.ledger.begin() as tx:
        await tx.note(note)


def _failure_summary(failed: Sequence[tuple[Action, PressResult]], count: int) -> str:
    """Why some of so many could not be confirmed."""
    reasons: dict[str, list[str]] = {}
    for action, said in failed:
        reasons.setdefault(said.text, []).append(f"“{quoted(action.preview.summary, NAME)}”")
    if len(failed) == count and len(reasons) == 1:
        return failed[0][1].text
    lines = [f"• {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    head = f"Confirmed {count - len(failed)} of {count}. These were not:"
    return "\n".join([head, *lines])[:TEXT]


async def move_to_own_card(world: World, press: Press) -> PressResult:
    """Take an action off the card that it shares, which had no room for all of it, and post one of its own."""
    action = await load_action(world, press, Verb.LOOK)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.PREPARED:
        return already_decided(action)
    if not action.shares:
        return PressResult(False, "apart", HAS_OWN_CARD, action)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            kept = await tx.update_action(
                action, origin=replace(action.origin, group=action.group + OWN_CARD)
            )
            update_cards(tx, kept)
    except Stale:
        return PressResult(False, "stale", OUTDATED, action)
    return PressResult(True, "apart", action=kept)
