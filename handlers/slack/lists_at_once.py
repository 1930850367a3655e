"""How many lists are made for one person at once: what waits, what can be undone, App Home. Each reads much."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from handlers.slack.listener import Reply
from handlers.slack.payloads import Click, SlashCommand

MOST = 2
CROWDED = "I am still busy with what you asked for just now. Please try again in a moment."
_Asked = TypeVar("_Asked", SlashCommand, Click)


class ListsAtOnce:
    """For one event loop."""

    def __init__(self) -> None:
        self._made: Counter[str] = Counter()  # by person

    @contextmanager
    def for_person(self, user: str) -> Iterator[bool]:
        """Whether one more may be made for this person within it."""
        may = self._made[user] < MOST
        self._made[user] += may
        try:
            yield may
        finally:
            self._made[user] -= may
            if not self._made[user]:
                del self._made[user]

    def bounded(self, handler: Callable[[_Asked], Awaitable[Reply]]) -> Callable[[_Asked], Awaitable[Reply]]:
        """The handler of a command or a click, which says so where too many are under way."""

        async def handle(asked: _Asked) -> Reply:
            with self.for_person(asked.user) as may:
                if may:
                    return await handler(asked)
            if isinstance(asked, SlashCommand):
                return Reply(ack={"text": CROWDED, "response_type": "ephemeral"})
            return Reply(text=CROWDED, keeps_home=True)

        return handle
