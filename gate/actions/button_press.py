"""A press: somebody wants to do something with an action. What they sent, and what they are told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gate.actions.action_versions import audit_entry
from gate.rules.action import Action, Ref
from gate.rules.action_states import State
from gate.rules.audit import Entry
from gate.rules.permissions import Verb, may
from gate.rules.ports import Tx, World
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
class PressResult:
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


NOT_FOUND = "I do not know this action (any more). Ask again for what you need."
TAMPERED = (
    "What is stored of this is not as I wrote it, so I do nothing with it. Please tell your administrator."
)
OUTDATED = "This was changed since you saw it. Please look at the card as it stands now."


async def load_action(world: World, press: Press, verb: Verb) -> Action | PressResult:
    """The action, when it exists and this person may do this with it; else what to tell them."""
    action = await world.ledger.action(press.ref.id)
    if action is None or action.session.team != press.team:
        return PressResult(False, "gone", NOT_FOUND)
    ruling = may(world.policy, verb, action, await world.people.known(press.team, press.user))
    if not ruling.allowed:
        await record_refusal(world, action, press, verb, ruling.reason)
        return PressResult(False, "not_allowed", ruling.reason, action)
    return action


async def is_genuine_modal(world: World, press: Press | TaskPress, kind: str) -> bool:
    """Whether this modal of this kind was really opened through Slack, by this person, for this version."""
    sheet = await world.ledger.opened_modal(press.view)
    return (
        sheet is not None
        and (sheet.kind, sheet.user) == (kind, press.user)
        and Ref(sheet.action, sheet.version, sheet.receipt[:16]) == press.ref
    )


async def mark_message_handled(tx: Tx, press: Press | TaskPress) -> None:
    """A message has had its effect, so that it is not read once more: after a crash it would be taken to be about
    what came of it."""
    if press.message:
        await tx.finish_message(press.message)


async def record_refusal(world: World, action: Action, press: Press, verb: Verb, reason: str) -> None:
    """Put a refused press on the record."""
    async with world.ledger.begin(world.limits.decision) as tx:
        tx.audit(refusal_entry(action, press.user, verb, reason))


def refusal_entry(action: Action, user: str, verb: Verb, reason: str) -> Entry:
    """The record of somebody who may not do this."""
    return audit_entry("turned_away", action, user, outcome=verb.value, note=reason)


def already_decided(action: Action) -> PressResult:
    """The truth for someone who was not first."""
    return PressResult(False, "late", ALREADY_DECIDED[action.state](action), action)


def _decider(action: Action) -> str:
    return f" by <@{action.decided_by}>" if action.decided_by else ""


ALREADY_DECIDED: dict[State, Callable[[Action], str]] = {
    State.PREPARED: lambda a: OUTDATED,
    State.APPROVED: lambda a: f"This was already confirmed{_decider(a)}.",
    State.EXECUTING: lambda a: f"This was already confirmed{_decider(a)} and is running.",
    State.SUCCEEDED: lambda a: f"This was already confirmed{_decider(a)} and is done.",
    State.FAILED: lambda a: f"This was already confirmed{_decider(a)}; it failed.",
    State.UNKNOWN: lambda a: (
        f"This was already confirmed{_decider(a)}; nobody knows yet whether it happened."
    ),
    State.CANCELLED: lambda a: f"This was already cancelled{_decider(a)}. Nothing ran.",
    State.REJECTED: lambda a: f"This was already rejected{_decider(a)}. Nothing ran.",
    State.EXPIRED: lambda a: (
        "This expired before anyone confirmed it. Nothing ran; press *Ask again* for a fresh one."
    ),
    State.SUPERSEDED: lambda a: "Something else was asked for instead of this. Nothing ran.",
    State.UNDOING: lambda a: f"This was confirmed{_decider(a)} and is being undone.",
    State.UNDONE: lambda a: f"This was confirmed{_decider(a)} and undone since.",
}
