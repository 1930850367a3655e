"""Early messages: a message written before a card was there decides nothing about what that card shows."""

from __future__ import annotations

from datetime import datetime

from gate.rules.action import Action
from gate.rules.events import open_request
from gate.rules.messages import ASKS, NOT_TAKEN
from gate.rules.planner_port import Incoming
from gate.rules.ports import Posted, World
from gate.rules.task import Task
from gate.rules.timestamps import is_later

LATEST = 50  # entries of the audit log in which a pause is looked for
PAUSE_ASKED = "task_pause_asked"
UNSEEN = "The card was not there yet when you wrote this. Please look at it and answer again."


async def is_early(world: World, incoming: Incoming, task: Task) -> bool:
    """Whether the card on which a task asks something now came to say so after the message, or is not known to stand
    there. A task that asks nothing has no such card."""
    since = await shown_since(world, task)
    return open_request(task) is not None and (not since or is_later(since, incoming.ts))


async def is_before_pause(world: World, incoming: Incoming, task: Task) -> bool:
    """Whether a message was written before somebody asked for the pause that has not come about yet, or it is not known
    when that was."""
    lines = await world.ledger.audit_tail(team=task.session.team, session=task.session, limit=LATEST)
    asked = (line.at for line in lines if line.entry.action == task.id and line.entry.event == PAUSE_ASKED)
    at = next(asked, None)
    return at is None or is_later(timestamp(at), incoming.ts)


async def shown_since(world: World, about: Action | Task) -> str:
    """Since when a card says what a task asks, or shows this version of an action, as one of Slack's timestamps; ""
    where none is known to."""
    kind, _ = open_request(about) or ("", 0) if isinstance(about, Task) else ("", 0)
    if kind == "satisfaction" and isinstance(about, Task):
        at = await _satisfaction_may_be_asked_since(world, about)
        return timestamp(at) if at else ""
    posted = await card_of(world, about)
    if posted is None or not posted.ts or posted.digest == NOT_TAKEN:
        return ""
    if isinstance(about, Action):
        return _version_shown_since(about, posted)
    # The card of questions only loses those that were answered; any other may come to ask for something else.
    return timestamp(posted.at) if posted.at and kind != "question" else posted.ts


async def card_of(world: World, about: Action | Task) -> Posted | None:
    """The card of an action, or that on which a task asks something now."""
    if isinstance(about, Action):
        return await world.ledger.posted(about.id)
    kind, number = open_request(about) or ("", 0)
    return await world.ledger.posted(f"{about.id}:{kind}:{number}")


async def satisfaction_asked_at(world: World, task: Task) -> datetime | None:
    """Since when people see that a task asks whether it was what they needed; None where that is not known. On the card
    of a change it comes to ask later than the change is made: a model may have last words."""
    shown = await world.ledger.posted(task.asked_on or f"{task.id}:satisfaction:{task.ends}")
    if shown is None or not shown.ts or shown.digest == NOT_TAKEN:
        return None
    return shown.at if not task.asked_on or shown.digest.endswith(ASKS) else None


async def _satisfaction_may_be_asked_since(world: World, task: Task) -> datetime | None:
    """The same; on the card of a change, from when the change was made: whoever thanks for it as soon as they see that
    may be quicker than what is noted of the card."""
    action = await world.ledger.action(task.asked_on) if task.asked_on else None
    if action is None:
        return await satisfaction_asked_at(world, task)
    return action.outcome.at if action.outcome else None


def is_early_vote(incoming: Incoming, action: Action, posted: Posted) -> bool:
    """Whether this version of an action was shown after the message, or is not known to be shown. A later version
    stands where the first was posted."""
    since = _version_shown_since(action, posted)
    return posted.shows != action.version or is_later(since, incoming.ts)


def _version_shown_since(action: Action, posted: Posted) -> str:
    return timestamp(posted.at) if posted.at and action.version > 1 else posted.ts


def timestamp(at: datetime) -> str:
    """A time as one of Slack's timestamps."""
    return f"{at.timestamp():.6f}"
