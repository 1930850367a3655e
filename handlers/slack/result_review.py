"""The result review of an action without a plan: the release button and the modals for edit and rejection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate.actions import result_review
from gate.actions.button_press import Press, Said, standing
from gate.actions.edit import Unfit
from gate.rules.action import Action
from gate.rules.canonical_json import BadArguments
from gate.rules.canonical_json import parse as parse_json
from gate.rules.permissions import Verb
from gate.rules.ports import World
from handlers.slack import payloads
from handlers.slack.listener import Reply, reply_for
from handlers.slack.payloads import Submission
from views import modals, result_review_card

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
    raw = payloads.text_value(submission.values, result_review_card.RESULT)
    action = await world.ledger.action(press.ref.id)
    try:
        same = action is not None and raw == result_review_card.as_given(action)
        edited = None if same else parse_json(raw or "{}")
    except BadArguments as error:
        return _field_error(str(error))
    said = await result_review.approve(world, press, edited)
    if isinstance(said, Unfit):
        return _field_error(" ".join(one.text for one in said.problems[:3]))
    return Reply(text=said.text)


async def submit_rejection(world: World, press: Press, submission: Submission) -> Reply:
    """Rejects the result; the reason may be empty."""
    return reply_for(await result_review.reject(world, press), submission)


def _field_error(text: str) -> Reply:
    return Reply(ack={"response_action": "errors", "errors": {result_review_card.RESULT: text}})


SUBMITTED = {modals.HELD_CHANGE: submit_edit, modals.HELD_REJECT: submit_rejection}
