"""Edit: another version of a pending action, by its requester; every earlier vote is void."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gate.actions.action_versions import (
    audit_entry,
    lease_record,
    logged_reason,
    make_proposal,
    next_version,
    request_card,
    store_version,
    update_cards,
    with_blocked_preview,
)
from gate.actions.button_press import (
    OUTDATED,
    Press,
    PressResult,
    already_decided,
    is_genuine_modal,
    load_action,
    mark_message_handled,
)
from gate.actions.claim_click import decision_for, decision_now, decision_on, expire, notify_ended
from gate.actions.loop_time import counted, own_turn, yield_loop
from gate.actions.prepare import as_sentence
from gate.actions.preview import PreviewResult, make_preview, policy_decision
from gate.actions.review_log import action_review_name, announce_action_review
from gate.actions.sampling_records import sampling_for, sampling_subject
from gate.actions.undo_drift import look_for_drift, shown_with_drift
from gate.actions.words_of_tokens import count_words_of_token, told_to_token
from gate.arguments.unicode_safety import quoted
from gate.rules import jobs
from gate.rules.action import Action, CallClass, Json, Resolution, Verdict
from gate.rules.action_states import Event, NoSuchArrow, State
from gate.rules.canonical_json import MAX_BYTES, BadArguments, canonical, leaves, parse, stored_args
from gate.rules.permissions import Verb
from gate.rules.policy import made_private
from gate.rules.ports import Stale, World
from gate.rules.previews import facts, failed_preview, text_of
from gate.rules.tool import InvalidAnswer, Problem, ToolSpec
from gate.rules.undo_privacy import decision_on_undo
from gate.sentences.thread_commands import Assign, Replace

PREVIEW_PENDING = "I am looking at what this would change now…"
NAMES = (
    "destination",
    "new_name",
    "name",
    "title",
    "subject",
    "path",
)  # arguments that name what is made or moved
AS_RECORDED = "An undo is not edited: it puts back what was recorded. Nothing changed."


@dataclass(frozen=True, slots=True)
class EditForm:
    """What an edit form is made from. Bound parameters are the recipe's, not the person's."""

    action: Action
    spec: ToolSpec
    args: Mapping[str, Json]


async def edit_form(world: World, press: Press) -> EditForm | PressResult:
    """The form for the version that the person saw, or what to tell them."""
    action = await load_action(world, press, Verb.EDIT)
    if isinstance(action, PressResult):
        return action
    if action.state is not State.PREPARED:
        return already_decided(action)
    if not press.ref.fits(action):
        return PressResult(False, "stale", OUTDATED, action)
    if action.undoes:  # it asks no approvers, so it may be nothing but the undo
        return PressResult(False, "no_edit", AS_RECORDED, action)
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return PressResult(
            False, "no_tool", f"{action.server} is not connected at the moment. Try again soon.", action
        )
    return EditForm(action, spec, without_bound_args(spec, stored_args(action.args)))


def without_bound_args(spec: ToolSpec, args: Mapping[str, Json]) -> dict[str, Json]:
    """The arguments without those that the recipe adds."""
    return {key: value for key, value in args.items() if key not in spec.recipe.bind}


async def submit(world: World, press: Press, args: Mapping[str, Json]) -> PressResult | InvalidAnswer:
    """Replace the arguments. The old version is void at once; a run looks and shows the new one.

    Raises Unavailable: then nothing changed.
    """
    with jobs.for_owner(jobs.OWNER.get() or press.user):  # a form of Slack is submitted in nobody's name
        return await _submit(world, press, args)


@counted
async def _submit(world: World, press: Press, args: Mapping[str, Json]) -> PressResult | InvalidAnswer:
    found = await edit_form(world, press)
    if isinstance(found, PressResult):
        return found
    action, spec = found.action, found.spec
    if press.view and not await is_genuine_modal(world, press, "edit"):
        return PressResult(False, "stale", OUTDATED, action)
    try:
        canonical(args)
    except BadArguments as error:
        return InvalidAnswer((Problem((), str(error)),))
    problems = world.tools.problems(spec.schema, dict(args))
    if problems:
        return InvalidAnswer(problems)
    if dict(args) == found.args:
        return PressResult(True, "unchanged", "Nothing was changed.", action)
    await yield_loop(world)
    return await _replace(world, press, found, dict(args))


async def _replace(world: World, press: Press, found: EditForm, args: dict[str, Json]) -> PressResult:
    action, spec = found.action, found.spec
    decision = decision_for(world, spec, action, args)
    # A read asks nobody, unless it is reviewed.
    if decision.verdict is Verdict.DENY or (decision.verdict is Verdict.RUN and not action.review):
        return PressResult(False, "denied", as_sentence(decision.reason), action)
    await yield_loop(world)
    before = {path: text_of(value) for path, value in leaves(found.args)}
    seen = PreviewResult(
        args, {}, replace(failed_preview(spec, args, PREVIEW_PENDING), facts=facts(args, (), before))
    )
    source = replace(
        action.proposal.source,
        at=await world.ledger.now(),
        edited_by=press.user,
        instructed=action.proposal.source.instructed
        | await told_to_token(world, action.session.team, action.requester),
        proposed=action.proposed or action.args.decode("ascii"),
    )
    version = next_version(world, spec, action, make_proposal(world, spec, seen, decision, source))
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            changed = await store_version(tx, action, version)
            await count_words_of_token(tx, changed.session, changed.args)
            tx.audit(audit_entry("edited", changed, press.user, outcome="edited"))
            await mark_message_handled(tx, press)
            tx.enqueue(jobs.refresh(action.id, changed.version))
            update_cards(tx, changed)
    except (Stale, NoSuchArrow):
        now = await world.ledger.action(action.id)
        expired = await expire(world, now) if now else None
        return expired or already_decided(now or action)
    return PressResult(True, "edited", action=changed)


@counted
async def refresh_preview(world: World, action_id: str, version: int) -> None:
    """Look again and show a version that can be confirmed, with a full time to live."""
    async with own_turn(world):
        action = await world.ledger.action(action_id)
    if action is None or action.state is not State.PREPARED or action.version != version:
        return
    spec = world.tools.find(action.server, action.tool)
    if spec is None:
        return await _store_blocked(world, action, f"{action.server} is not connected any more.")
    args = without_bound_args(spec, stored_args(action.args))
    before = {f.label: f.old for f in action.preview.facts if f.old is not None}
    old = {f.label: before.get(f.label, f.value) for f in action.preview.facts} if before else None
    with sampling_for(world, await sampling_subject(world, action)):
        seen = await make_preview(world, spec, args, action.session.channel, old)
    await yield_loop(world)
    told = seen.decision or policy_decision(world, spec, seen.args, action.session.channel, seen.capture)
    decision = made_private(decision_on(world, action, spec, seen.args, told), seen.private)
    if action.undoes:
        original = await world.ledger.action(action.undoes)
        if original:
            decision = decision_on_undo(decision, decision_now(world, original))
        drift = await look_for_drift(world, action, original)
        seen = shown_with_drift(action, original, seen, decision, drift)
    review = action.review or await action_review_name(world, action)
    source = replace(action.proposal.source, at=await world.ledger.now(), review=review)
    shown = next_version(world, spec, action, make_proposal(world, spec, seen, decision, source))
    await world.leases.put(lease_record(shown), (shown.expires_at - source.at).total_seconds())
    await _store_version(world, action, shown)


async def _store_blocked(world: World, action: Action, problem: str) -> None:
    """Say on the card why there will be no new preview."""
    with contextlib.suppress(Stale):
        async with world.ledger.begin() as tx:
            version = with_blocked_preview(action, problem)
            kept = await tx.update_action(action, proposal=version.proposal, receipt=version.receipt)
            update_cards(tx, kept)


async def _store_version(world: World, action: Action, shown: Action) -> None:
    try:
        async with world.ledger.begin() as tx:
            if shown.verdict is Verdict.DENY:
                moved = await tx.move(action, Event.CANCEL, resolution=Resolution(reason=shown.reason))
                tx.audit(
                    audit_entry(
                        "cancelled", moved, "policy", status="error", outcome="denied", reason=shown.reason
                    )
                )
                notify_ended(tx, moved)
                return
            changed = await store_version(tx, action, shown)
            tx.audit(audit_entry("previewed", changed, "system", note=logged_reason(changed)))
            if not action.review:
                await announce_action_review(tx, changed)
            request_card(tx, changed)
    except (Stale, NoSuchArrow):
        return  # somebody cancelled or edited again meanwhile: that version has its own run


async def edit_by_text(world: World, press: Press, change: Replace | Assign) -> PressResult | InvalidAnswer:
    """An edit sentence from the thread: the same as submitting the form with those words changed."""
    found = await edit_form(world, press)
    if isinstance(found, PressResult):
        return found
    if isinstance(change, Assign):
        return await _assign(world, press, found, change)
    count = sum(value.count(change.old) for _, value in leaves(found.args) if isinstance(value, str))
    if count * len(change.new) > MAX_BYTES:  # before the memory is full of it
        return InvalidAnswer((Problem((), f"It would stand there {count:,} times, which is too long."),))
    if not count:
        return PressResult(
            False,
            "not_found",
            f"I cannot find “{quoted(change.old)}” in what I prepared. Nothing changed.",
            found.action,
        )
    return await submit(world, press, _replace_words(found.args, change))


def naming(world: World, action: Action, name: str) -> Assign | None:
    """The edit that gives the thing that a waiting action makes or moves another name; None where no argument is
    plainly its name. A path keeps its folder, and the ending of the name that it had."""
    spec = world.tools.find(action.server, action.tool)
    if spec is None or action.cls is not CallClass.WRITE:
        return None
    args = stored_args(action.args)
    properties = spec.schema.get("properties", {})
    free = [key for key in properties if key not in spec.recipe.bind and isinstance(args.get(key), str)]
    key = next((one for one in NAMES if one in free), None)
    paths = spec.recipe.targets.paths if spec.recipe.targets else ()
    if key is None or key not in paths:
        return Assign(key, name) if key else None
    return Assign(key, _renamed_path(str(args[key]), str(args.get("source", args[key])), name))


def _renamed_path(path: str, earlier: str, name: str) -> str:
    """A path with another name at its end; `earlier`: the path whose ending it keeps. A path without an ending that
    something is moved to is a folder."""
    folder = path.rpartition("/")[0]
    if earlier != path and not _ending(path):
        folder = path
    named = name if "." in name else name + _ending(earlier)
    return named if "/" in name or not folder else f"{folder}/{named}"


def _ending(path: str) -> str:
    """The ending of a path's last part, as `.md`; "" where it has none."""
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return dot + ending if stem else ""


def _replace_words(value: Json, change: Replace) -> Json:
    if isinstance(value, str):
        return value.replace(change.old, change.new)
    if isinstance(value, Mapping):
        return {key: _replace_words(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_replace_words(item, change) for item in value]
    return value


async def _assign(world: World, press: Press, found: EditForm, change: Assign) -> PressResult | InvalidAnswer:
    """`set limit to 5`: text where the schema takes text, else the JSON value."""
    properties = found.spec.schema.get("properties", {})
    name = next((key for key in properties if key.lower() == change.name.lower()), None)
    if name is None or name in found.spec.recipe.bind:
        known = ", ".join(key for key in properties if key not in found.spec.recipe.bind)
        text = f"There is no “{quoted(change.name)}” to change here. There is: {known}. Nothing changed."
        return PressResult(False, "not_found", text, found.action)
    for value in _typed_values(change.value):
        if not world.tools.problems(properties[name], value):
            return await submit(world, press, {**found.args, name: value})
    return await submit(world, press, {**found.args, name: change.value})


def _typed_values(text: str) -> list[Json]:
    """A typed value as text and, where it is one, as JSON."""
    try:
        return [text, parse(f'{{"value": {text}}}')["value"]]
    except BadArguments:
        return [text]
