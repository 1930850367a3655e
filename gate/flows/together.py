"""Together: the calls of one reply on one card, and one press that is a yes to each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gate import groups, runs
from gate.action import APART, Action, Ref, Verdict
from gate.canonical import BadArguments, canonical
from gate.derive import derived
from gate.flows.decide import EARLY_LOOKS, EARLY_PAUSE, NOT_MINE, confirm
from gate.flows.look import decided
from gate.flows.prepare import Asked
from gate.flows.press import GONE, OLD, Press, Said, late, standing
from gate.people import Verb
from gate.states import State
from gate.strange import quoted
from gate.talk import Call, Mode, Turn
from gate.world import Stale, Unavailable, World

CHANGED = "This card changed since you saw it, so nothing was confirmed. Please look at it as it stands now."
DECIDED = "Nothing on this card waits for a decision any more."
BUSY = "I could not record this just now. Please press again."
NAME, TEXT = 60, 2_500  # characters of one action's summary, and of all that is told
APART_ALREADY = "This has a card of its own already. Please use that one."


@dataclass(frozen=True, slots=True)
class GroupPress:
    """A press on *Confirm all*: `ref` names the group, how many actions, and the beginning of their seal."""

    ref: Ref
    team: str
    user: str
    message_ts: str  # of the card that was pressed


def asked_of(world: World, turn: Turn, index: int, calls: Sequence[Call]) -> tuple[Asked, ...]:
    """Every call of a stored reply as it is asked for. Where several will wait for a person, they share a card."""
    most = world.limits.calls_per_turn
    waiting = [place for place, call in enumerate(calls[:most]) if _waits(world, turn, call)]
    shared: dict[int, str] = {}
    for first in range(0, len(waiting), groups.MOST):
        places = waiting[first : first + groups.MOST]
        if len(places) > 1:
            more = (first,) if first else ()
            shared |= dict.fromkeys(places, derived("group", turn.id, index, *more))
    return tuple(
        Asked(
            derived("action", turn.id, index, place),
            turn.session,
            turn.requester,
            call,
            turn.id,
            place,
            group=shared.get(place, ""),
        )
        for place, call in enumerate(calls)
    )


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
    """One person's yes to each action that the card showed whole, with a vote, a record and a transaction each.

    Nothing runs where they are not exactly those that the button was made for. Raises Unavailable: then nothing
    changed.
    """
    if not press.message_ts:
        return Said(False, "not_ours", NOT_MINE)
    members = [a for a in await world.ledger.of_group(press.ref.id) if a.session.team == press.team]
    if not members:
        return Said(False, "gone", GONE)
    if not any(action.state is State.PREPARED for action in members):
        return Said(False, "late", DECIDED)
    for _ in range(EARLY_LOOKS):
        covered = await _covered(world, press)
        if press.ref == Ref(press.ref.id, len(covered), groups.seal(covered)):
            return _summed(covered, await _each(world, press, covered))
        await world.clock.sleep(EARLY_PAUSE)  # what people see already may take a moment more to be on record
    return Said(False, "stale", CHANGED)


async def _covered(world: World, press: GroupPress) -> list[Action]:
    """The actions that can go by one click and stand whole on the card that was pressed, in order."""
    now = await world.ledger.now()
    waiting = [action for action in await world.ledger.of_group(press.ref.id) if groups.coverable(action)]
    found = []
    for action in waiting:
        posted = await world.ledger.posted(action.id)
        stands = posted is not None and posted.ts == press.message_ts and posted.shows == action.version
        if stands and action.expires_at > now and action.session.team == press.team:
            found.append(action)
    return found


async def _each(world: World, press: GroupPress, actions: Sequence[Action]) -> list[Said]:
    """Confirm one after the other, as a press on each one's own button would."""
    said: list[Said] = []
    for action in actions:
        ref = Ref(action.id, action.version, action.receipt[:16])
        try:
            said.append(await confirm(world, Press(ref, press.team, press.user, message_ts=press.message_ts)))
        except Unavailable:
            if not any(one.ok for one in said):
                raise
            said.append(Said(False, "busy", BUSY, action))
    return said


def _summed(actions: Sequence[Action], said: Sequence[Said]) -> Said:
    """What came of all of them. Words only where some could not be confirmed: else the card says it."""
    failed = [(action, one) for action, one in zip(actions, said, strict=True) if not one.ok]
    if not failed:
        return Said(True, "confirmed")
    done = len(said) - len(failed)
    reasons: dict[str, list[str]] = {}
    for action, one in failed:
        reasons.setdefault(one.text, []).append(f"“{quoted(action.preview.summary, NAME)}”")
    if not done and len(reasons) == 1:
        return Said(False, failed[0][1].code, failed[0][1].text)
    lines = [f"• {', '.join(names)}: {reason}" for reason, names in reasons.items()]
    head = f"Confirmed {done} of {len(said)}. These were not:"
    return Said(bool(done), "partly", "\n".join([head, *lines])[:TEXT])


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
            kept = await tx.keep(action, group=action.group + APART)
            tx.enqueue(runs.draw(kept.id, kept.revision))
    except Stale:
        return Said(False, "stale", OLD, action)
    return Said(True, "apart", action=kept)
