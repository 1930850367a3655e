"""A press: somebody wants to do something with an action. What they sent, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gate.actions.versioning import entry
from gate.rules.action import Action, Ref
from gate.rules.audit import Entry
from gate.rules.permissions import Verb, may
from gate.rules.ports import Tx, World
from gate.rules.states import State
from gate.rules.task import Task


@dataclass(frozen=True, slots=True)
class Press:
    """Identity from the signed payload, and what the button or modal carried."""

    ref: Ref
    team: str
    user: str
    message_ts: str = ""  # of the card that was pressed; "" from a list, a modal, a thread or the API
    view: str = ""  # the modal's id
    typed: str | None = None
    reason: str = ""
    message: str = ""  # the key of the message that says it, where it is no button


@dataclass(frozen=True, slots=True)
class Said:
    """What came of a press. `text` is a sentence for the person who pressed; "" when the card says it all."""

    ok: bool
    code: str
    text: str = ""
    action: Action | None = None
    task: Task | None = None
    step: str = ""  # the id of the step that a refused change of a plan is about


@dataclass(frozen=True, slots=True)
class TaskPress:
    """A button or a modal of a task's card. `ref.version` is the number of that card: the plan's version, or the
    task's `asked`, `pauses` or `ends`; `ref.receipt` the beginning of the plan's seal, "" elsewhere."""

    ref: Ref
    team: str
    user: str
    view: str = ""  # the modal's id
    text: str = ""  # what was typed: feedback, a reason, an instruction
    values: Mapping[str, str] = field(default_factory=dict)  # answers by question id
    message: str = ""  # the key of the message that says it, where it is no button


GONE = "I do not know this action (any more). Ask again for what you need."
ALTERED = (
    "What is stored of this is not as I wrote it, so I do nothing with it. Please tell your administrator."
)
OLD = "This was changed since you saw it. Please look at the card as it stands now."


async def standing(world: World, press: Press, verb: Verb) -> Action | Said:
    """The action, when it exists and this person may do this with it; else what to tell them."""
    action = await world.ledger.action(press.ref.id)
    if action is None or action.session.team != press.team:
        return Said(False, "gone", GONE)
    ruling = may(world.policy, verb, action, await world.people.known(press.team, press.user))
    if not ruling.allowed:
        await turned_away(world, action, press, verb, ruling.reason)
        return Said(False, "not_allowed", ruling.reason, action)
    return action


async def opened(world: World, press: Press | TaskPress, kind: str) -> bool:
    """Whether this modal of this kind was really opened through Slack, by this person, for this version."""
    sheet = await world.ledger.sheet(press.view)
    return (
        sheet is not None
        and (sheet.kind, sheet.user) == (kind, press.user)
        and Ref(sheet.action, sheet.version, sheet.receipt[:16]) == press.ref
    )


async def heeded(tx: Tx, press: Press | TaskPress) -> None:
    """A message has had its effect, so that it is not read once more: after a crash it would be taken to be about
    what came of it."""
    if press.message:
        await tx.done_with(press.message)


async def turned_away(world: World, action: Action, press: Press, verb: Verb, reason: str) -> None:
    """Put a refused press on the record."""
    async with world.ledger.begin(world.limits.decision) as tx:
        tx.audit(refused(action, press.user, verb, reason))


def refused(action: Action, user: str, verb: Verb, reason: str) -> Entry:
    """The record of somebody who may not do this."""
    return entry("turned_away", action, user, outcome=verb.value, reason=reason)


def late(action: Action) -> Said:
    """The truth for someone who was not first."""
    return Said(False, "late", LATE[action.state](action), action)


def _by(action: Action) -> str:
    return f" by <@{action.decided_by}>" if action.decided_by else ""


LATE: dict[State, Callable[[Action], str]] = {
    State.PREPARED: lambda a: OLD,
    State.APPROVED: lambda a: f"This was already confirmed{_by(a)}.",
    State.EXECUTING: lambda a: f"This was already confirmed{_by(a)} and is running.",
    State.SUCCEEDED: lambda a: f"This was already confirmed{_by(a)} and is done.",
    State.FAILED: lambda a: f"This was already confirmed{_by(a)}; it failed.",
    State.UNKNOWN: lambda a: f"This was already confirmed{_by(a)}; nobody knows yet whether it happened.",
    State.CANCELLED: lambda a: f"This was already cancelled{_by(a)}. Nothing ran.",
    State.REJECTED: lambda a: f"This was already rejected{_by(a)}. Nothing ran.",
    State.EXPIRED: lambda a: (
        "This expired before anyone confirmed it. Nothing ran; press *Ask again* for a fresh one."
    ),
    State.SUPERSEDED: lambda a: "Something else was asked for instead of this. Nothing ran.",
    State.UNDOING: lambda a: f"This was confirmed{_by(a)} and is being undone.",
    State.UNDONE: lambda a: f"This was confirmed{_by(a)} and undone since.",
}
