"""Edit: another version of a pending action, by its requester; every earlier vote is void."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gate.actions.button_press import OLD, Press, Said, heeded, late, opened, standing
from gate.actions.confirm import decided_for, lapse, settled
from gate.actions.prepare import sentence
from gate.actions.preview import Look, blind, decided, look
from gate.actions.sampled import about, sampling_for
from gate.actions.versioning import (
    announce,
    blocked,
    entry,
    lease,
    next_version,
    proposal,
    put_version,
    show,
)
from gate.rules import jobs
from gate.rules.action import Action, Json, Resolution, Verdict
from gate.rules.canonical_json import MAX_BYTES, BadArguments, canonical, leaves, parse
from gate.rules.permissions import Verb
from gate.rules.ports import Stale, World
from gate.rules.previews import facts, text_of
from gate.rules.states import Event, NoSuchArrow, State
from gate.rules.thread_commands import Assign, Replace
from gate.rules.tool import Problem, ToolSpec, Unfit
from gate.rules.unicode_safety import quoted

LOOKING = "I am looking at what this would change now…"
AS_RECORDED = "An undo is not edited: it puts back what was recorded. Nothing changed."


@dataclass(frozen=True, slots=True)
class Form:
    """What an edit form is made from. Bound parameters are the recipe's, not the person's."""

    action: Action
    spec: ToolSpec
    args: Mapping[str, Json]


async def form(world: World, press: Press) -> Form | Said:
    """The form for the version that the person saw, or what to tell them."""
    action = await standing(world, press, Verb.EDIT)
    if isinstance(action, Said):
        return action
    if action.state is not State.PREPARED:
        return late(action)
    if not press.ref.fits(action):
        return Said(False, "stale", OLD, action)
    if action.undoes:  # it asks no approvers, so it may be nothing but the undo
        return Said(False, "no_edit", AS_RECORDED, action)
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return Said(
            False, "no_tool", f"{action.server} is not connected at the moment. Try again soon.", action
        )
    return Form(action, spec, unbound(spec, parse(action.args)))


def unbound(spec: ToolSpec, args: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments without those that the recipe adds."""
    return {key: value for key, value in args.items() if key not in spec.recipe.bind}


async def submit(world: World, press: Press, args: Mapping[str, Json]) -> Said | Unfit:
    """Replace the arguments. The old version is void at once; a run looks and shows the new one.

    Raises Unavailable: then nothing changed.
    """
    found = await form(world, press)
    if isinstance(found, Said):
        return found
    action, spec = found.action, found.spec
    if press.view and not await opened(world, press, "edit"):
        return Said(False, "stale", OLD, action)
    try:
        canonical(args)
    except BadArguments as error:
        return Unfit((Problem((), str(error)),))
    problems = world.tools.problems(spec.schema, dict(args))
    if problems:
        return Unfit(problems)
    if dict(args) == found.args:
        return Said(True, "unchanged", "Nothing was changed.", action)
    return await _replace(world, press, found, dict(args))


async def _replace(world: World, press: Press, found: Form, args: dict[str, Json]) -> Said:
    action, spec = found.action, found.spec
    decision = decided(world, spec, args, action.session.channel)
    wanted = Verdict.RUN if action.review else Verdict.DENY  # a read asks nobody, unless it is reviewed
    if decision.verdict in (Verdict.DENY, Verdict.RUN) and decision.verdict is not wanted:
        return Said(False, "denied", sentence(decision.reason), action)
    before = {path: text_of(value) for path, value in leaves(found.args)}
    seen = Look(args, {}, replace(blind(spec, args, LOOKING), facts=facts(args, (), before)))
    source = replace(
        action.proposal.source,
        edited_by=press.user,
        proposed=action.proposed or action.args.decode("ascii"),
    )
    version = next_version(world, spec, action, proposal(world, spec, seen, decision, source))
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            changed = await put_version(tx, action, version)
            tx.audit(entry("edited", changed, press.user, outcome="edited"))
            await heeded(tx, press)
            tx.enqueue(jobs.refresh(action.id, changed.version))
            show(tx, changed)
    except (Stale, NoSuchArrow):
        now = await world.ledger.action(action.id)
        expired = await lapse(world, now) if now else None
        return expired or late(now or action)
    return Said(True, "edited", action=changed)


