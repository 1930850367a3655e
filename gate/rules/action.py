"""The values everything is about: sessions, people, actions, previews, outcomes. Frozen, plain, storable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from gate.rules.action_states import SETTLED, State
from gate.rules.approvers import Approvers

# Of a row: written by a version without MACs; not as it was written.
EARLIER, ALTERED = "earlier", "altered"
OWN_CARD = ":apart"  # ends the group of an action that has left its card for one of its own

Json = Any  # a JSON value: None, bool, int, float, str, list, dict


class CallClass(StrEnum):
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
class Fact:
    """One argument leaf as people see it: a path such as `to[0]`, and its value as text."""

    label: str
    value: str
    old: str | None = None  # the value before an edit, where it changed
    added: bool = False  # by the recipe, not by the proposal
    named: bool = (
        False  # the template of the first line, or of what is affected, names it: it stands there by itself
    )


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
    problem: str = ""  # why no preview could be made: then nothing can be confirmed
    compared: str = ""  # the arguments of which `diff` shows all, such as a new text beside what is there

    @property
    def is_complete(self) -> bool:
        return not self.problem


@dataclass(frozen=True, slots=True)
class Outcome:
    """What truly happened, as far as anyone knows."""

    kind: str  # "success", "error", "unknown", "not_sent"
    text: str = ""  # what the tool said, or what went wrong
    structured: Json = None
    took_ms: int = 0  # 0: nobody saw the call end
    at: datetime | None = None


def milliseconds(started: datetime, ended: datetime) -> int:
    """How long a call took: 1 at least, also by a clock that was put back."""
    return max(1, round((ended - started).total_seconds() * 1000))


@dataclass(frozen=True, slots=True)
class ResultDecision:
    """What a person made of a result that was held for them."""

    by: str
    kept: bool  # whoever asked for the call gets it; else it is dropped
    revised: Json = None  # what they get in its place; None where it is as the tool gave it
    comment: str = ""
    private: bool = False  # by the rules of then


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


@dataclass(frozen=True, slots=True)
class Decision:
    """What the policy says of a call: what stands between it and its tool, and why."""

    verdict: Verdict
    cls: CallClass
    risk: Risk
    reason: str  # a sentence
    rule: str
    approvers: Approvers = Approvers()
    always_gated: bool = False
    ttl: float | None = None  # seconds that the card waits; None: as configured
    private: bool = False
    secret: bool = False  # what it touches is shown to nobody without a typed phrase
    reads: bool = False  # but for that, it only reads


FOUND_CHANGED = "found_changed"  # in the capture of an undo: the changed target that a person was asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What led to an action, and what it is part of."""

    turn: str = ""  # the planner's turn that proposed it
    call: int = 0  # its index there
    task: str = ""  # the task whose plan it is a step of; "" elsewhere
    step: str = ""
    group: str = ""  # it and the other calls of its reply that a person is asked about: see `Action.shares`
    undoes: str = ""  # the action that this one takes back
    renews: str = ""  # the expired or drifted action that this one asks again


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a proposal comes from. Each further version takes it over."""

    at: datetime  # when the target was looked at; its time to live begins then
    prose: str = ""  # the proposer's own words, shown apart as unchecked
    review: str = ""  # the operator's review that it waits for, by name; "" where none does
    again: str = ""  # why it is asked although somebody has said yes before; "" where nobody has
    assumed: tuple[str, ...] = ()  # what its planner went on with instead of asking
    edited_by: str = ""
    proposed: str = ""  # the arguments before somebody edited them, as JSON; "" where nobody did
    instructed: frozenset[str] = frozenset()  # who besides the requester had said what is to be done


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """All that one version of an action shows and is decided on. An edit makes a new one; the receipt covers it all."""

    server: str
    tool: str
    definition: str  # hash of the tool's definition
    args: bytes  # canonical JSON; what was shown and what will run
    capture: Mapping[str, Json]
    preview: Preview
    decision: Decision
    policy: str  # the policy's version
    source: Source
    expires_at: datetime
    phrase: str = ""  # what has to be typed; "" where nothing has to


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """How the question whether one version may run was answered."""

    by: str = ""
    reason: str = ""  # given with a rejection, or why it was cancelled
    own: bool = False  # the reason is a sentence of ours; with `by`, one that “by @ann.” ends
    token: str = ""  # the id of the API token that it came through: an agent's is recorded under its person
    grant: str = ""  # the grant that it was approved by, where nobody was asked
    tries: int = 0  # wrong phrases typed


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    claim: Claim | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultReview:
    """The look at what a call gave, before whoever asked for it gets that."""

    awaits: str = ""  # the operator's review that the result waits for, by name; "" where none does
    judged: ResultDecision | None = None  # what came of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Undo:
    inverse: Inverse | None = None
    open: bool = False  # the result card has Undo
    by: str = ""  # who took it back; "" where nobody did


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One proposed tool call and its life. Only the ledger moves it, along the arrows of gate/rules/action_states.py.
    Its parts are replaced as a whole."""

    id: str
    version: int  # counts what was shown: an edit makes a new one and voids every vote
    revision: int  # counts every change of the row: what a card was drawn from
    state: State
    session: Session
    requester: str
    created_at: datetime
    origin: Origin
    proposal: Proposal
    receipt: str
    resolution: Resolution = Resolution()
    execution: Execution = Execution()
    result_review: ResultReview = ResultReview()
    undo: Undo = Undo()
    flaw: str = field(default="", compare=False)  # EARLIER or ALTERED, set by the ledger: another wrote it

    @property
    def name(self) -> str:
        return f"{self.server}.{self.tool}"

    @property
    def shares(self) -> str:
        """The group whose card it stands on, with others; "" where it has a card of its own."""
        return "" if self.private or self.group.endswith(OWN_CARD) else self.group

    @property
    def is_finished(self) -> bool:
        """Whether nothing more comes of it: it may not run any more, and its result waits for nobody."""
        return self.state in SETTLED and not self.under_review

    @property
    def button(self) -> str:
        """What a button or a modal carries: id, version, and the beginning of the receipt. No facts."""
        return f"{self.id}.{self.version}.{self.receipt[:16]}"

    # What many places read of its parts.

    @property
    def server(self) -> str:
        return self.proposal.server

    @property
    def tool(self) -> str:
        return self.proposal.tool

    @property
    def definition(self) -> str:
        return self.proposal.definition

    @property
    def args(self) -> bytes:
        return self.proposal.args

    @property
    def capture(self) -> Mapping[str, Json]:
        return self.proposal.capture

    @property
    def preview(self) -> Preview:
        return self.proposal.preview

    @property
    def expires_at(self) -> datetime:
        return self.proposal.expires_at

    @property
    def phrase(self) -> str:
        return self.proposal.phrase

    @property
    def checkable(self) -> bool:
        """Whether there is a read that shows whether it happened: what it read before is shown beside."""
        return bool(self.proposal.capture.keys() - {FOUND_CHANGED})

    @property
    def verdict(self) -> Verdict:
        return self.proposal.decision.verdict

    @property
    def cls(self) -> CallClass:
        return self.proposal.decision.cls

    @property
    def risk(self) -> Risk:
        return self.proposal.decision.risk

    @property
    def reason(self) -> str:
        return self.proposal.decision.reason

    @property
    def approvers(self) -> Approvers:
        return self.proposal.decision.approvers

    @property
    def always_gated(self) -> bool:
        return self.proposal.decision.always_gated

    @property
    def private(self) -> bool:
        return self.proposal.decision.private or (self.judged is not None and self.judged.private)

    @property
    def prose(self) -> str:
        return self.proposal.source.prose

    @property
    def review(self) -> str:
        return self.proposal.source.review

    @property
    def edited_by(self) -> str:
        return self.proposal.source.edited_by

    @property
    def proposed(self) -> str:
        return self.proposal.source.proposed

    @property
    def turn(self) -> str:
        return self.origin.turn

    @property
    def call(self) -> int:
        return self.origin.call

    @property
    def task(self) -> str:
        return self.origin.task

    @property
    def step(self) -> str:
        return self.origin.step

    @property
    def group(self) -> str:
        return self.origin.group

    @property
    def undoes(self) -> str:
        return self.origin.undoes

    @property
    def renews(self) -> str:
        return self.origin.renews

    @property
    def decided_by(self) -> str:
        return self.resolution.by

    @property
    def decision(self) -> str:
        return self.resolution.reason

    @property
    def grant(self) -> str:
        return self.resolution.grant

    @property
    def tries(self) -> int:
        return self.resolution.tries

    @property
    def claim(self) -> Claim | None:
        return self.execution.claim

    @property
    def outcome(self) -> Outcome | None:
        return self.execution.outcome

    @property
    def under_review(self) -> str:
        return self.result_review.awaits

    @property
    def judged(self) -> ResultDecision | None:
        return self.result_review.judged

    @property
    def inverse(self) -> Inverse | None:
        return self.undo.inverse

    @property
    def undo_open(self) -> bool:
        return self.undo.open


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
