"""Submissions of the modals of an action: typed confirmation, edit, rejection, grant; and the review of its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate.actions import claim_click, edit, grants, read_only_claim, result_review
from gate.actions.button_press import NOT_FOUND, Press, PressResult, load_action
from gate.rules.action import Action, Ref
from gate.rules.permissions import Verb
from gate.rules.ports import World
from gate.rules.reviews import same
from gate.rules.tool import InvalidAnswer
from handlers.slack import payloads
from handlers.slack.listener import Reply, errors, reply_for
from handlers.slack.payloads import Submission
from views import buttons, edit_form, modals, result_review_card
from views.form_fields import Form
from views.grants import HOW_LONG, WHICH
from views.result_review_card import COMMENTED

ViewBuilder = Callable[[World, Press], Awaitable[PressResult | tuple[Any, dict[str, Any]]]]


async def release(world: World, press: Press) -> PressResult:
    """The button *Release result*."""
    said = await result_review.approve(world, press)
    assert isinstance(said, PressResult)  # nothing was edited
    return said


def modal_builder(view: Callable[[Action], dict[str, Any]]) -> ViewBuilder:
    """A builder of the modal `view`, for people who may review the result, while the review is open."""

    async def build(world: World, press: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        action = await load_action(world, press, Verb.REVIEW)
        if isinstance(action, PressResult):
            return action
        return (action, view(action)) if action.under_review else result_review.already_reviewed(action)

    return build


MODALS = {
    modals.HELD_CHANGE: modal_builder(modals.result_change),
    modals.HELD_REJECT: modal_builder(modals.result_rejection),
}


async def submit_edit(world: World, press: Press, submission: Submission) -> Reply:
    """Releases the result as submitted; an unchanged one without an edit."""
    action = await world.ledger.action(press.ref.id)
    if action is None:
        return Reply(text=NOT_FOUND)
    form = edit_form.shown(result_review_card.form(action))
    filled = edit_form.values(form, payloads.input_values(submission.values))
    if filled.errors:
        return errors(filled.errors)
    said = await result_review.approve(
        world, press, None if same(filled.args, form.form.args) else filled.args
    )
    if isinstance(said, InvalidAnswer):
        return errors(edit_form.field_errors(form, said.problems))
    return Reply(text=said.text)


async def submit_rejection(world: World, press: Press, submission: Submission) -> Reply:
    """Rejects the result; the reason may be empty."""
    return reply_for(await result_review.reject(world, press), submission)


SUBMITTED = {modals.HELD_CHANGE: submit_edit, modals.HELD_REJECT: submit_rejection}


def form_of(found: edit.EditForm) -> Form:
    """The fields of the edit form of a call."""
    spec = found.spec
    return Form(spec.schema, found.args, frozenset(spec.recipe.bind), definition=spec.definition)


def _number(text: str) -> int:
    """The number in the value of a chosen option; -1 if it is not one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else -1


class Modals:
    """The handlers of view_submission of actions."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Submission], Awaitable[Reply]]]:
        """callback_id -> handler."""
        return {
            modals.TYPED: self.confirm,
            modals.EDIT: self.edit,
            modals.REJECT: self.reject,
            modals.GRANT: self.grant,
            modals.ONLY_READS: self.only_reads,
            **{kind: self._result_review(kind) for kind in SUBMITTED},
        }

    async def confirm(self, submission: Submission) -> Reply:
        pressed = self._press(submission, typed=payloads.text_value(submission.values, modals.PHRASE))
        if pressed is None:
            return Reply(text=NOT_FOUND)
        said = await claim_click.confirm(self._world, pressed)
        if said.code == "wrong_phrase":
            return errors({modals.PHRASE: said.text})
        return reply_for(said, submission)

    async def reject(self, submission: Submission) -> Reply:
        pressed = self._press(
            submission, reason=payloads.text_value(submission.values, modals.REASON)[: modals.REASON_LENGTH]
        )
        if pressed is None:
            return Reply(text=NOT_FOUND)
        return reply_for(await claim_click.reject(self._world, pressed), submission)

    def _result_review(self, kind: str) -> Callable[[Submission], Awaitable[Reply]]:
        """The handler of a modal of the result review."""

        async def handle(submission: Submission) -> Reply:
            comment = payloads.text_value(submission.values, COMMENTED)[: modals.REASON_LENGTH]
            pressed = self._press(submission, reason=comment)
            return (
                await SUBMITTED[kind](self._world, pressed, submission) if pressed else Reply(text=NOT_FOUND)
            )

        return handle

    async def grant(self, submission: Submission) -> Reply:
        pressed = self._press(submission)
        if pressed is None:
            return Reply(text=NOT_FOUND)
        chosen = payloads.input_values(submission.values)
        kind, hours = (_number(chosen.get(block, {}).get(block, "")) for block in (WHICH, HOW_LONG))
        return Reply(text=(await grants.give(self._world, pressed, kind, hours)).text)

    async def only_reads(self, submission: Submission) -> Reply:
        pressed = self._press(submission)
        if payloads.input_values(submission.values).get(modals.SURE, {}).get(modals.SURE) != "yes":
            return errors({modals.SURE: "Please answer this first."})
        return Reply(
            text=(await read_only_claim.mark_read_only(self._world, pressed)).text if pressed else NOT_FOUND
        )

    async def edit(self, submission: Submission) -> Reply:
        pressed = self._press(submission)
        found = (
            await edit.edit_form(self._world, pressed) if pressed else PressResult(False, "gone", NOT_FOUND)
        )
        if isinstance(found, PressResult) or pressed is None:
            return Reply(text=found.text if isinstance(found, PressResult) else NOT_FOUND)
        form = edit_form.shown(form_of(found))
        filled = edit_form.values(form, payloads.input_values(submission.values))
        if filled.errors:
            return errors(filled.errors)
        said = await edit.submit(self._world, pressed, filled.args)
        if isinstance(said, PressResult):
            return Reply(text=said.text)
        shown = edit_form.field_errors(form, said.problems)
        return errors(shown) if shown else Reply(text=" ".join(p.text for p in said.problems[:3]))

    def _press(self, submission: Submission, **more: Any) -> Press | None:
        """The press that the modal's private_metadata names; None if it is not ours or of another modal."""
        kind, value = buttons.untagged(submission.metadata)
        ref = Ref.parse(value)
        if ref is None or kind != submission.callback:
            return None
        return Press(ref, submission.team, submission.user, view=submission.view, **more)