async def refresh(world: World, action_id: str, version: int) -> None:
    """Look again and show a version that can be confirmed, with a full time to live."""
    action = await world.ledger.action(action_id)
    if action is None or action.state is not State.PREPARED or action.version != version:
        return
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return await _blocked(world, action, f"{action.server} is not connected any more.")
    args = unbound(spec, parse(action.args))
    before = {f.label: f.old for f in action.preview.facts if f.old is not None}
    old = {f.label: before.get(f.label, f.value) for f in action.preview.facts} if before else None
    with sampling_for(world, about(world, action)):
        seen = await look(world, spec, args, action.session.channel, old)
    decision = decided_for(world, spec, action, seen.args, seen.capture)
    source = replace(action.proposal.source, at=await world.ledger.now())
    shown = next_version(world, spec, action, proposal(world, spec, seen, decision, source))
    await world.leases.put(lease(shown), (shown.expires_at - source.at).total_seconds())
    await _store(world, action, shown)


async def _blocked(world: World, action: Action, problem: str) -> None:
    """Say on the card why there will be no new preview."""
    with contextlib.suppress(Stale):
        async with world.ledger.begin() as tx:
            version = blocked(action, problem)
            kept = await tx.keep(action, proposal=version.proposal, receipt=version.receipt)
            show(tx, kept)


async def _store(world: World, action: Action, shown: Action) -> None:
    try:
        async with world.ledger.begin() as tx:
            if shown.verdict is Verdict.DENY:
                moved = await tx.move(action, Event.CANCEL, resolution=Resolution(reason=shown.reason))
                tx.audit(
                    entry("cancelled", moved, "policy", status="error", outcome="denied", reason=shown.reason)
                )
                settled(tx, moved)
                return
            changed = await put_version(tx, action, shown)
            tx.audit(entry("previewed", changed, "system", reason=changed.reason))
            announce(tx, changed)
    except (Stale, NoSuchArrow):
        return  # somebody cancelled or edited again meanwhile: that version has its own run


async def by_words(world: World, press: Press, change: Replace | Assign) -> Said | Unfit:
    """An edit sentence from the thread: the same as submitting the form with those words changed."""
    found = await form(world, press)
    if isinstance(found, Said):
        return found
    if isinstance(change, Assign):
        return await _assign(world, press, found, change)
    count = sum(value.count(change.old) for _, value in leaves(found.args) if isinstance(value, str))
    if count * len(change.new) > MAX_BYTES:  # before the memory is full of it
        return Unfit((Problem((), f"It would stand there {count:,} times, which is too long."),))
    if not count:
        return Said(
            False,
            "not_found",
            f"I cannot find “{quoted(change.old)}” in what I prepared. Nothing changed.",
            found.action,
        )
    return await submit(world, press, _replaced(found.args, change))


def _replaced(value: Json, change: Replace) -> Json:
    if isinstance(value, str):
        return value.replace(change.old, change.new)
    if isinstance(value, Mapping):
        return {key: _replaced(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, change) for item in value]
    return value


async def _assign(world: World, press: Press, found: Form, change: Assign) -> Said | Unfit:
    """`set limit to 5`: text where the schema takes text, else the JSON value."""
    properties = found.spec.schema.get("properties", {})
    name = next((key for key in properties if key.lower() == change.name.lower()), None)
    if name is None or name in found.spec.recipe.bind:
        known = ", ".join(key for key in properties if key not in found.spec.recipe.bind)
        text = f"There is no “{quoted(change.name)}” to change here. There is: {known}. Nothing changed."
        return Said(False, "not_found", text, found.action)
    for value in _readings(change.value):
        if not world.tools.problems(properties[name], value):
            return await submit(world, press, {**found.args, name: value})
    return await submit(world, press, {**found.args, name: change.value})


def _readings(text: str) -> list[Json]:
    """A typed value as text and, where it is one, as JSON."""
    try:
        return [text, parse(f'{{"value": {text}}}')["value"]]
    except BadArguments:
        return [text]
