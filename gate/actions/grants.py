"""Grants: given from a card, listed, and taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from gate.actions import claim_click
from gate.actions.button_press import (
    OUTDATED,
    Press,
    PressResult,
    already_decided,
    is_genuine_modal,
    load_action,
)
from gate.actions.edit import without_bound_args
from gate.actions.grant_consent import grant_label, untrusted_input_reason
from gate.arguments.unicode_safety import quoted
from gate.rules.action import Action, Json, Session
from gate.rules.action_states import State
from gate.rules.audit import Entry
from gate.rules.canonical_json import stored_args
from gate.rules.grants import (
    HOURS,
    Grant,
    Pattern,
    describe_patterns,
    grant_patterns,
    never_grantable_reason,
    tool_of,
)
from gate.rules.ids import derive_id
from gate.rules.permissions import Verb, account
from gate.rules.ports import Tx, World

KIND = "grant"  # of the window in which it is given
TAINTED = (
    "This thread has read something from outside, so each call asks here. Please confirm this one alone."
)
CHOICE_MISSING = "Please say which calls, and for how long."
NO_SUCH_GRANT = "There is no such grant (any more)."
NO_GRANT_HERE = "Each call asks here, because {why}. Please confirm this one alone."
GIVEN = "In that thread, {name} {which} runs for you without asking now. `grants` there lists it, and takes it back."
ENDS_WITH_READ = " It asks again after I have read something there."
REVOKED = "Taken back: {name} {which} asks again each time."
CHANGED = "Its tool has changed since, so it covers nothing."


@dataclass(frozen=True, slots=True)
class GrantOffer:
    """What can be granted from a card."""

    action: Action
    kinds: tuple[tuple[Pattern, ...], ...]


@dataclass(frozen=True, slots=True)
class ListedGrant:
    """A grant that stands, and why it covers nothing all the same; "" where it does."""

    grant: Grant
    void: str = ""


async def grant_offer(world: World, press: Press) -> GrantOffer | PressResult:
    """What can be granted on the version that this person pressed; else what to tell them. Raises Unavailable."""
    action = await load_action(world, press, Verb.GRANT)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.PREPARED:
        return already_decided(action)
    if not press.ref.fits(action):
        return PressResult(False, "stale", OUTDATED, action)
    why = never_grantable_reason(action)
    if why:
        return PressResult(False, "floor", why, action)
    async with world.ledger.begin() as tx:
        if await tx.grants.tainted(action.session):
            return PressResult(False, "tainted", TAINTED, action)
        if told := await untrusted_input_reason(tx, world, action.session, action.requester):
            return PressResult(False, "tainted", NO_GRANT_HERE.format(why=told), action)
    return GrantOffer(action, grant_patterns(_requested_args(world, action)))


def _requested_args(world: World, action: Action) -> dict[str, Json]:
    """The arguments as they were asked for: what the recipe adds is another each time."""
    spec = world.tools.find(action.server, action.tool)
    args = stored_args(action.args)
    return without_bound_args(spec, args) if spec else args


async def give(world: World, press: Press, kind: int, hours: int) -> PressResult:
    """*Always in this thread*: a yes to the action itself, and to later ones of the chosen kind. `kind` is its place
    among those that were offered. Raises Unavailable; then the action may be confirmed, and nothing is granted."""
    offer = await grant_offer(world, press)
    if isinstance(offer, PressResult):
        return offer
    if not await is_genuine_modal(world, press, KIND):
        return PressResult(False, "stale", OUTDATED, offer.action)
    if not 0 <= kind < len(offer.kinds) or hours not in HOURS:
        return PressResult(False, "empty", CHOICE_MISSING, offer.action)
    said = await claim_click.confirm(world, replace(press, view=""))
    if said.code != "confirmed":
        return said
    async with world.ledger.begin(world.limits.decision) as tx:
        grant = await _write(tx, offer.action, offer.kinds[kind], hours)
    text = GIVEN.format(**_describe(grant)) + (ENDS_WITH_READ if world.planner.follows else "")
    return PressResult(True, "granted", text, said.action)


async def _write(tx: Tx, action: Action, patterns: tuple[Pattern, ...], hours: int) -> Grant:
    now = await tx.now()
    grant = Grant(
        id=derive_id("grant", action.id, action.version)[:12],
        session=action.session,
        user=action.requester,
        server=action.server,
        tool=action.tool,
        patterns=patterns,
        definition=action.definition,
        given_at=now,
        until=now + timedelta(hours=hours),
    )
    if await tx.grants.give(grant):
        tx.audit(_entry("granted", grant, grant.user, action.id, f"{grant_label(grant)}, for {hours} h"))
    return grant


def _describe(grant: Grant) -> dict[str, str]:
    return {"name": quoted(tool_of(grant)), "which": quoted(describe_patterns(grant.patterns))}


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


async def revoke(world: World, team: str, user: str, grant_id: str) -> PressResult:
    """Take a grant back: its giver or an admin. What it has approved and has not begun is called off. Raises
    Unavailable: then nothing changed."""
    grant = await world.ledger.grants.grant(grant_id)
    if grant is None or grant.session.team != team:
        return PressResult(False, "gone", NO_SUCH_GRANT)
    ruling = account(await world.people.known(team, user))
    if not ruling.allowed:
        return PressResult(False, "not_allowed", ruling.reason)
    if user != grant.user and user not in world.policy.admins:
        return PressResult(
            False, "not_allowed", f"Only <@{grant.user}>, who gave this, or an admin can take it back."
        )
    async with world.ledger.begin(world.limits.decision) as tx:
        if not await tx.grants.revoke(grant_id, user):
            return PressResult(False, "gone", NO_SUCH_GRANT)
        tx.audit(_entry("grant_revoked", grant, user, "", grant_label(grant)))
    return PressResult(True, "revoked", REVOKED.format(**_describe(grant)))


async def in_thread(world: World, session: Session) -> tuple[ListedGrant, ...]:
    """The grants of a thread, the newest first. Raises Unavailable."""
    return tuple(_list_grant(world, grant) for grant in await world.ledger.grants.grants(session))


async def of_person(world: World, team: str, user: str) -> tuple[ListedGrant, ...]:
    """The grants of one person, wherever they gave them, the newest first. Raises Unavailable."""
    return tuple(_list_grant(world, grant) for grant in await world.ledger.grants.grants_of(team, user))


def _list_grant(world: World, grant: Grant) -> ListedGrant:
    spec = world.tools.find(grant.server, grant.tool)
    changed = spec is None or spec.definition != grant.definition or spec.changed
    return ListedGrant(grant, CHANGED if changed else "")
