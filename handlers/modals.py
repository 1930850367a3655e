"""The submitted modals: typed confirmation, edit and rejection. Field errors go back in the acknowledgement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from gate.action import Ref
from gate.flows import decide, edit, grants
from gate.flows.press import GONE, Press, Said
from gate.world import World
from handlers import held, parse
from handlers.door import Reply
from handlers.parse import Submission
from views import buttons, form, modals
from views.grants import HOW_LONG, WHICH
from views.held import COMMENTED


def errors(found: dict[str, str]) -> Reply:
    return Reply(ack={"response_action": "errors", "errors": found})


def _number(text: str) -> int:
    """The value of a chosen option; -1 for what is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else -1


class Modals:
    """The handlers of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Submission], Awaitable[Reply]]]:
        """Callback id -> handler."""
        return {
            modals.TYPED: self.typed,
            modals.EDIT: self.edit,
            modals.REJECT: self.reject,
            modals.GRANT: self.grant,
            **{kind: self._held(kind) for kind in held.SUBMITTED},
        }

    async def typed(self, what: Submission) -> Reply:
        pressed = self._press(what, typed=parse.typed(what.values, modals.PHRASE))
        if pressed is None:
            return Reply(tell=GONE)
        said = await decide.confirm(self._world, pressed)
        if said.code == "wrong_phrase":
            return errors({modals.PHRASE: said.text})
        return Reply(tell=said.text)

    async def reject(self, what: Submission) -> Reply:
        pressed = self._press(what, reason=parse.typed(what.values, modals.REASON)[: modals.REASON_LENGTH])
        if pressed is None:
            return Reply(tell=GONE)
        return Reply(tell=(await decide.reject(self._world, pressed)).text)

    def _held(self, kind: str) -> Callable[[Submission], Awaitable[Reply]]:
        """A window about a result that waits for its review."""

        async def handle(what: Submission) -> Reply:
            comment = parse.typed(what.values, COMMENTED)[: modals.REASON_LENGTH]
            pressed = self._press(what, reason=comment)
            return await held.SUBMITTED[kind](self._world, pressed, what) if pressed else Reply(tell=GONE)

        return handle

    async def grant(self, what: Submission) -> Reply:
        pressed = self._press(what)
        if pressed is None:
            return Reply(tell=GONE)
        chosen = parse.filled(what.values)
        kind, hours = (_number(chosen.get(block, {}).get(block, "")) for block in (WHICH, HOW_LONG))
        return Reply(tell=(await grants.give(self._world, pressed, kind, hours)).text)

    async def edit(self, what: Submission) -> Reply:
        pressed = self._press(what)
        found = await edit.form(self._world, pressed) if pressed else Said(False, "gone", GONE)
        if isinstance(found, Said) or pressed is None:
            return Reply(tell=found.text if isinstance(found, Said) else GONE)
        schema, bound = found.spec.schema, found.spec.recipe.bind
        filled = form.values(schema, found.args, what.values, bound)
        if filled.errors:
            return errors(filled.errors)
        said = await edit.submit(self._world, pressed, filled.args)
        if isinstance(said, Said):
            return Reply(tell=said.text)
        shown = form.field_errors(schema, found.args, said.problems, bound)
        return errors(shown) if shown else Reply(tell=" ".join(p.text for p in said.problems[:3]))

    def _press(self, what: Submission, **more: Any) -> Press | None:
        """The press that a modal's metadata names; a kind that is not this modal's is not ours."""
        kind, value = buttons.untagged(what.metadata)
        ref = Ref.parse(value)
        if ref is None or kind != what.callback:
            return None
        return Press(ref, what.team, what.user, view=what.view, **more)
