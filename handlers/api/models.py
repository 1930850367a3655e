"""The request and response models of actions, reviews and webhooks. Requests are validated strictly."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gate.rules.events import EventKind
from gate.rules.reviews import Phase
from gate.rules.url_guard import MOST as MAX_URL

ID = r"^[A-Za-z0-9]{1,64}$"
Tool = Annotated[str, Field(pattern=r"^[^.\s]{1,64}\.\S{1,128}$", description="SERVER.TOOL")]
SessionId = Annotated[
    str,
    Field(
        pattern=r"^[A-Z0-9_]{1,32}:[A-Z0-9_]{1,32}:[0-9]{1,12}\.[0-9]{1,6}$",
        description="team:channel:thread_ts of a Slack thread; without it, a thread is opened",
    ),
]
ChannelId = Annotated[str, Field(pattern=r"^[A-Z0-9_]{1,32}$", description="one of the token's channels")]
Words = Annotated[str, Field(max_length=4000)]
Id = Annotated[str, Field(pattern=ID)]
Node = Annotated[str, Field(min_length=1, max_length=64, description="the step; outside of plans the action")]


class In(BaseModel):
    """What a client sends: nothing unknown, nothing bent into shape."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Nothing(In):
    """An empty object; the body may also be left out."""


class Propose(In):
    """A call that somebody is asked about before it runs; a call that only reads runs at once."""

    tool: Tool
    arguments: dict[str, Any] = Field(description="by the tool's schema; 64 KiB and 32 levels at most")
    risk_level: Literal["low", "medium", "high", "critical"] = Field(
        default="low", description="may raise the risk, never lower it"
    )
    why: Annotated[str, Field(max_length=1000)] = Field(
        default="", description="the proposer's own words, shown as unchecked"
    )
    session_id: SessionId | None = None
    channel: ChannelId | None = None


class Seen(In):
    """Exactly what the caller saw and means: anything else is refused."""

    version: Annotated[int, Field(ge=1, le=999_999_999)]
    receipt: Annotated[
        str, Field(pattern=r"^[0-9a-f]{16,64}$", description="at least its first 16 characters")
    ]


class Confirm(Seen):
    """A yes to the version that was seen."""

    phrase: Annotated[str, Field(max_length=400)] | None = Field(
        default=None, description="typed by a person, where the action asks for it"
    )
    wait: Annotated[float, Field(ge=0, le=30)] = Field(
        default=0, description="seconds to wait for the call's end", strict=False
    )


class Edit(Seen):
    """Other arguments: a new version, which has to be looked at and confirmed anew."""

    arguments: dict[str, Any]


class Cancel(In):
    """Withdraw what has not started, in whatever version."""

    reason: Annotated[str, Field(max_length=500)] = ""


class Reject(Seen):
    """A no, with its reason."""

    reason: Annotated[str, Field(min_length=1, max_length=500)]


class Settle(In):
    """What became of an action whose outcome nobody knows."""

    happened: bool


class ListActions(In):
    """Which actions to list."""

    state: Literal["pending", "all"] = "pending"
    session_id: SessionId | None = None
    after: Annotated[str, Field(pattern=ID)] | None = Field(
        default=None, description="`next` of the page before"
    )
    limit: Annotated[int, Field(ge=1, le=100)] = Field(default=20, strict=False)


class Fact(BaseModel):
    label: str
    value: str
    old: str | None = Field(description="before an edit, where it changed")


class Affected(BaseModel):
    name: str
    size: int | None = Field(description="bytes")
    kind: str
    modified: str


class Preview(BaseModel):
    """What the call would change, made by code; the same facts as on the card. `text` says all of it in words."""

    summary: str
    facts: list[Fact]
    diff: str
    affected: list[Affected]
    notifies: str
    undo: str
    recoverable: str
    notes: list[str]
    unchecked: str = Field(description="the proposer's own words")
    problem: str = Field(description="why there is no preview: then nothing can be confirmed")
    text: str
    left_out: int = Field(description="facts and affected things that a list does not tell; 0 of one alone")


class Outcome(BaseModel):
    status: Literal["success", "error", "unknown", "not_sent"]
    text: str
    result: Any = None
    execution_time: float = Field(description="seconds")
    at: datetime | None


Review = Literal["waiting", "released", "edited", "rejected", "dropped"]  # dropped: never released


