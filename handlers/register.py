"""Every listener, by the id it listens to: one each, and no catch-all."""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from gate.world import World
from handlers import parse
from handlers.buttons import Buttons
from handlers.commands import Commands
from handlers.door import Door, Outgoing
from handlers.events import Events
from handlers.modals import Modals
from handlers.task_buttons import TaskButtons
from handlers.task_modals import TaskModals
from views import modals


def register(app: AsyncApp, world: World, outgoing: Outgoing, bot_user: str) -> None:
    """Make `app` answer for this world."""
    door = Door(outgoing, world.ids.new)
    events = Events(world, outgoing, bot_user)
    app.use(events.inbox)
    app.event("app_home_opened")(events.home)
    app.event("agent_session_stopped")(events.stop)
    pressed = {**Buttons(world).all(), **TaskButtons(world).all()}
    for action_id, handler in pressed.items():
        app.action(action_id)(door.guard(parse.click, handler))
    windows = {**Modals(world).all(), **TaskModals(world).all()}
    for callback, submitted in windows.items():
        app.view(callback)(door.guard(parse.submission, submitted, modals.message))
    for command, called in Commands(world).all().items():
        app.command(command)(door.guard(parse.slash, called))
