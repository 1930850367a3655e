"""The buttons on cards and lists: each calls one flow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from gate.action import Ref
from gate.flows import decide, grants, renew, settle, together, undo
from gate.flows.edit import form
from gate.flows.press import GONE, Press, Said, late, standing
from gate.flows.together import GroupPress
from gate.people import Verb
from gate.states import State
from gate.world import Sheet, World
from handlers import held
from handlers.door import Opening, Reply
from handlers.home import home_after
from handlers.parse import Click
from views import buttons, modals
from views import grants as views

ELSEWHERE = {
    "cancelled": "Cancelled. Nothing ran.",
    "undoing": "I am taking it back. The card in its thread shows how it went.",
}

Flow = Callable[[World, Press], Awaitable[Said]]


def press(what: Click) -> Press | None:
    """The press, with the card's own message when the button stood on one; None for a value that is not ours."""
    _, value = buttons.untagged(what.value)
    ref = Ref.parse(value)
    return Press(ref, what.team, what.user, message_ts=what.message_ts) if ref else None


def told(said: Said, what: Click) -> Reply:
    """Words for the person, where the card does not say it all; in a list they do not see the card."""
    return Reply(tell=said.text or (ELSEWHERE.get(said.code, "") if what.listed else ""))


async def confirm(world: World, pressed: Press) -> Said:
    """A yes counts on the card alone: around a button in a view, a leaked token could show anything."""
    if not pressed.message_ts:
        return Said(False, "not_ours", decide.NOT_MINE)
    return await decide.confirm(world, pressed)


async def confirm_all(world: World, pressed: Press) -> Said:
    """The button of a card of several names their group and the seal of those it is a yes to."""
    return await together.confirm_all(
        world, GroupPress(pressed.ref, pressed.team, pressed.user, pressed.message_ts)
    )


class Buttons:
    """The handlers of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Click], Awaitable[Reply | Opening]]]:
        """Action id -> handler."""
        settled = {
            buttons.HAPPENED: lambda world, p: settle.settle(world, p, True),
            buttons.NOT_HAPPENED: lambda world, p: settle.settle(world, p, False),
        }
        flows: dict[str, Flow] = {
            buttons.CONFIRM: confirm,
            buttons.CONFIRM_ALL: confirm_all,
            buttons.APART: together.show_apart,
            buttons.CANCEL: decide.cancel,
            buttons.UNDO: undo.ask,
            buttons.RENEW: renew.ask_again,
            buttons.CHECK: settle.ask_check,
            buttons.RELEASE: held.let_out,
            **settled,
        }
        opening = {
            buttons.REVIEW: self.review,
            buttons.EDIT: self.edit,
            buttons.FULL: self.full,
            buttons.MORE: self.more,
            buttons.REVOKE: self.revoke,
            buttons.CHANGE: self._window(modals.HELD_CHANGE),
            buttons.REFUSE: self._window(modals.HELD_REJECT),
        }
        return {**{key: self._flow(flow) for key, flow in flows.items()}, **opening}

    def _flow(self, flow: Flow) -> Callable[[Click], Awaitable[Reply]]:
        async def handle(what: Click) -> Reply:
            pressed = press(what)
            said = await flow(self._world, pressed) if pressed else Said(False, "gone", GONE)
            reply = told(said, what)
            if not what.at_home:
                return reply
            return replace(reply, home=lambda: home_after(self._world, what.team, what.user, said))

        return handle

    def _window(self, kind: str) -> Callable[[Click], Awaitable[Reply | Opening]]:
        """Opens a window about a result that waits for its review."""

        async def handle(what: Click) -> Reply | Opening:
            return self._opening(what, kind, lambda pressed: held.WINDOWS[kind](self._world, pressed))

        return handle

    async def more(self, what: Click) -> Reply | Opening:
        """The overflow menu: each of its options opens a modal."""
        kind, _ = buttons.untagged(what.value)
        if kind == buttons.REJECT:
            return await self.reject(what)
        if kind == buttons.GRANT:
            return self._opening(what, grants.KIND, self._grant)
        return await self.full(what)

    async def review(self, what: Click) -> Reply | Opening:
        return self._opening(what, modals.TYPED, self._review)

    async def edit(self, what: Click) -> Reply | Opening:
        return self._opening(what, modals.EDIT, self._edit)

    async def reject(self, what: Click) -> Reply | Opening:
        return self._opening(what, modals.REJECT, self._reject)

    async def full(self, what: Click) -> Reply | Opening:
        return self._opening(what, modals.FULL, self._full)

    def _opening(
        self, what: Click, kind: str, make: Callable[[Press], Awaitable[Said | tuple[Any, dict[str, Any]]]]
    ) -> Reply | Opening:
        """Open at once, look afterwards: a trigger lives three seconds. Opening changes nothing."""
        pressed = press(what)
        if pressed is None:
            return Reply(tell=GONE)

        async def then(view_id: str) -> dict[str, Any]:
            made = await make(pressed)
            if isinstance(made, Said):
                return modals.message(made.text or GONE)
            action, view = made
            sheet = Sheet(view_id, kind, what.user, action.id, action.version, action.receipt)
            async with self._world.ledger.begin() as tx:
                await tx.sheet(sheet)
            return view

        return Opening(what.trigger, then)

    async def _review(self, pressed: Press) -> Said | tuple[Any, dict[str, Any]]:
        action = await standing(self._world, pressed, Verb.CONFIRM)
        if isinstance(action, Said):
            return action
        hindrance = await decide.reviewed(self._world, action, pressed)
        return hindrance or (action, modals.typed(action))

    async def _edit(self, pressed: Press) -> Said | tuple[Any, dict[str, Any]]:
        found = await form(self._world, pressed)
        if isinstance(found, Said):
            return found
        return found.action, modals.edit(found.action, found.spec.schema, found.spec.recipe.bind)

    async def _reject(self, pressed: Press) -> Said | tuple[Any, dict[str, Any]]:
        action = await standing(self._world, pressed, Verb.REJECT)
        if isinstance(action, Said):
            return action
        if action.state is not State.PREPARED:
            return late(action)
        return action, modals.reject(action)

    async def _grant(self, pressed: Press) -> Said | tuple[Any, dict[str, Any]]:
        offer = await grants.offered(self._world, pressed)
        return offer if isinstance(offer, Said) else (offer.action, views.window(offer.action, offer.kinds))

    async def revoke(self, what: Click) -> Reply:
        ref = Ref.parse(what.value)
        if ref is None:
            return Reply(tell=grants.GONE)
        said = await grants.revoke(self._world, what.team, what.user, ref.id)
        reply = Reply(tell=said.text)
        if not what.at_home:
            return reply
        return replace(reply, home=lambda: home_after(self._world, what.team, what.user, said))

    async def _full(self, pressed: Press) -> Said | tuple[Any, dict[str, Any]]:
        action = await standing(self._world, pressed, Verb.LOOK)
        if isinstance(action, Said):
            return action
        return action, modals.full(action, await self._world.ledger.votes(action.id, action.version))
