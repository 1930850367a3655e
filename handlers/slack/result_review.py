"""The result review of an action without a plan: the release button and the modals for edit and rejection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate.actions import result_review
from gate.actions.button_press import GONE, Press, Said, standing
from gate.rules.action import Action
from gate.rules.permissions import Verb
from gate.rules.ports import World
from gate.rules.reviews import same
from gate.rules.tool import Unfit
from handlers.slack import payloads
from handlers.slack.listener import Reply, errors, reply_for
from handlers.slack.payloads import Submission
from views import edit_form, modals, result_review_card

ViewBuilder = Callable[[World, Press], Awaitable[Said | tuple[Any, dict[str, Any]]]]


async def release(world: World, press: Press) -> Said:
    """The button *Release result*."""
    said = await result_review.approve(world, press)
    assert isinstance(said, Said)  # nothing was edited
    return said


def modal_builder(view: Callable[[Action], dict[str, Any]]) -> ViewBuilder:
    """A builder of the modal `view`, for people who may review the result, while the review is open."""

    async def build(world: World, press: Press) -> Said | tuple[Any, dict[str, Any]]:
        action = await standing(world, press, Verb.REVIEW)
        if isinstance(action, Said):
            return action
        return (action, view(action)) if action.under_review else result_review.late(action)

    return build


MODALS = {
    modals.HELD_CHANGE: modal_builder(modals.result_change),
    modals.HELD_REJECT: modal_builder(modals.result_rejection),
}


async def submit_edit(world: World, press: Press, submission: Submission) -> Reply:
    """Releases the result as submitted; an unchanged one without an edit."""
    action = await world.ledger.action(press.ref.id)
    if action is None:
        return Reply(text=GONE)
    form = result_review_card.form(action)
    filled = edit_form.values(form, payloads.input_values(submission.values))
    if filled.errors:
        return errors(filled.errors)
    said = await result_review.approve(world, press, None if same(filled.args, form.args) else filled.args)
    if isinstance(said, Unfit):
        return errors(edit_form.field_errors(form, said.problems))
    return Reply(text=said.text)


async def submit_rejection(world: World, press: Press, submission: Submission) -> Reply:
    """Rejects the result; the reason may be empty."""
    return reply_for(await result_review.reject(world, press), submission)


SUBMITTED = {modals.HELD_CHANGE: submit_edit, modals.HELD_REJECT: submit_rejection}
