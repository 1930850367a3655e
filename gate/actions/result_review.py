"""Release: a person decides on what a call outside of plans gave, before whoever asked for it gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.actions.button_press import ALTERED, GONE, OLD, Press, Said, heeded, opened, standing
from gate.actions.confirm import settled
from gate.actions.review_log import record_review
from gate.actions.versioning import entry
from gate.rules.action import Action, Json, Judged, ResultReview
from gate.rules.audit import Entry
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.permissions import Verb
from gate.rules.ports import Stale, World
from gate.rules.reviews import COMMENT, gave, one_result, released, same
from gate.rules.states import State
from gate.rules.tool import Problem, Unfit

CHANGE, REJECT = "held_change", "held_reject"  # the kinds of the two windows
NO_OBJECT = "The changed result must be a JSON object, as the result was."
DECIDED = "<@{by}> has {what} already."
NOTHING = "No result of this waits for a review."


async def approve(world: World, press: Press, edited: dict[str, Json] | None = None) -> Said | Unfit:
    """Let the result out; `edited` is what is given in its place, and the true result stays on record: see
    gate.reviews.one_result. By its requester; as it is, also by an admin. Raises Unavailable: then nothing changed."""
    if edited is None:
        return await _judge(world, press, Judged(press.user, True, None, press.reason[:COMMENT]))
    action = await world.ledger.action(press.ref.id)
    unfit = (
        misfit(world, edited, action.server, action.tool)
        if action is not None and action.under_review
        else None
    )
    if unfit is not None:
        return unfit
    changed = edited if action is None or not same(edited, gave(action)) else None
    if action is not None and changed is not None:
        changed = one_result(gave(action), changed)
    return await _judge(world, press, Judged(press.user, True, changed, press.reason[:COMMENT]), CHANGE)


async def reject(world: World, press: Press) -> Said:
    """Drop the result: whoever asked for the call is told so, and never gets it. What the call changed is still
    changed; its undo is offered. By its requester. Raises Unavailable: then nothing changed."""
    return await _judge(world, press, Judged(press.user, False, None, press.reason[:COMMENT]), REJECT)


async def _judge(world: World, press: Press, judged: Judged, window: str = "") -> Said:
    as_it_is = judged.kept and judged.revised is None
    action = await standing(world, press, Verb.RELEASE if as_it_is else Verb.REVIEW)
    if isinstance(action, Said):
        return action
    if not press.ref.fits(action) or (press.view and not await opened(world, press, window)):
        return Said(False, "stale", OLD, action)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            now = await tx.action(action.id)  # locked: of many, one is first
            if now is None or not now.under_review:
                return late(now)
            if now.flaw:
                return Said(False, "altered", ALTERED, now)
            bar = now.inverse is not None and now.state is State.SUCCEEDED
            undo, review = replace(now.undo, open=bar), ResultReview(judged=judged)
            moved = await tx.keep(now, result_review=review, undo=undo)
            await record_review(tx, moved, judged)
            tx.audit(_entry(moved, judged))
            settled(tx, moved)
            await heeded(tx, press)
    except Stale as stale:
        return late(stale.action)
    return Said(True, "released" if judged.kept else "dropped", action=moved)


def _entry(action: Action, judged: Judged) -> Entry:
    told = released(action)
    return entry(
        "result_released" if judged.kept else "result_rejected",
        action,
        judged.by,
        status="success" if judged.kept else "rejected_by_user",
        outcome="edited" if judged.revised is not None else "",
        user_confirmed=True,
        reason=judged.comment,
        result=told.text[:1000] if told and judged.revised is None else "",
    )


def late(action: Action | None) -> Said:
    """The truth for somebody who was not first, or where nothing waits."""
    if action is None:
        return Said(False, "gone", GONE)
    judged = action.judged
    if judged is None:
        return Said(False, "late", OLD if action.under_review else NOTHING, action)
    what = "released its result" if judged.kept else "rejected its result"
    return Said(False, "late", DECIDED.format(by=judged.by, what=what), action)


def misfit(world: World, edited: Json, server: str, tool: str) -> Unfit | None:
    """Why what somebody wrote cannot be the result of this tool; None where it can."""
    if not isinstance(edited, dict):
        return Unfit((Problem((), NO_OBJECT),))
    try:
        canonical(edited)
    except BadArguments as error:
        return Unfit((Problem((), str(error)),))
    spec = world.tools.find(server, tool)
    if spec is None or spec.output_schema is None:
        return None
    problems = world.tools.problems(spec.output_schema, _fields(spec.output_schema, edited))
    return Unfit(problems) if problems else None


def _fields(schema: Mapping[str, Json], result: dict[str, Json]) -> dict[str, Json]:
    """The result as its tool's schema knows it: its words, which we keep beside its fields, are mostly no part."""
    if "text" in schema.get("properties", {}):
        return result
    return {key: value for key, value in result.items() if key != "text"}
