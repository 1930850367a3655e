"""A grant as the yes to an action: looked for when it is prepared, and looked at once more when it begins."""

from __future__ import annotations

from gate.action import Action, Vote
from gate.flows.decide import approve
from gate.flows.seal import propose
from gate.grants import Grant, covers, described
from gate.world import Tx

ENDED = "the grant that it was approved by does not cover it any more"


def named(grant: Grant) -> str:
    """How a grant is called on the record."""
    return f"by grant {grant.id} of {grant.user} for {grant.name} {described(grant.patterns)}"


async def by_grant(tx: Tx, action: Action) -> Action | None:
    """The action, approved by a grant of its requester that stands now; None where there is none, or where this
    thread has read from outside. It never waits, so no card asks for it."""
    grant = await _covering(tx, action)
    if grant is None:
        return None
    stored = await tx.insert(action)
    if stored.receipt != action.receipt:
        return stored  # it was there already, and is decided as it stands
    await propose(tx, action)
    await tx.vote(Vote(action.id, action.version, grant.user, True, await tx.now(), named(grant)))
    return await approve(tx, stored, grant.user, named(grant), grant.id)


async def _covering(tx: Tx, action: Action) -> Grant | None:
    found = await tx.learnt.grants_for(action)
    if not found or await tx.learnt.tainted(action.session):
        return None
    now = await tx.now()
    return next((grant for grant in found if covers(grant, action, now)), None)


async def withdrawn(tx: Tx, action: Action) -> str:
    """Why an action that a grant has approved must not run after all; "" where it may. The grant's row stays locked,
    so that who takes it back later comes after the call has begun."""
    if not action.grant:
        return ""
    grant = await tx.learnt.grant(action.grant)
    if grant is None or not covers(grant, action, await tx.now()):
        return ENDED
    return ENDED if await tx.learnt.tainted(action.session) else ""
