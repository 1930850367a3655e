"""Registers every listener with Bolt, each by its id; there is no catch-all."""

from __future__ import annotations

from functools import partial

from slack_bolt.async_app import AsyncApp

from gate.rules.ports import World
from handlers.slack import payloads
from handlers.slack.buttons import Buttons
from handlers.slack.commands import Commands
from handlers.slack.events import Events
from handlers.slack.home import Pages, home_after
from handlers.slack.listener import ListenerFactory, Outgoing
from handlers.slack.modals import Modals
from handlers.slack.server_questions import ServerQuestions
from handlers.slack.task_buttons import TaskButtons
from handlers.slack.task_modals import TaskModals
from views import modals


def register(app: AsyncApp, world: World, outgoing: Outgoing, bot_user: str) -> None:
    """Registers the middleware and the listeners on `app`."""
    listeners = ListenerFactory(outgoing, world.ids.new, partial(home_after, world))
    events = Events(world, outgoing, bot_user)
    app.use(events.receive_message)
    app.event("app_home_opened")(events.home)
    app.event("agent_session_stopped")(events.stop)
    asked = ServerQuestions(world)
    pressed = {
        **Buttons(world).all(),
        **TaskButtons(world).all(),
        **Pages(world).all(),
        **asked.buttons(),
    }
    for action_id, handler in pressed.items():
        app.action(action_id)(listeners.listener(payloads.click, handler))
    windows = {**Modals(world).all(), **TaskModals(world).all(), **asked.modals()}
    for callback, submitted in windows.items():
        app.view(callback)(listeners.listener(payloads.submission, submitted, modals.message))
    for command, called in Commands(world).all().items():
        app.command(command)(listeners.listener(payloads.slash_command, called))
