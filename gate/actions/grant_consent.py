"""A grant as the yes to an action: looked for when it is prepared, and looked at once more when it begins."""

from __future__ import annotations

from dataclasses import replace

from gate.actions.action_versions import record_proposed, with_receipt
from gate.actions.claim_click import approve
from gate.arguments.unicode_safety import quoted
from gate.rules.action import Action, Session, Vote
from gate.rules.grants import Grant, covers, describe_patterns
from gate.rules.ports import Tx, World
from gate.rules.tool import ToolSpec

ENDED = "the grant that it was approved by does not cover it any more"
OUTSIDE = "this thread has read something from outside"
NOT_ASKED = "you have not asked for this in a new request of your own here"
REPEATED = "exactly this was asked here before"
READ = "I read {tool} meanwhile"
OTHERS = "others have written in this thread"
UNREAD = "I am told what {tool} says of itself, and no operator has read that"
ALTHOUGH = "Although you allowed this here, I ask: {why}."


def grant_label(grant: Grant) -> str:
    """How a grant is called on the record."""
    return f"by grant {grant.id} of {grant.user} for {grant.name} {describe_patterns(grant.patterns)}"


async def approve_by_grant(tx: Tx, world: World, action: Action) -> Action | None:
    """The action, approved by a grant of its requester that stands now. None where there is none, and where one is
    no answer (`grant_refusal`). It never waits, so no card asks for it."""
    grant = await _find_grant(tx, action)
    if grant is None or await grant_refusal(tx, world, action):
        return None
    stored = await tx.insert(action)
    if stored.receipt != action.receipt:
        return stored  # it was there already, and is decided as it stands
    await record_proposed(tx, action)
    await tx.vote(Vote(action.id, action.version, grant.user, True, await tx.now(), grant_label(grant)))
    return await approve(tx, stored, grant.user, grant_label(grant), grant.id)


async def with_grant_refusal(world: World, spec: ToolSpec, action: Action) -> Action:
    """The action, and on its card and its record why it asks although a grant fits. As it is where none does, and
    where no model thinks. Raises Unavailable."""
    if not world.planner.follows:
        return action
    async with world.ledger.begin() as tx:
        why = await grant_refusal(tx, world, action) if await _find_grant(tx, action) else ""
    if not why:
        return action
    told = ALTHOUGH.format(why=why)
    proposal = replace(
        action.proposal,
        preview=replace(action.preview, notes=(told, *action.preview.notes)),
        decision=replace(action.proposal.decision, reason=f"{action.reason} {told}".strip()),
    )
    return with_receipt(world, spec, replace(action, proposal=proposal))


async def _find_grant(tx: Tx, action: Action) -> Grant | None:
    found = await tx.grants.grants_for(action)
    now = await tx.now() if found else None
    return next((grant for grant in found if now and covers(grant, action, now)), None)


async def grant_refusal(tx: Tx, world: World, action: Action) -> str:
    """Why no grant is an answer to this action, in words; "" where one may be. A grant covers what nothing but a new
    request of its giver led to. Feedback on a result is none, and no API token makes one, whoever it speaks for. As
    thanks are not always told from a request, it never covers what was asked in this thread before
    just as it is, whatever became of it."""
    if await tx.grants.tainted(action.session):
        return OUTSIDE
    if not await tx.grants.requested(action) or await _has_admin_instruction(tx, action):
        return NOT_ASKED
    spec = world.tools.find(action.server, action.tool)
    if await tx.grants.asked_before(action, spec.recipe.bind if spec else ()):
        return REPEATED
    return await untrusted_input_reason(tx, world, action.session, action.requester)


async def _has_admin_instruction(tx: Tx, action: Action) -> bool:
    """Whether an admin has said what is to be done in its task: they approve nothing for others."""
    task = await tx.task(action.task) if action.task else None
    return task is not None and bool(task.instructed)


async def untrusted_input_reason(tx: Tx, world: World, session: Session, user: str) -> str:
    """Why a model that thinks here may say what others want, in words; "" where it cannot, and where no model does.
    It is told what tools answered in this thread, what other people wrote, and what tools say of themselves, and
    may obey any of it."""
    if not world.planner.follows:
        return ""
    if tool := await tx.grants.last_read(session):
        return READ.format(tool=quoted(tool))
    if await tx.grants.others_wrote(session, user):
        return OTHERS
    unread = next((spec.full_name for spec in world.tools.specs() if not spec.believed), "")
    return UNREAD.format(tool=quoted(unread)) if unread else ""


async def grant_withdrawn_reason(tx: Tx, world: World, action: Action) -> str:
    """Why an action that a grant has approved must not run after all; "" where it may. The grant's row stays locked,
    so that who takes it back later comes after the call has begun."""
    if not action.grant:
        return ""
    grant = await tx.grants.grant(action.grant)
    if grant is None or not covers(grant, action, await tx.now()):
        return ENDED
    return ENDED if await grant_refusal(tx, world, action) else ""
