"""What is kept beside actions and tasks: messages for people, where they stand, opened modals, leases, events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from gate.rules.action import OWN_CARD, Action, Json, Session

# Seconds until a card shows that something has begun; what is over before is not shown to run
PROGRESS_DELAY = 0.7
LATE, OVER = "late", "over"  # kinds of notes: something takes long; the message that said so goes
UNDECIDED = "undecided"  # the kind of a note that says why plain words decided nothing, so that they may be said again
EPHEMERAL = "only-visible-to-one"  # where a note stands that Slack showed to one person, and did not say when
NOT_TAKEN = "not taken"  # the digest of a card that Slack did not take: nobody has seen what it asks
ASKS = ":asks"  # ends the digest of an action on whose card its task asks whether that was what they needed
PART = "part"  # the digest of an action that a card names without showing it whole: no yes counts there


class CardKind(StrEnum):
    """What a message of ours is about."""

    ACTION = "action"
    GROUP = "group"  # the actions that share a card
    TASK = "task"  # all the cards of a task
    NOTE = "note"
    QUESTION = "question"  # of a server, in the middle of a call


@dataclass(frozen=True, slots=True)
class CardKey:
    """Names what is to be brought up to date in Slack. `id`: of the action, group, task, note or question."""

    kind: CardKind
    id: str


def cards_of(action: Action) -> tuple[CardKey, ...]:
    """The cards that an action is on: its own, or that of its group; both where it has left that one."""
    if action.shares:
        return (CardKey(CardKind.GROUP, action.shares),)
    own = CardKey(CardKind.ACTION, action.id)
    if action.group.endswith(OWN_CARD):
        return own, CardKey(CardKind.GROUP, action.group.removesuffix(OWN_CARD))
    return (own,)


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """Something that API clients may want to hear of: `steer_instruction`, `task_changed`, …"""

    kind: str
    session: Session
    task: str
    body: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Note:
    """A message for people that is no action's card: stored first, then posted once.

    kind: "text" {text} in a planner's words, "answer" {text} in ours, "undecided" {text}, "late" {text}, which goes
    with "over" {of}, "read" {name, arguments, text, clipped, open_world, error}, "pending" {}, "undo" {},
    "audit" {count}, "help" {text}, "refused" {name, reasons}, "talk" {text, task}: words in a conversation with
    *Implement now* under them, "status" {task}, "grants" {void}: ids of those whose tool has changed, "news" {title,
    lines, end}: what has changed since an action, and why no more is told.
    """

    id: str
    session: Session
    kind: str
    body: Mapping[str, Json]
    to: str = ""  # shown to this person alone; "" for the whole thread


@dataclass(frozen=True, slots=True)
class OpenedModal:
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
    """Where a message of ours stands, and which revision it shows. Without a `ts`, nothing is known to stand there."""

    channel: str
    ts: str
    revision: int
    digest: str = ""  # which version of an action people see there: "v2", with ASKS; or PART, NOT_TAKEN
    at: datetime | None = field(default=None, compare=False)  # since when; the ledger sets it
    # How many draws of it have begun since one ended; the ledger sets it. More than one: it may have been posted.
    tries: int = field(default=0, compare=False)

    @property
    def untried(self) -> bool:
        """Whether nobody can have posted it yet: it was asked for, and its first draw has begun."""
        return not self.ts and not self.channel and self.tries <= 1

    @property
    def shows(self) -> int:
        """The version that stands there; 0 when nothing is known to stand there yet."""
        version = self.digest.removeprefix("v").removesuffix(ASKS)
        return int(version) if self.ts and version.isdigit() else 0


def hint_key(user: str, channel: str, thread: str, ts: str = "") -> str:
    """The key under which it is kept that this person alone was told something in a thread, after a click of theirs;
    without `ts`, what all of them begin with."""
    return f"hint:{user}:{channel}:{thread}:{ts}"


def permalink(address: str, session: Session, channel: str = "", ts: str = "") -> str:
    """The address of the message at `ts` in a channel, or of the root of the thread; "" where `address`, that of the
    Slack workspace, is not known. Slack would tell it, too (chat.getPermalink), at a request for each message."""
    channel, ts = channel or session.channel, ts or session.thread
    if not (address and ts):
        return ""
    inside = channel == session.channel and session.thread not in ("", ts)
    thread = f"?thread_ts={session.thread}&cid={channel}" if inside else ""
    return f"{address.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}{thread}"


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
