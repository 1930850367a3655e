"""The slash commands: `/pending`, `/undo`, `/audit` and `/countersign`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from gate.rules.permissions import account
from gate.rules.ports import World
from gate.sentences.thread_commands import help_topic
from gate.tasks.pending import waiting_for
from handlers.slack.listener import Reply
from handlers.slack.payloads import SlashCommand, parse_count
from views import lists
from views.block_kit import Message

MAX_ENTRIES = 20
NUMBER = "After {command} comes a number up to {most}, or nothing: `{command} 5`."


class Commands:
    """The handlers of slash commands."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[SlashCommand], Awaitable[Reply]]]:
        """Command -> handler."""
        return {
            "/pending": self.pending,
            "/undo": self.undo,
            "/audit": self.audit,
            "/countersign": self.help,
        }

    async def pending(self, command: SlashCommand) -> Reply:
        return self._message(
            lists.pending(await waiting_for(self._world, command.team, command.user), command.user)
        )

    async def undo(self, command: SlashCommand) -> Reply:
        number = parse_count(command.text, 5, MAX_ENTRIES)
        if number is None:
            return self._usage(command)
        return self._message(
            lists.undo(await self._world.ledger.undoable(command.team, user=command.user, limit=number))
        )

    async def audit(self, command: SlashCommand) -> Reply:
        """The entries of the person who asks; for an admin, of everybody."""
        number = parse_count(command.text, 10, MAX_ENTRIES)
        if number is None:
            return self._usage(command)
        person = await self._world.people.known(command.team, command.user)
        admin = account(person).allowed and command.user in self._world.policy.admins
        entries = await self._world.ledger.audit_tail(
            team=command.team, user=None if admin else command.user, limit=number
        )
        return self._message(lists.audit(entries))

    async def help(self, command: SlashCommand) -> Reply:
        """`/countersign help files`: help on one server; anything else: on all."""
        about = help_topic(command.text) or ""
        text = self._world.guide(about)
        return self._message(lists.guided(text) if about and text else lists.help_text(text))

    def _usage(self, command: SlashCommand) -> Reply:
        return Reply(
            ack={
                "text": NUMBER.format(command=command.command, most=MAX_ENTRIES),
                "response_type": "ephemeral",
            }
        )

    @staticmethod
    def _message(message: Message) -> Reply:
        return Reply(ack={"text": message.text, "blocks": message.blocks, "response_type": "ephemeral"})
