"""What is kept beside actions and tasks: messages for people, where they stand, opened modals, leases, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gate.action import Action, Json, Session

PART = "part"  # the digest of an action that a card names without showing it whole: no yes counts there


@dataclass(frozen=True, slots=True)
class Happening:
    """Something that API clients may want to hear of: `steer_instruction`, `task_changed`, …"""

    kind: str
    session: Session
    task: str
    body: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Note:
    """A message for people that is no action's card: stored first, then posted once.

    kind: "text" {text} in a planner's words, "answer" {text} in ours, "read" {name, arguments, text, clipped,
    open_world, error}, "pending" {}, "undo" {},
    "audit" {count}, "help" {text}, "refused" {name, reasons}, "talk" {text, task}: words in a conversation with
    *Implement now* under them, "status" {task}, "grants" {void}: ids of those whose tool has changed.
    """

    id: str
    session: Session
    kind: str
    body: Mapping[str, Json]
    to: str = ""  # shown to this person alone; "" for the whole thread


@dataclass(frozen=True, slots=True)
class Sheet:
    """A modal that was really opened through Slack, for one person and one version."""

    view_id: str
    kind: str  # "typed", "edit", "reject", "full"
    user: str
    action: str
    version: int
    receipt: str


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """One line of the undo stack."""

    action: Action
    at: datetime
    kind: str
    undone: bool


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a message of ours stands, and which revision it shows."""

    channel: str
    ts: str
    revision: int
    digest: str = ""  # which version of an action people see there: "v2"; or PART
    at: datetime | None = field(default=None, compare=False)  # since when; the ledger sets it

    @property
    def shows(self) -> int:
        """The version that stands there; 0 when nothing is known to stand there yet."""
        version = self.digest.removeprefix("v")
        return int(version) if self.ts and version.isdigit() else 0


@dataclass(frozen=True, slots=True)
class Lease:
    """The chance to confirm: one record in Redis, with a time to live, without arguments."""

    action: str
    version: int
    receipt: str
    user: str
    session: str
    tool: str
    risk: str
    preview: str  # one line
    deadline: datetime
