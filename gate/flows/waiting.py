"""What waits for one person: what they asked for, and what the policy lets them decide."""

from __future__ import annotations

from gate.action import Action
from gate.people import account, is_approver
from gate.world import World


async def waiting_for(world: World, team: str, user: str) -> tuple[Action, ...]:
    """Pending actions that this person asked for or may approve, oldest first. Raises Unavailable."""
    own = await world.ledger.pending(team, user=user)
    person = await world.people.known(team, user)
    if person is None or not account(person).allowed or not _ever_approves(world, user, person.groups):
        return own
    others = [
        a
        for a in await world.ledger.pending(team)
        if a.requester != user and is_approver(a.approvers, person)
    ]
    return tuple(sorted((*own, *others), key=lambda action: (action.created_at, action.id)))


def _ever_approves(world: World, user: str, groups: frozenset[str]) -> bool:
    """Whether any rule names this person: only then everybody's actions are looked through."""
    named = [rule.approvers for rule in world.policy.rules if rule.approvers]
    return any(user in approvers.users or groups & approvers.groups for approvers in named)
