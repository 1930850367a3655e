"""Grants: given from a card, listed, and taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from gate.actions import confirm
from gate.actions.button_press import OLD, Press, Said, late, opened, standing
from gate.actions.edit import unbound
from gate.actions.grant_consent import named, outside_influence
from gate.rules.action import Action, Json, Session
from gate.rules.audit import Entry
from gate.rules.canonical_json import parse
from gate.rules.grants import HOURS, Grant, Pattern, described, floor, offers
from gate.rules.ids import derived
from gate.rules.permissions import Verb, account
from gate.rules.ports import Tx, World
from gate.rules.states import State
from gate.rules.unicode_safety import quoted

KIND = "grant"  # of the window in which it is given
TAINTED = (
    "This thread has read something from outside, so each call asks here. Please confirm this one alone."
)
WHICH = "Please say which calls, and for how long."
GONE = "There is no such grant (any more)."
NOT_HERE = "Each call asks here, because {why}. Please confirm this one alone."
GIVEN = "In that thread, {name} {which} runs for you without asking now. `grants` there lists it, and takes it back."
UNTIL_READ = " It asks again after I have read something there."
REVOKED = "Taken back: {name} {which} asks again each time."
CHANGED = "Its tool has changed since, so it covers nothing."


@dataclass(frozen=True, slots=True)
class Offer:
    """What can be granted from a card."""

    action: Action
    kinds: tuple[tuple[Pattern, ...], ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A grant that stands, and why it covers nothing all the same; "" where it does."""

    grant: Grant
    void: str = ""


async def offered(world: World, press: Press) -> Offer | Said:
    """What can be granted on the version that this person pressed; else what to tell them. Raises Unavailable."""
    action = await standing(world, press, Verb.GRANT)
    if isinstance(action, Said):
        return action
    if action.state is not State.PREPARED:
        return late(action)
    if not press.ref.fits(action):
        return Said(False, "stale", OLD, action)
    why = floor(action)
    if why:
        return Said(False, "floor", why, action)
    async with world.ledger.begin() as tx:
        if await tx.learnt.tainted(action.session):
            return Said(False, "tainted", TAINTED, action)
        if told := await outside_influence(tx, world, action.session, action.requester):
            return Said(False, "tainted", NOT_HERE.format(why=told), action)
    return Offer(action, offers(_asked(world, action)))


def _asked(world: World, action: Action) -> dict[str, Json]:
    """The arguments as they were asked for: what the recipe adds is another each time."""
    spec = world.tools.find(action.server, action.tool)
    args = parse(action.args)
    return unbound(spec, args) if spec else args


async def give(world: World, press: Press, kind: int, hours: int) -> Said:
    """*Always in this thread*: a yes to the action itself, and to later ones of the chosen kind. `kind` is its place
    among those that were offered. Raises Unavailable; then the action may be confirmed, and nothing is granted."""
    offer = await offered(world, press)
    if isinstance(offer, Said):
        return offer
    if not await opened(world, press, KIND):
        return Said(False, "stale", OLD, offer.action)
    if not 0 <= kind < len(offer.kinds) or hours not in HOURS:
        return Said(False, "empty", WHICH, offer.action)
    said = await confirm.confirm(world, replace(press, view=""))
    if said.code != "confirmed":
        return said
    async with world.ledger.begin(world.limits.decision) as tx:
        grant = await _write(tx, offer.action, offer.kinds[kind], hours)
    text = GIVEN.format(**_words(grant)) + (UNTIL_READ if world.planner.follows else "")
    return Said(True, "granted", text, said.action)


async def _write(tx: Tx, action: Action, patterns: tuple[Pattern, ...], hours: int) -> Grant:
    now = await tx.now()
    grant = Grant(
        id=derived("grant", action.id, action.version)[:12],
        session=action.session,
        user=action.requester,
        server=action.server,
        tool=action.tool,
        patterns=patterns,
        definition=action.definition,
        given_at=now,
        until=now + timedelta(hours=hours),
    )
    if await tx.learnt.give(grant):
        tx.audit(_entry("granted", grant, grant.user, action.id, f"{named(grant)}, for {hours} h"))
    return grant


def _words(grant: Grant) -> dict[str, str]:
    return {"name": quoted(grant.name), "which": quoted(described(grant.patterns))}


def _entry(event: str, grant: Grant, user: str, action: str, reason: str) -> Entry:
    return Entry(
        event=event,
        session=grant.session.key,
        actor=user,
        action=action,
        tool=grant.name,
        outcome=event,
        user_confirmed=True,
        reason=reason[:1000],
        requester=grant.user if action else "",
    )


async def revoke(world: World, team: str, user: str, grant_id: str) -> Said:
    """Take a grant back: its giver or an admin. What it has approved and has not begun is called off. Raises
    Unavailable: then nothing changed."""
    grant = await world.ledger.learnt.grant(grant_id)
    if grant is None or grant.session.team != team:
        return Said(False, "gone", GONE)
    ruling = account(await world.people.known(team, user))
    if not ruling.allowed:
        return Said(False, "not_allowed", ruling.reason)
    if user != grant.user and user not in world.policy.admins:
        return Said(
            False, "not_allowed", f"Only <@{grant.user}>, who gave this, or an admin can take it back."
        )
    async with world.ledger.begin(world.limits.decision) as tx:
        if not await tx.learnt.revoke(grant_id, user):
            return Said(False, "gone", GONE)
        tx.audit(_entry("grant_revoked", grant, user, "", named(grant)))
    return Said(True, "revoked", REVOKED.format(**_words(grant)))


async def in_thread(world: World, session: Session) -> tuple[Listed, ...]:
    """The grants of a thread, the newest first. Raises Unavailable."""
    return tuple(_listed(world, grant) for grant in await world.ledger.learnt.grants(session))


async def of_person(world: World, team: str, user: str) -> tuple[Listed, ...]:
    """The grants of one person, wherever they gave them, the newest first. Raises Unavailable."""
    return tuple(_listed(world, grant) for grant in await world.ledger.learnt.grants_of(team, user))


def _listed(world: World, grant: Grant) -> Listed:
    spec = world.tools.find(grant.server, grant.tool)
    changed = spec is None or spec.definition != grant.definition or spec.changed
    return Listed(grant, CHANGED if changed else "")
