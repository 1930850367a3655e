"""Slash commands and App Home: lists for one person, answered from the ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gate.flows.waiting import waiting_for
from gate.people import account
from gate.plain import helped
from gate.world import World
from handlers.door import Reply
from handlers.parse import Slash, count
from views import lists
from views.kit import Message

MOST = 20
NUMBER = "After {command} comes a number up to {most}, or nothing: `{command} 5`."


class Commands:
    """The handlers of one world."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Slash], Awaitable[Reply]]]:
        """Command -> handler."""
        return {
            "/pending": self.pending,
            "/undo": self.undo,
            "/audit": self.audit,
            "/countersign": self.help,
        }

    async def pending(self, what: Slash) -> Reply:
        return self._message(lists.pending(await waiting_for(self._world, what.team, what.user)))

    async def undo(self, what: Slash) -> Reply:
        number = count(what.text, 5, MOST)
        if number is None:
            return self._wrong(what)
        return self._message(
            lists.undo(await self._world.ledger.undoable(what.team, user=what.user, limit=number))
        )

    async def audit(self, what: Slash) -> Reply:
        """The caller's own entries; everybody's for an admin."""
        number = count(what.text, 10, MOST)
        if number is None:
            return self._wrong(what)
        person = await self._world.people.known(what.team, what.user)
        admin = account(person).allowed and what.user in self._world.policy.admins
        lines = await self._world.ledger.audit_tail(
            team=what.team, user=None if admin else what.user, limit=number
        )
        return self._message(lists.audit(lines))

    async def help(self, what: Slash) -> Reply:
        """`/countersign help files`: about one server; anything else, about all."""
        about = helped(what.text) or ""
        text = self._world.guide(about)
        return self._message(lists.guided(text) if about and text else lists.help_text(text))

    def _wrong(self, what: Slash) -> Reply:
        return Reply(
            ack={"text": NUMBER.format(command=what.command, most=MOST), "response_type": "ephemeral"}
        )

    @staticmethod
    def _message(message: Message) -> Reply:
        return Reply(ack={"text": message.text, "blocks": message.blocks, "response_type": "ephemeral"})
