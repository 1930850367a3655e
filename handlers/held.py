"""The answers to a result that waits for its review outside of plans: one button, two windows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate.action import Action
from gate.canonical import BadArguments
from gate.canonical import parse as parse_json
from gate.flows import release
from gate.flows.edit import Unfit
from gate.flows.press import Press, Said, standing
from gate.people import Verb
from gate.world import World
from handlers import parse
from handlers.door import Reply
from handlers.parse import Submission
from views import held, modals

Make = Callable[[World, Press], Awaitable[Said | tuple[Any, dict[str, Any]]]]


async def let_out(world: World, press: Press) -> Said:
    """*Release result*."""
    said = await release.approve(world, press)
    assert isinstance(said, Said)  # nothing was edited
    return said


def opening(view: Callable[[Action], dict[str, Any]]) -> Make:
    """Looks what a window is to show: for whoever may change or drop the result, while it waits."""

    async def make(world: World, press: Press) -> Said | tuple[Any, dict[str, Any]]:
        action = await standing(world, press, Verb.REVIEW)
        if isinstance(action, Said):
            return action
        return (action, view(action)) if action.held else release.late(action)

    return make


WINDOWS = {
    modals.HELD_CHANGE: opening(modals.held_change),
    modals.HELD_REJECT: opening(modals.held_reject),
}


async def changed(world: World, press: Press, what: Submission) -> Reply:
    """The submitted result; one that was left as it was is simply released."""
    raw = parse.typed(what.values, held.RESULT)
    action = await world.ledger.action(press.ref.id)
    try:
        same = action is not None and raw == held.as_given(action)
        edited = None if same else parse_json(raw or "{}")
    except BadArguments as error:
        return _wrong(str(error))
    said = await release.approve(world, press, edited)
    if isinstance(said, Unfit):
        return _wrong(" ".join(one.text for one in said.problems[:3]))
    return Reply(tell=said.text)


async def refused(world: World, press: Press, what: Submission) -> Reply:
    """The result rejected; the reason may be empty."""
    return Reply(tell=(await release.reject(world, press)).text)


def _wrong(text: str) -> Reply:
    return Reply(ack={"response_action": "errors", "errors": {held.RESULT: text}})


SUBMITTED = {modals.HELD_CHANGE: changed, modals.HELD_REJECT: refused}
