"""Registers every listener with Bolt by its id; handles messages (stored first), App Home opened, session stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from slack_bolt import BoltResponse
from slack_bolt.async_app import AsyncApp

from gate.actions import claim_click
from gate.actions.button_press import Press
from gate.rules.action import Ref, Session
from gate.rules.jobs import for_owner
from gate.rules.planner_port import Incoming
from gate.rules.ports import Unavailable, World
from gate.tasks import inbox, steer
from handlers.slack import payloads
from handlers.slack.buttons import Buttons
from handlers.slack.commands import Commands
from handlers.slack.home import HomeAfter, Pages, home
from handlers.slack.listener import TIMEOUT_SECONDS, ListenerFactory, Outgoing
from handlers.slack.lists_at_once import ListsAtOnce
from handlers.slack.modals import Modals
from handlers.slack.server_questions import ServerQuestions
from handlers.slack.task_buttons import TaskButtons
from handlers.slack.task_modals import TaskModals
from views import modals

log = logging.getLogger(__name__)


class Events:
    """The event handlers. `bot_user`: the app's own user id."""

    def __init__(self, world: World, outgoing: Outgoing, lists: ListsAtOnce, bot_user: str) -> None:
        self._world = world
        self._outgoing = outgoing
        self._lists = lists
        self._bot_user = bot_user

    async def receive_message(
        self, body: Mapping[str, Any], next: Callable[[], Awaitable[BoltResponse]]
    ) -> BoltResponse:
        """Global middleware: stores a message in the inbox, then answers 200; on errors 5xx, so Slack retries."""
        if not payloads.is_message(body):
            return await next()
        try:
            incoming = payloads.incoming(body, self._bot_user, self._world.policy.listed_bots)
            heard = None if incoming else payloads.of_other_app(body, self._bot_user)
            async with asyncio.timeout(TIMEOUT_SECONDS):
                if incoming is not None:
                    with for_owner(incoming.user):
                        await inbox.receive(self._world, incoming)
                elif heard is not None:
                    await inbox.overhear(self._world, heard)
        except payloads.Malformed:
            log.warning("a malformed message event was dropped")
        except (Unavailable, TimeoutError) as error:
            log.warning("a message could not be kept, Slack has to send it again: %s", error)
            return BoltResponse(status=503, body="")
        except Exception:
            log.exception("a message could not be kept, Slack has to send it again")
            return BoltResponse(status=500, body="")
        return BoltResponse(status=200, body="")

    async def home(self, body: Mapping[str, Any]) -> None:
        """Publishes the current App Home, unless it is being drawn for them. A failure is logged; opening it again
        retries."""
        try:
            event = payloads.home_opened(body)
            with for_owner(event.user), self._lists.for_person(event.user) as may:
                view = await home(self._world, event.team, event.user) if may else None
            if view is not None:
                await self._outgoing.publish(event.user, view)
        except (payloads.Malformed, Unavailable) as error:
            log.warning("App Home could not be published: %s", error)
        except Exception:
            log.exception("App Home could not be published")

    async def stop(self, body: Mapping[str, Any]) -> None:
        """Slack's Stop button: cancels this person's pending actions in the thread and stops their task."""
        try:
            event = payloads.session_stopped(body)
            with for_owner(event.user):
                await self._stopped(event.session, event.user)
        except (payloads.Malformed, Unavailable) as error:
            log.warning("Stop could not be obeyed: %s", error)
        except Exception:
            log.exception("Stop could not be obeyed")

    async def _stopped(self, session: Session, user: str) -> None:
        for action in await self._world.ledger.pending(session.team, user=user, session=session):
            ref = Ref(action.id, action.version, action.receipt[:16])
            await claim_click.cancel(self._world, Press(ref, session.team, user))
        await steer.stop(self._world, Incoming("", session, user, "stop", "", True))


def register(app: AsyncApp, world: World, outgoing: Outgoing, bot_user: str) -> None:
    """Registers the middleware and the listeners on `app`."""
    listeners = ListenerFactory(outgoing, world.ids.new, HomeAfter(world))
    lists = ListsAtOnce()
    events = Events(world, outgoing, lists, bot_user)
    app.use(events.receive_message)
    app.event("app_home_opened")(events.home)
    app.event("agent_session_stopped")(events.stop)
    asked = ServerQuestions(world)
    pages = {name: lists.bounded(turn) for name, turn in Pages(world).all().items()}
    pressed = {
        **Buttons(world).all(),
        **TaskButtons(world).all(),
        **pages,
        **asked.buttons(),
    }
    for action_id, handler in pressed.items():
        app.action(action_id)(listeners.listener(payloads.click, handler))
    windows = {**Modals(world).all(), **TaskModals(world).all(), **asked.modals()}
    for callback, submitted in windows.items():
        app.view(callback)(listeners.listener(payloads.submission, submitted, modals.message))
    for command, called in Commands(world).all().items():
        app.command(command)(listeners.listener(payloads.slash_command, lists.bounded(called)))
