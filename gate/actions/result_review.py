"""Release: a person decides on what a call outside of plans gave, before whoever asked for it gets it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gate.actions.action_versions import audit_entry, logged_result
from gate.actions.button_press import (
    NOT_FOUND,
    OUTDATED,
    TAMPERED,
    Press,
    PressResult,
    is_genuine_modal,
    load_action,
    mark_message_handled,
)
from gate.actions.claim_click import decision_now, notify_ended
from gate.actions.follow import begin_following
from gate.actions.review_log import record_review
from gate.rules.action import Action, Json, ResultDecision, ResultReview
from gate.rules.action_states import State
from gate.rules.audit import Entry
from gate.rules.canonical_json import BadArguments, canonical
from gate.rules.permissions import Verb
from gate.rules.ports import Stale, World
from gate.rules.reviews import COMMENT, one_result, released, same, step_result
from gate.rules.tool import InvalidAnswer, Problem
from gate.rules.undo_privacy import is_confidential

CHANGE, REJECT = "held_change", "held_reject"  # the kinds of the two windows
NOT_AN_OBJECT = "The changed result must be a JSON object, as the result was."
ALREADY_REVIEWED = "<@{by}> has {what} already."
NOT_UNDER_REVIEW = "No result of this waits for a review."


async def approve(
    world: World, press: Press, edited: dict[str, Json] | None = None
) -> PressResult | InvalidAnswer:
    """Let the result out; `edited` is what is given in its place, and the true result stays on record: see
    `gate.rules.reviews.one_result`. By its requester; as it is, also by an admin. Raises Unavailable: then nothing
    changed."""
    if edited is None:
        as_it_is = ResultDecision(press.user, True, None, press.reason[:COMMENT])
        return await _record_decision(world, press, as_it_is, CHANGE)
    action = await world.ledger.action(press.ref.id)
    unfit = (
        result_problem(world, edited, action.server, action.tool)
        if action is not None and action.under_review
        else None
    )
    if unfit is not None:
        return unfit
    changed = edited if action is None or not same(edited, step_result(action)) else None
    if action is not None and changed is not None:
        changed = one_result(step_result(action), changed)
    return await _record_decision(
        world, press, ResultDecision(press.user, True, changed, press.reason[:COMMENT]), CHANGE
    )


async def reject(world: World, press: Press) -> PressResult:
    """Drop the result: whoever asked for the call is told so, and never gets it. What the call changed is still
    changed; its undo is offered. By its requester. Raises Unavailable: then nothing changed."""
    return await _record_decision(
        world, press, ResultDecision(press.user, False, None, press.reason[:COMMENT]), REJECT
    )


async def _record_decision(world: World, press: Press, judged: ResultDecision, window: str) -> PressResult:
    """`window`: the kind of the window that it comes from, where it comes from one."""
    as_it_is = judged.kept and judged.revised is None
    action = await load_action(world, press, Verb.RELEASE if as_it_is else Verb.REVIEW)
    if isinstance(action, PressResult):
        return action
    if not press.ref.fits(action) or (press.view and not await is_genuine_modal(world, press, window)):
        return PressResult(False, "stale", OUTDATED, action)
    try:
        async with world.ledger.begin(world.limits.decision) as tx:
            now = await tx.action(action.id)  # locked: of many, one is first
            if now is None or not now.under_review:
                return already_reviewed(now)
            if now.flaw:
                return PressResult(False, "altered", TAMPERED, now)
            bar = now.inverse is not None and now.state is State.SUCCEEDED
            ruled = decision_now(world, now)
            judged = replace(
                judged, private=ruled is None or ruled.private
            )  # nobody knows while its tool is away
            undo, review = replace(now.undo, open=bar), ResultReview(judged=judged)
            moved = await tx.update_action(now, result_review=review, undo=undo)
            await record_review(tx, moved, judged)
            tx.audit(_entry(moved, judged))
            notify_ended(tx, moved)
            if judged.kept and moved.state is State.SUCCEEDED:
                begin_following(tx, world, world.tools.find(moved.server, moved.tool), moved)
            await mark_message_handled(tx, press)
    except Stale as stale:
        return already_reviewed(stale.action)
    return PressResult(True, "released" if judged.kept else "dropped", action=moved)


def _entry(action: Action, judged: ResultDecision) -> Entry:
    told = released(action)
    return audit_entry(
        "result_released" if judged.kept else "result_rejected",
        action,
        judged.by,
        status="success" if judged.kept else "rejected_by_user",
        outcome="edited" if judged.revised is not None else "",
        user_confirmed=True,
        reason=judged.comment,
        result=logged_result(told.text, is_confidential(action)) if told and judged.revised is None else "",
    )


def already_reviewed(action: Action | None) -> PressResult:
    """The truth for somebody who was not first, or where nothing waits."""
    if action is None:
        return PressResult(False, "gone", NOT_FOUND)
    judged = action.judged
    if judged is None:
        return PressResult(False, "late", OUTDATED if action.under_review else NOT_UNDER_REVIEW, action)
    what = "released its result" if judged.kept else "rejected its result"
    return PressResult(False, "late", ALREADY_REVIEWED.format(by=judged.by, what=what), action)


def result_problem(world: World, edited: Json, server: str, tool: str) -> InvalidAnswer | None:
    """Why what somebody wrote cannot be the result of this tool; None where it can."""
    if not isinstance(edited, dict):
        return InvalidAnswer((Problem((), NOT_AN_OBJECT),))
    try:
        canonical(edited)
    except BadArguments as error:
        return InvalidAnswer((Problem((), str(error)),))
    spec = world.tools.find(server, tool)
    if spec is None or spec.output_schema is None:
        return None
    problems = world.tools.problems(spec.output_schema, _schema_fields(spec.output_schema, edited))
    return InvalidAnswer(problems) if problems else None


def _schema_fields(schema: Mapping[str, Json], result: dict[str, Json]) -> dict[str, Json]:
    """The result as its tool's schema knows it: its words, which we keep beside its fields, are mostly no part."""
    if "text" in schema.get("properties", {}):
        return result
    return {key: value for key, value in result.items() if key != "text"}
