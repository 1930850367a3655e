"""What goes in and out about reviews: docs/promises.md REVIEW-19 to REVIEW-22."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from handlers.api.models import ID, In

Id = Annotated[str, Field(pattern=ID)]
Node = Annotated[str, Field(min_length=1, max_length=64, description="the step; outside of plans the action")]


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
