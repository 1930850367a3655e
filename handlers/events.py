"""Messages become durable before they are acknowledged; App Home is published, Stop is obeyed."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt import BoltResponse

from gate.action import Ref
from gate.flows import ask, decide, steer
from gate.flows.press import Press
from gate.talk import Incoming
from gate.world import Unavailable, World
from handlers import parse
from handlers.door import SECONDS, Outgoing
from handlers.home import home

log = logging.getLogger(__name__)


class Events:
    """The event handlers of one world. `bot_user` is our own Slack user."""

    def __init__(self, world: World, outgoing: Outgoing, bot_user: str) -> None:
        self._world = world
        self._outgoing = outgoing
        self._bot_user = bot_user

    async def inbox(
        self, body: Mapping[str, Any], next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        """Global middleware: keep a message, then let Slack hear 200; 503 makes Slack send it again."""
        if not parse.is_message(body):
            return await next()
        try:
            incoming = parse.incoming(body, self._bot_user, self._world.policy.listed_bots)
            if incoming is not None:
                async with asyncio.timeout(SECONDS):
                    await ask.receive(self._world, incoming)
        except parse.Malformed:
            log.warning("a malformed message event was dropped")
        except (Unavailable, TimeoutError) as error:
            log.warning("a message could not be kept, Slack has to send it again: %s", error)
            return BoltResponse(status=503, body="")
        except Exception:
            log.exception("a message could not be kept, Slack has to send it again")
            return BoltResponse(status=500, body="")
        return BoltResponse(status=200, body="")

    async def home(self, body: Mapping[str, Any]) -> None:
        """Publish App Home as it stands now. A failure is logged: opening it again tries again."""
        try:
            who = parse.opened(body)
            await self._outgoing.publish(who.user, await home(self._world, who.team, who.user))
        except (parse.Malformed, Unavailable) as error:
            log.warning("App Home could not be published: %s", error)
        except Exception:
            log.exception("App Home could not be published")

    async def stop(self, body: Mapping[str, Any]) -> None:
        """Slack's own Stop: what this person has waiting in the thread is cancelled, their task is stopped."""
        try:
            what = parse.stopped(body)
            team = what.session.team
            for action in await self._world.ledger.pending(team, user=what.user, session=what.session):
                ref = Ref(action.id, action.version, action.receipt[:16])
                await decide.cancel(self._world, Press(ref, team, what.user, reason="stopped"))
            await steer.stop(self._world, Incoming("", what.session, what.user, "stop", "", True))
        except (parse.Malformed, Unavailable) as error:
            log.warning("Stop could not be obeyed: %s", error)
        except Exception:
            log.exception("Stop could not be obeyed")