class Action(BaseModel):
    """One proposed call and its life."""

    id: str
    version: int
    receipt: str = Field(description="what a decision has to name; shown to people's tokens only")
    state: str
    status: Literal["pending", "executing", "PAUSED_FOR_REVIEW", "success", "error", "unknown", "cancelled"]
    tool: str
    arguments: dict[str, Any]
    risk_level: str
    effect: str = Field(description="read, write, destructive or unknown")
    reason: str = Field(description="the policy's sentence")
    needs_phrase: bool
    phrase: str = Field(description="what has to be typed; shown to people's tokens only")
    deciders: str = Field(description="who may confirm it, in words")
    preview: Preview
    requester: str
    session_id: str
    task_id: str | None
    step_id: str | None
    created_at: datetime
    expires_at: datetime
    decided_by: str | None
    decision: str
    outcome: Outcome | None = Field(
        description="where its result is reviewed: without it until it is released, and where it is rejected"
    )
    result_review: Review | None = Field(
        description="how the review of its result stands: see /pending-review; of a step's, where an agent asks"
    )
    result_reviewed_by: str | None
    paused_node_id: str | None = Field(
        description="what is reviewed: see /pending-review; null for no review"
    )
    paused_phase: Phase | None
    can_undo: bool


class Page(BaseModel):
    actions: list[Action]
    next: str | None = Field(
        description="give it as `after` for the next page; null on the last. Large actions fill a page before `limit`"
    )


class Answered(BaseModel):
    """A call that only reads: it ran at once."""

    status: Literal["success", "error"]
    tool: str
    result: Any = None


class Proposed(BaseModel):
    """Either an action that waits for a person, or the answer of a call that only reads."""

    action: Action | None = None
    answer: Answered | None = None


class AddWebhook(In):
    """Who is told, and of what: without channels or kinds of all that the token may see."""

    url: Annotated[
        str, Field(min_length=1, max_length=MAX_URL, description="https, port 443, on the open internet")
    ]
    channels: Annotated[list[ChannelId], Field(max_length=20)] = Field(
        default_factory=list, description="only of these channels"
    )
    kinds: Annotated[list[EventKind], Field(max_length=20)] = Field(
        default_factory=list, description="only events of these kinds"
    )


class Webhook(BaseModel):
    """A webhook, with what came of its last delivery."""

    id: str
    url: str
    channels: list[str]
    kinds: list[str]
    token_id: str | None = Field(
        description="that it was made with, and ends with; null for the operator's own"
    )
    created_at: datetime
    state: Literal["ok", "failing", "disabled", "token_over"]
    problem: str
    secret: str | None = Field(default=None, description="by it the receiver knows us; said once")


class WebhookList(BaseModel):
    webhooks: list[Webhook]


class Resume(In):
    """A decision on what is paused for review, by the version that was seen."""

    execution_id: Id
    node_id: Node
    version: Annotated[int, Field(ge=1, le=999_999_999, description="of the review as it was listed")]
    decision: Literal["APPROVE", "REJECT"]
    edited: dict[str, Any] | None = Field(
        default=None, description="with APPROVE: other inputs, which are shown anew first; or other outputs"
    )
    comment: Annotated[str, Field(max_length=500)] = ""
    phrase: Annotated[str, Field(max_length=400)] | None = Field(
        default=None, description="typed by a person, where what runs asks for it"
    )


class Resumed(BaseModel):
    """What came of a decision: `edited` and `voted` are still paused."""

    code: str
    execution_id: str


class ListReviews(In):
    """Which decisions to list: of one execution, the oldest first; else the newest by the token's person."""

    execution_id: Id | None = None
    before: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        default=None, strict=False, description="the id of the last one of the page before"
    )
    after: Annotated[int, Field(ge=1, le=2**53)] | None = Field(
        default=None, strict=False, description="of one execution: `next` of the page before"
    )


class Pending(BaseModel):
    """What is paused for review, in short."""

    execution_id: str
    node_id: str
    trigger_phase: str = Field(description="BEFORE_EXECUTION or AFTER_EXECUTION")
    version: int = Field(description="what a decision has to name")
    session_id: str
    requester: str
    tool: str
    title: str


class PendingList(BaseModel):
    reviews: list[Pending]


class Detail(Pending):
    """With all that is under review."""

    data: Any = Field(description="the inputs, or the outputs")


class Record(BaseModel):
    """A decision as it was written down, for good."""

    id: int
    execution_id: str
    node_id: str
    reviewer_id: str
    decision: str
    trigger_phase: str
    original_data: Any = Field(description="null for an agent where a person kept the outputs from it")
    modified_data: Any
    comment: str
    reviewed_at: datetime


class History(BaseModel):
    reviews: list[Record]
    next: int | None = Field(
        default=None,
        description="of one execution: give it back as `after` to read on; null: there are no more",
    )
