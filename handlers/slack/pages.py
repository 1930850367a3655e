"""The pages of the list of what waits for a person: in the message that they alone see, and in App Home."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from gate.rules.ports import World
from gate.tasks.pending import waiting_for
from handlers.slack.home import home
from handlers.slack.listener import Reply
from handlers.slack.payloads import Click
from views import buttons, lists

PAGE = re.compile(r"[0-9]{1,4}")
NO_LIST = "This is no list of mine. `/pending` shows what waits for you."


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
