"""The values everything is about: sessions, people, actions, previews, outcomes. Frozen, plain, storable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from gate.states import SETTLED, State

APART = ":apart"  # ends the group of an action that has left its card for one of its own

Json = Any  # a JSON value: None, bool, int, float, str, list, dict


class Class(StrEnum):
    """What a call does to the world; decides the first gate."""

    READ = "read"
    WRITE = "write"
    DESTRUCTIVE = "destructive"
    UNKNOWN = "unknown"


class Risk(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"


class Verdict(StrEnum):
    """What stands between a proposal and the tool."""

    RUN = "run"  # reading: at once
    CONFIRM = "confirm"  # a card with Confirm
    TYPED = "typed"  # a card with Review…, and a phrase to type
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Session:
    """One Slack thread: the unit of history and context."""

    team: str
    channel: str
    thread: str

    @property
    def key(self) -> str:
        return f"{self.team}:{self.channel}:{self.thread}"

    @classmethod
    def of(cls, key: str) -> Session:
        team, channel, thread = key.split(":", 2)
        return cls(team, channel, thread)


@dataclass(frozen=True, slots=True)
class Person:
    """What is known of a Slack account. `home` is the team of the account itself."""

    team: str  # the team of the session they act in
    id: str
    name: str = ""
    home: str = ""
    is_bot: bool = False
    is_guest: bool = False
    is_deleted: bool = False
    groups: frozenset[str] = frozenset()

    @property
    def is_stranger(self) -> bool:
        return self.home != self.team


@dataclass(frozen=True, slots=True)
class Approvers:
    """Who may decide besides, or instead of, the requester."""

    users: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    needed: int = 1  # distinct people; with named approvers the requester never counts

    @property
    def named(self) -> bool:
        return bool(self.users or self.groups)


@dataclass(frozen=True, slots=True)
class Fact:
    """One argument leaf as people see it: a path such as `to[0]`, and its value as text."""

    label: str
    value: str
    old: str | None = None  # the value before an edit, where it changed
    added: bool = False  # by the recipe, not by the proposal


@dataclass(frozen=True, slots=True)
class Affected:
    """One thing that an action touches."""

    name: str
    size: int | None = None  # bytes
    kind: str = ""
    modified: str = ""


@dataclass(frozen=True, slots=True)
class Preview:
    """What was shown. Built by code from the argument bytes and from reads, never from a model's words."""

    summary: str  # one line: "Move a.md to archive/a.md"
    verb: str  # names the submit button: "Delete"
    facts: tuple[Fact, ...]
    diff: str = ""
    affected: tuple[Affected, ...] = ()
    notifies: str = ""  # who else hears of it; "" when nobody is known to
    undo: str = ""  # "yes", "no" or "partly", with a word why: "yes: moves it back"
    recoverable: str = ""  # how long, where: "In the trash for 30 days"
    notes: tuple[str, ...] = ()  # warnings by code: "12 more", "contains invisible characters"
    prose: str = ""  # the proposer's own words, shown apart as unchecked
    problem: str = ""  # why no preview could be made: then nothing can be confirmed

    @property
    def whole(self) -> bool:
        return not self.problem


@dataclass(frozen=True, slots=True)
class Outcome:
    """What truly happened, as far as anyone knows."""

    kind: str  # "success", "error", "unknown", "not_sent"
    text: str = ""  # what the tool said, or what went wrong
    structured: Json = None
    took_ms: int = 0
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """What a person made of a result that was held for them."""

    by: str
    kept: bool  # whoever asked for the call gets it; else it is dropped
    revised: Json = None  # what they get in its place; None where it is as the tool gave it
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to call the tool, held by one executor for as long as it keeps renewing it."""

    token: str
    executor: str
    until: datetime


@dataclass(frozen=True, slots=True)
class Inverse:
    """The call that takes an action back, and how to see whether its target is as the action left it."""

    server: str
    tool: str
    args: bytes
    drift_tool: str = ""
    drift_args: bytes = b"{}"
    drift_same: Mapping[str, Json] = field(default_factory=dict)
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One proposed tool call and its life. Only `ledger` moves it, along the arrows of gate/states.py."""

    id: str
    version: int  # counts what was shown: an edit makes a new one and voids every vote
    revision: int  # counts every change of the row: what a card was drawn from
    state: State
    session: Session
    requester: str
    server: str
    tool: str
    args: bytes  # canonical JSON; what was shown and what will run
    cls: Class
    risk: Risk
    verdict: Verdict
    reason: str  # the policy's sentence
    rule: str  # the policy's rule
    policy: str  # the policy's version
    definition: str  # hash of the tool's definition
    approvers: Approvers
    always_gated: bool
    preview: Preview
    capture: Mapping[str, Json]
    receipt: str
    phrase: str  # what has to be typed; "" where nothing has to
    created_at: datetime
    expires_at: datetime
    turn: str = ""  # the planner's turn that proposed it
    call: int = 0  # its index there
    task: str = ""  # the task whose plan it is a step of; "" elsewhere
    step: str = ""
    group: str = ""  # the other calls of the same reply that a person is asked about, and it: see `shares`
    undoes: str = ""  # the action that this one takes back
    renews: str = ""  # the expired or drifted action that this one asks again
    decided_by: str = ""
    decision: str = ""  # the reason given with a rejection, or why it was cancelled
    claim: Claim | None = None
    outcome: Outcome | None = None
    inverse: Inverse | None = None
    undo_open: bool = False  # the undo bar is on the card
    private: bool = False
    tries: int = 0  # wrong phrases typed for this version
    edited_by: str = ""
    checkable: bool = False  # a read exists that shows whether it happened
    grant: str = ""  # the grant that it was approved by, where nobody was asked
    review: str = ""  # the operator's review that it waits for, by name; "" where none does
    proposed: str = ""  # the arguments before somebody edited them, as JSON; "" where nobody did
    held: str = ""  # the operator's review that its result waits for, by name; "" where none does (any more)
    judged: Judged | None = None  # what came of that review

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def shares(self) -> str:
        """The group whose card it stands on, with others; "" where it has a card of its own."""
        return "" if self.private or self.group.endswith(APART) else self.group

    @property
    def over(self) -> bool:
        """Whether nothing more comes of it: it may not run any more, and its result waits for nobody."""
        return self.state in SETTLED and not self.held

    @property
    def button(self) -> str:
        """What a button or a modal carries: id, version, and the beginning of the receipt. No facts."""
        return f"{self.id}.{self.version}.{self.receipt[:16]}"


@dataclass(frozen=True, slots=True)
class Ref:
    """What came back from a button."""

    id: str
    version: int
    receipt: str  # the first 16 characters

    @classmethod
    def parse(cls, value: str) -> Ref | None:
        """The parts of a button's value, or None when it is not one of ours."""
        parts = value.split(".")
        if len(parts) != 3 or not parts[1].isascii() or not parts[1].isdigit() or len(parts[1]) > 9:
            return None
        return cls(parts[0], int(parts[1]), parts[2])

    def fits(self, action: Action) -> bool:
        return (self.id, self.version, self.receipt) == (action.id, action.version, action.receipt[:16])


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's yes or no to one version."""

    action: str
    version: int
    person: str
    yes: bool
    at: datetime
    reason: str = ""
