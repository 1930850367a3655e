"""Together: the calls of one reply on one card, and one press that is a yes to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gate.actions.button_press import GONE, OLD, Press, Said, late, refused, standing
from gate.actions.confirm import EARLY_LOOKS, EARLY_PAUSE, NOT_MINE, confirm
from gate.actions.preview import decided
from gate.actions.versioning import show
from gate.rules import batch_receipt, jobs
from gate.rules.action import APART, Action, Ref, Session, Verdict
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.ids import derived
from gate.rules.permissions import Verb, may
from gate.rules.planner_port import Call, Mode, Turn
from gate.rules.ports import Note, Stale, Unavailable, World
from gate.rules.states import State
from gate.rules.unicode_safety import quoted

CHANGED = "This card changed since you saw it, so nothing was confirmed. Please look at it as it stands now."
ANEW = (
    "I was updated before I got to your *Confirm all*, so nothing was confirmed. Please press it once more."
)
DECIDED = "Nothing on this card waits for a decision any more."
CONFIRMED = frozenset(
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
NAME, TEXT = 60, 2_500  # characters of one action's summary, and of all that is told
APART_ALREADY = "This has a card of its own already. Please use that one."


@dataclass(frozen=True, slots=True)
class GroupPress:
    """A press on *Confirm all*: `ref` names the group, how many actions, and the beginning of their seal."""

    ref: Ref
    team: str
    user: str
    message_ts: str  # of the card that was pressed


@dataclass(frozen=True, slots=True)
class Yes:
    """A press on *Confirm all* of a group that was committed. `shown`: the actions in the versions that were on the
    card, as their own buttons name them, with commas between. `id` tells one press from another."""

    group: str
    id: str
    team: str
    user: str
    message_ts: str
    shown: str


def groups(world: World, turn: Turn, index: int, calls: Sequence[Call]) -> dict[int, str]:
    """The card that each call of a stored reply shares with others, by its place: where several wait for a person."""
    most = world.limits.calls_per_turn
    waiting = [place for place, call in enumerate(calls[:most]) if _waits(world, turn, call)]
    shared: dict[int, str] = {}
    for first in range(0, len(waiting), batch_receipt.MOST):
        places = waiting[first : first + batch_receipt.MOST]
        if len(places) > 1:
            more = (first,) if first else ()
            shared |= dict.fromkeys(places, derived("group", turn.id, index, *more))
    return shared


def _waits(world: World, turn: Turn, call: Call) -> bool:
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
    decision = decided(world, spec, call.args, turn.session.channel, asked=call.risk)
    return decision.verdict in (Verdict.CONFIRM, Verdict.TYPED) and not decision.private


async def confirm_all(world: World, press: GroupPress) -> Said:
    """A press on *Confirm all*, of exactly those actions that the button was made for: else nothing is confirmed.

    It is committed here, in one transaction; a run then confirms each, `confirm_each`, however long that takes.
    Raises Unavailable: then nothing changed."""
    if not press.message_ts:
        return Said(False, "not_ours", NOT_MINE)
    members = [a for a in await world.ledger.of_group(press.ref.id) if a.session.team == press.team]
    if not members:
        return Said(False, "gone", GONE)
    if not any(action.state is State.PREPARED for action in members):
        return Said(False, "late", DECIDED)
    for _ in range(EARLY_LOOKS):
        covered = await _covered(world, press)
        if press.ref == Ref(press.ref.id, len(covered), batch_receipt.seal(covered)):
            return await _taken(world, press, covered)
        await world.clock.sleep(EARLY_PAUSE)  # what people see already may take a moment more to be on record
    return Said(False, "stale", CHANGED)


async def _taken(world: World, press: GroupPress, actions: Sequence[Action]) -> Said:
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
            return Said(True, "taken")
        for action, ruling in zip(actions, rulings, strict=True):
            tx.audit(refused(action, press.user, Verb.CONFIRM, ruling.reason))
    said = [Said(False, "not_allowed", ruling.reason) for ruling in rulings]
    return Said(False, "not_allowed", _summed([*zip(actions, said, strict=True)], len(actions)))


async def confirm_each(world: World, yes: Yes) -> None:
    """What a press on *Confirm all* asked for: confirm one after the other, as a press on each one's own button
    would, with a vote, a record and a transaction each. Who pressed is told once what did not go through, and why.

    Safe to repeat. Raises Unavailable when one of them could not be decided yet, once the others are."""
    refs = [ref for ref in map(Ref.parse, yes.shown.split(",")) if ref]
    failed: list[tuple[Action, Said]] = []
    away: Unavailable | None = None
    for ref in refs:
        try:
            failed += await _failed(world, Press(ref, yes.team, yes.user, message_ts=yes.message_ts))
        except Unavailable as error:
            away = error
    if away:
        raise away
    if failed:
        await _told(world, yes, failed[0][0].session, _summed(failed, len(refs)))


async def ask_anew(world: World, yes: Yes) -> None:
    """Confirm nothing of a press that nothing proves, as of one that version 1 has queued: tell whoever it names, once,
    and bring the card up to date, where there still is one that waits. Safe to repeat."""
    members = [one for one in await world.ledger.of_group(yes.group) if one.session.team == yes.team]
    waiting = [one for one in members if one.state is State.PREPARED]
    if waiting:
        async with world.ledger.begin() as tx:
            for one in waiting:
                show(tx, one)
        await _told(world, yes, waiting[0].session, ANEW)


async def _failed(world: World, press: Press) -> list[tuple[Action, Said]]:
    """Confirm one: nothing when this person's yes counts, by this call or by an earlier one; else the action as
    they saw it, and why."""
    seen = await world.ledger.action(press.ref.id)
    said = await confirm(world, press)
    if said.ok or said.code == "already_voted" or seen is None:
        return []
    now = await world.ledger.action(seen.id)
    if now is not None and now.state in CONFIRMED and now.decided_by == press.user:
        return []
    return [(seen, said)]


async def _covered(world: World, press: GroupPress) -> list[Action]:
    """The actions that can go by one click and stand whole on the card that was pressed, in order."""
    now = await world.ledger.now()
    waiting = [
        action for action in await world.ledger.of_group(press.ref.id) if batch_receipt.coverable(action)
    ]
    found = []
    for action in waiting:
        posted = await world.ledger.posted(action.id)
        stands = posted is not None and posted.ts == press.message_ts and posted.shows == action.version
        if stands and action.expires_at > now and action.session.team == press.team:
            found.append(action)
    return found


async def _told(world: World, yes: Yes, session: Session, text: str) -> None:
    """Tell the one person who pressed, once for each press."""
    note = Note(derived("together", yes.id), session, "answer", {"text": text}, yes.user)
    async with world.ledger.begin() as tx:
        await tx.note(note)


def _summed(failed: Sequence[tuple[Action, Said]], count: int) -> str:
    """Why some of so many could not be confirmed."""
    reasons: dict[str, list[str]] = {}
    for action, said in failed:
        reasons.setdefault(said.text, []).append(f"“{quoted(action.preview.summary, NAME)}”")
    if len(failed) == count and len(reasons) == 1:
        return failed[0][1].text
    lines = [f"• {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    head = f"Confirmed {count - len(failed)} of {count}. These were not:"
    return "\n".join([head, *lines])[:TEXT]


async def show_apart(world: World, press: Press) -> Said:
    """Take an action off the card that it shares, which had no room for all of it, and post one of its own."""
    action = await standing(world, press, Verb.LOOK)
    if isinstance(action, Said):
        return action
    if action.state is not State.PREPARED:
        return late(action)
    if not action.shares:
        return Said(False, "apart", APART_ALREADY, action)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            kept = await tx.keep(action, origin=replace(action.origin, group=action.group + APART))
            show(tx, kept)
    except Stale:
        return Said(False, "stale", OLD, action)
    return Said(True, "apart", action=kept)
