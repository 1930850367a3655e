"""“This tool only reads”: an admin's word for a tool whose server alone says so, given on a card, for everybody.

It is a review of the tool's definition as it is then, as `python -m bot tools review` writes it down: a changed
definition asks again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gate.actions import claim_click
from gate.actions.action_versions import audit_entry
from gate.actions.button_press import (
    OUTDATED,
    Press,
    PressResult,
    already_decided,
    is_genuine_modal,
    load_action,
)
from gate.arguments.unicode_safety import quoted
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.permissions import Verb, may
from gate.rules.policy import is_only_claimed
from gate.rules.ports import World
from gate.rules.receipt import intact
from gate.rules.tool import Pin, ToolSpec

KIND = "only_reads"  # of the window in which it is said
REASON = "its server says that it only reads, and an admin agrees"
NOT_ALLOWED = "This cannot be said here of this tool. Nothing changed: each call of it asks."
CHANGED = "This tool has changed, or somebody has reviewed it meanwhile. Nothing changed: look at the card."
MARKED = "“{tool}” only reads, then: nobody is asked about it any more, until its server changes it."
STILL_PENDING = " This call was asked about before: {requester} can still confirm it."


@dataclass(frozen=True, slots=True)
class ReadOnlyOffer:
    """The tool of which it can be said, and the action on whose card."""

    action: Action
    spec: ToolSpec


async def read_only_offer(world: World, press: Press) -> ReadOnlyOffer | PressResult:
    """The tool of which this person may say that it only reads, on the version they pressed; else what to tell them.
    Raises Unavailable."""
    action = await load_action(world, press, Verb.VOUCH)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.PREPARED:
        return already_decided(action)
    if not press.ref.fits(action) or not intact(action):
        return PressResult(False, "stale", OUTDATED, action)
    spec = world.tools.find(action.server, action.tool)
    now = claim_click.decision_now(world, action)
    if not is_only_claimed(action.proposal.decision) or spec is None or now is None:
        return PressResult(False, "floor", NOT_ALLOWED, action)
    if spec.definition != action.definition or not is_only_claimed(now):
        return PressResult(False, "changed", CHANGED, action)
    return ReadOnlyOffer(action, spec)


async def mark_read_only(world: World, press: Press) -> PressResult:
    """Note that this tool, as it is defined now, only reads, and confirm the call where this person may. Raises
    Unavailable; then the tool may be noted, and the call is not confirmed."""
    offer = await read_only_offer(world, press)
    if isinstance(offer, PressResult):
        return offer
    if not await is_genuine_modal(world, press, KIND):
        return PressResult(False, "stale", OUTDATED, offer.action)
    action, spec = offer.action, offer.spec
    async with world.ledger.begin(world.limits.decision) as tx:
        pin = Pin(spec.server, spec.name, spec.definition, press.user, await tx.now())
        if not await tx.grants.review_tool(pin):
            return PressResult(False, "changed", CHANGED, action)
        said = audit_entry(
            "tool_reviewed", action, press.user, note=REASON, outcome=spec.definition, user_confirmed=True
        )
        tx.audit(said)
    world.tools.relist(spec.server)
    return await _confirm_call(world, press, offer)


async def _confirm_call(world: World, press: Press, offer: ReadOnlyOffer) -> PressResult:
    """What to tell who has said it, after their yes to the call itself, where they may give it."""
    action, told = offer.action, MARKED.format(tool=quoted(offer.spec.title))
    person = await world.people.known(press.team, press.user)
    if not may(world.policy, Verb.CONFIRM, action, person).allowed:
        return PressResult(
            True, "noted", told + STILL_PENDING.format(requester=f"<@{action.requester}>"), action
        )
    said = await claim_click.confirm(world, replace(press, view=""))
    return replace(said, text=f"{told} {said.text}".strip())
