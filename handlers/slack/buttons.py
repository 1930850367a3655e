"""The buttons on cards and in lists. Each calls one function of `gate/` (a flow) or opens a modal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from gate.actions import batch, claim_click, grants, read_only_claim, reissue, resolve_unknown, undo
from gate.actions.batch import GroupPress
from gate.actions.button_press import NOT_FOUND, Press, PressResult, already_decided, load_action
from gate.actions.edit import edit_form
from gate.actions.shown_results import whole_result
from gate.rules.action import Ref
from gate.rules.action_states import State
from gate.rules.permissions import Verb
from gate.rules.ports import Note, OpenedModal, World
from gate.rules.task import Task
from handlers.slack.listener import Opening, Reply, reply_for
from handlers.slack.modals import MODALS, form_of, release
from handlers.slack.payloads import Click, opened_by
from views import buttons, long_result, modals
from views import grants as views
from views.task_questions import answers_window

STILL_MAKING = "I am still making what you asked to see before. Please press the button again in a moment."

Flow = Callable[[World, Press], Awaitable[PressResult]]


def press(click: Click) -> Press | None:
    """The press, with the ts of the message that has the button; None if the value is not one of our buttons."""
    _, value = buttons.untagged(click.value)
    ref = Ref.parse(value)
    return Press(ref, click.team, click.user, message_ts=click.message_ts) if ref else None


async def confirm(world: World, pressed: Press) -> PressResult:
    """Confirm counts only on the card: with a leaked token, a view around the button could show anything."""
    if not pressed.message_ts:
        return PressResult(False, "not_ours", claim_click.NOT_OUR_CARD)
    return await claim_click.confirm(world, pressed)


async def confirm_all(world: World, pressed: Press) -> PressResult:
    """Confirm all: the button holds the group and the seal over the actions that it confirms."""
    return await batch.confirm_all(
        world, GroupPress(pressed.ref, pressed.team, pressed.user, pressed.message_ts)
    )


class Buttons:
    """The handlers of block_actions of actions and grants."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._makes_for = set[
            tuple[str, str]
        ]()  # whose part of a long result is being made, or waits for that
        self._one_at_a_time = asyncio.Semaphore(1)

    def all(self) -> dict[str, Callable[[Click], Awaitable[Reply | Opening]]]:
        """action_id -> handler."""
        settled = {
            buttons.HAPPENED: lambda world, p: resolve_unknown.resolve(world, p, True),
            buttons.NOT_HAPPENED: lambda world, p: resolve_unknown.resolve(world, p, False),
        }
        flows: dict[str, Flow] = {
            buttons.CONFIRM: confirm,
            buttons.CONFIRM_ALL: confirm_all,
            buttons.APART: batch.move_to_own_card,
            buttons.CANCEL: claim_click.cancel,
            buttons.UNDO: undo.request_undo,
            buttons.RENEW: reissue.reissue_by_press,
            buttons.CHECK: resolve_unknown.check_by_press,
            buttons.RELEASE: release,
            **settled,
        }
        opening = {
            buttons.REVIEW: self.review,
            buttons.EDIT: self.edit,
            buttons.FULL: self.full,
            buttons.MORE: self.more,
            buttons.REVOKE: self.revoke,
            buttons.CHANGE: self._result_review_modal(modals.HELD_CHANGE),
            buttons.REFUSE: self._result_review_modal(modals.HELD_REJECT),
            **dict.fromkeys(long_result.KINDS, self.show_all),
        }
        return {**{key: self._flow(flow) for key, flow in flows.items()}, **opening}

    def _flow(self, flow: Flow) -> Callable[[Click], Awaitable[Reply]]:
        async def handle(click: Click) -> Reply:
            pressed = press(click)
            said = await flow(self._world, pressed) if pressed else PressResult(False, "gone", NOT_FOUND)
            return reply_for(said, click)

        return handle

    def _result_review_modal(self, kind: str) -> Callable[[Click], Awaitable[Reply | Opening]]:
        """A handler that opens a modal of the result review."""

        async def handle(click: Click) -> Reply | Opening:
            return self._opening(click, kind, lambda pressed: MODALS[kind](self._world, pressed))

        return handle

    async def more(self, click: Click) -> Reply | Opening:
        """The overflow menu: each option opens a modal."""
        kind, _ = buttons.untagged(click.value)
        if kind == buttons.REJECT:
            return await self.reject(click)
        if kind == buttons.GRANT:
            return self._opening(click, grants.KIND, self._grant)
        if kind == buttons.ONLY_READS:
            return self._opening(click, read_only_claim.KIND, self._only_reads)
        return await self.full(click)

    async def show_all(self, click: Click) -> Reply | Opening:
        """All of what a read or the reads of a plan gave, a part of it in each window; nothing in it can be
        submitted."""
        pressed = press(click)
        if pressed is None:
            return Reply(text=NOT_FOUND)

        async def render(_: str) -> dict[str, Any]:
            found = await whole_result(self._world, pressed, click.channel)
            if isinstance(found, PressResult):
                return modals.message(found.text)
            return await self._part(found, pressed)

        return Opening(click.trigger_id, render)

    async def _part(self, found: Note | Task, pressed: Press) -> dict[str, Any]:
        """The window of this number. It takes up to 0.3 s of work: beside the loop, one for all people at a time, so
        that nobody's clicks have to wait for those of one person."""
        whose = (pressed.team, pressed.user)
        if whose in self._makes_for:
            return modals.message(STILL_MAKING)
        self._makes_for.add(whose)
        try:
            async with self._one_at_a_time:
                if isinstance(found, Task):
                    made = await asyncio.to_thread(answers_window, found, pressed.ref.version)
                else:
                    made = await asyncio.to_thread(long_result.window, found, pressed.ref.version)
        finally:
            self._makes_for.discard(whose)
        return made or modals.message(NOT_FOUND)

    async def review(self, click: Click) -> Reply | Opening:
        return self._opening(click, modals.TYPED, self._review)

    async def edit(self, click: Click) -> Reply | Opening:
        return self._opening(click, modals.EDIT, self._edit)

    async def reject(self, click: Click) -> Reply | Opening:
        return self._opening(click, modals.REJECT, self._reject)

    async def full(self, click: Click) -> Reply | Opening:
        return self._opening(click, modals.FULL, self._full)

    def _opening(
        self,
        click: Click,
        kind: str,
        build: Callable[[Press], Awaitable[PressResult | tuple[Any, dict[str, Any]]]],
    ) -> Reply | Opening:
        """Opens a placeholder before the ledger is read: a trigger_id expires after three seconds. `build` returns the
        action and the view, or a refusal to show. Opening a modal changes nothing.
        """
        pressed = press(click)
        if pressed is None:
            return Reply(text=NOT_FOUND)

        async def render(view_id: str) -> dict[str, Any]:
            built = await build(pressed)
            if isinstance(built, PressResult):
                return modals.message(built.text or NOT_FOUND)
            action, view = built
            sheet = OpenedModal(view_id, kind, click.user, action.id, action.version, action.receipt)
            async with self._world.ledger.begin() as tx:
                await tx.save_modal(sheet)
            return opened_by(click, view)

        return Opening(click.trigger_id, render)

    async def _review(self, pressed: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        action = await load_action(self._world, pressed, Verb.CONFIRM)
        if isinstance(action, PressResult):
            return action
        hindrance = await claim_click.modal_refusal(self._world, action, pressed)
        if hindrance:
            return hindrance
        return action, modals.review(action, await self._world.ledger.votes(action.id, action.version))

    async def _edit(self, pressed: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        found = await edit_form(self._world, pressed)
        if isinstance(found, PressResult):
            return found
        return found.action, modals.edit(found.action, form_of(found))

    async def _reject(self, pressed: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        action = await load_action(self._world, pressed, Verb.REJECT)
        if isinstance(action, PressResult):
            return action
        if action.state is not State.PREPARED:
            return already_decided(action)
        return action, modals.reject(action)

    async def _grant(self, pressed: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        offer = await grants.grant_offer(self._world, pressed)
        return (
            offer
            if isinstance(offer, PressResult)
            else (offer.action, views.window(offer.action, offer.kinds))
        )

    async def _only_reads(self, pressed: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        offer = await read_only_claim.read_only_offer(self._world, pressed)
        return (
            offer
            if isinstance(offer, PressResult)
            else (offer.action, modals.only_reads(offer.action, offer.spec))
        )

    async def revoke(self, click: Click) -> Reply:
        ref = Ref.parse(click.value)
        if ref is None:
            return Reply(text=grants.NO_SUCH_GRANT)
        said = await grants.revoke(self._world, click.team, click.user, ref.id)
        return reply_for(said, click)

    async def _full(self, pressed: Press) -> PressResult | tuple[Any, dict[str, Any]]:
        action = await load_action(self._world, pressed, Verb.LOOK)
        if isinstance(action, PressResult):
            return action
        ledger = self._world.ledger
        votes = await ledger.votes(action.id, action.version)
        return action, modals.full(action, votes, await ledger.sampled(action.session, action.id))
