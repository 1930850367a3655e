"""App Home and slash commands: what waits for a person, what they can take back, their grants, entries of the log."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from gate.actions import grants
from gate.actions.button_press import PressResult
from gate.rules.permissions import account
from gate.rules.ports import World
from gate.rules.states import State
from gate.rules.thread_commands import help_topic
from gate.tasks.pending import waiting_for
from handlers.slack.listener import Reply
from handlers.slack.payloads import Click, SlashCommand, parse_count
from views import buttons, lists
from views.block_kit import Message
from views.grants import entries as listed

UNDOABLE = 5  # newest entries that can be undone
POLLS, POLL_SECONDS = 30, 0.1  # of a call that has begun, before the view is published
PAGE = re.compile(r"[0-9]{1,4}")
NO_LIST = "This is no list of mine. `/pending` shows what waits for you."
# The code of a decision after which a call runs -> the states in which it is not over.
RUNNING = {
    "undoing": (State.SUCCEEDED, State.UNDOING),
    "confirmed": (State.APPROVED, State.EXECUTING),
}
MAX_ENTRIES = 20
NUMBER = "After {command} comes a number up to {most}, or nothing: `{command} 5`."


async def home(world: World, team: str, user: str, page: int = 0) -> dict[str, Any]:
    """The view, from the ledger; `page`: of what waits. Raises Unavailable."""
    waiting = await waiting_for(world, team, user)
    entries = await world.ledger.undoable(team, user=user, limit=UNDOABLE)
    allowed = await grants.of_person(world, team, user)
    void = [one.grant.id for one in allowed if one.void]
    return lists.home(waiting, user, entries, listed([one.grant for one in allowed], void), page)


async def home_after(world: World, team: str, user: str, said: PressResult | None) -> dict[str, Any]:
    """The view after a decision in App Home, or in a window opened there. Where a call runs because of it, its end is
    waited for, 3 s at most. Raises Unavailable.
    """
    running = RUNNING.get(said.code, ()) if said else ()
    for _ in range(POLLS if running else 0):
        action = await world.ledger.action(said.action.id) if said and said.action else None
        if action is None or action.state not in running:
            break
        await world.clock.sleep(POLL_SECONDS)
    return await home(world, team, user)


class Pages:
    """The handlers of the buttons that turn a page. Whoever presses one sees their own list, whatever the button says
    besides the page."""

    def __init__(self, world: World) -> None:
        self._world = world

    def all(self) -> dict[str, Callable[[Click], Awaitable[Reply]]]:
        """action_id -> handler."""
        return {buttons.EARLIER: self.turn, buttons.LATER: self.turn}

    async def turn(self, click: Click) -> Reply:
        if not PAGE.fullmatch(click.value) or not click.in_private_list:
            return Reply(text=NO_LIST)  # what others see, too, is not replaced by somebody's list
        page = int(click.value)
        if click.in_app_home:
            return Reply(home=await home(self._world, click.team, click.user, page))
        waiting = await waiting_for(self._world, click.team, click.user)
        return Reply(instead=lists.pending(waiting, click.user, page))


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
