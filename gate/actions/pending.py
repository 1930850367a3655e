"""What waits for one person: what they asked for, and what the policy lets them decide."""

from __future__ import annotations

from collections.abc import Iterable

from gate.rules.action import Action, Session
from gate.rules.permissions import account, is_approver
from gate.rules.ports import Ledger, World


async def waiting_for(world: World, team: str, user: str) -> tuple[Action, ...]:
    """Pending actions that this person asked for or may approve, and what waits for them to release, oldest first.
    Raises Unavailable."""
    own = await undecided(world.ledger, team, user=user)
    person = await world.people.known(team, user)
    if person is None or not account(person).allowed or not _ever_approves(world, user, person.groups):
        return own
    others = [
        a
        for a in await world.ledger.pending(team)
        if a.requester != user and is_approver(a.approvers, person)
    ]
    return _oldest_first((*own, *others))


async def undecided(
    ledger: Ledger, team: str, *, user: str | None = None, session: Session | None = None
) -> tuple[Action, ...]:
    """What waits to run, and what has run outside of plans and waits with its result for a review, oldest first: of
    one requester, or in one thread. Raises Unavailable."""
    waiting = await ledger.pending(team, user=user, session=session)
    held = await ledger.reviews.held(team, user=user, session=session)
    return _oldest_first((*waiting, *held))


def _oldest_first(found: Iterable[Action]) -> tuple[Action, ...]:
    return tuple(sorted(found, key=lambda action: (action.created_at, action.id)))


def _ever_approves(world: World, user: str, groups: frozenset[str]) -> bool:
    """Whether any rule names this person: only then everybody's actions are looked through."""
    named = [rule.approvers for rule in world.policy.rules if rule.approvers]
    return any(user in approvers.users or groups & approvers.groups for approvers in named)
