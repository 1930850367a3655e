"""The request and response models of tasks and the audit log."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from gate.rules.events import RequestKind as Kind
from gate.rules.reviews import Phase
from gate.rules.settings import MIN_CONFIDENCE
from handlers.api.models import ID, ChannelId, In, Preview, Review, SessionId, Words

Number = Annotated[int, Field(ge=0, le=999_999_999, description="`asks.number` as the caller saw it")]
Said = Annotated[str, Field(min_length=1, max_length=4000)]


class CreateTask(In):
    """A request in words, as somebody would write it to the bot."""

    text: Said
    switches: dict[Annotated[str, Field(max_length=40)], str | bool | float] = Field(
        default_factory=dict,
        description="as in countersign.yaml: approval_mode, confidence (a number from 0.5 to 1), preset, review, …",
        max_length=20,
    )
    session_id: SessionId | None = None
    channel: ChannelId | None = None


class Instruct(In):
    """What is to be different from now on; taken in before the next step."""

    instruction: Said


class SetMode(In):
    """Who lets the task go on after each step."""

    approval_mode: Literal["auto", "manual", "confidence_threshold"]
    confidence: Annotated[float, Field(ge=MIN_CONFIDENCE, le=1, strict=False)] | None = Field(
        default=None, description="the threshold; without it, the one that the task has"
    )


class Change(In):
    """What somebody wants of one step that is left."""

    id: Annotated[str, Field(pattern=ID)]
    place: Annotated[int, Field(ge=1, le=1000)]
    drop: bool = False
    ask: bool = False
    note: Words = ""
    arguments: dict[str, Any] | None = None


class DecidePlan(In):
    """A decision on exactly the plan that was seen."""

    decision: Literal["approve_all", "step_by_step", "modify", "replan", "cancel"]
    number: Number
    seal: Annotated[str, Field(pattern=r"^([0-9a-f]{16,64})?$")] = Field(
        default="", description="`plan.seal`"
    )
    text: Words = Field(default="", description="why, for replan")
    changes: Annotated[list[Change], Field(max_length=100)] = Field(
        default_factory=list, description="for modify: all steps that are left, in their order"
    )


class Clarify(In):
    """Answers by question id; without any, go on with what is assumed."""

    number: Number
    answers: dict[Annotated[str, Field(max_length=64)], Words] = Field(default_factory=dict, max_length=20)


class GoOn(In):
    """How a paused task goes on."""

    number: Number
    how: Literal["continue", "retry", "skip"] = "continue"
    text: Words = Field(default="", description="taken in before the next step")


class Verdict(In):
    """Whether the result was what they needed."""

    number: Number
    verdict: Literal["done", "changes", "start_over"]
    text: Words = Field(default="", description="what should be different, for changes")


class Requirements(In):
    """Whether to build what was talked about."""

    number: Number
    decision: Literal["confirm", "keep_talking"]


class UndoTask(In):
    """Take back what the steps of the task did, last first."""

    number: Number


class ListTasks(In):
    after: Annotated[str, Field(pattern=ID)] | None = Field(
        default=None, description="`next` of the page before"
    )
    limit: Annotated[int, Field(ge=1, le=100)] = Field(default=20, strict=False)


class ListAudit(In):
    session_id: SessionId | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = Field(default=20, strict=False)


class Asks(BaseModel):
    """What waits for a person. `number` goes with the answer: an answer to an older one is refused."""

    kind: Kind
    number: int
    text: str


class Question(BaseModel):
    id: str
    text: str
    options: list[str]
    assumption: str = Field(description="what it goes on with when it is not answered")


class Step(BaseModel):
    id: str
    title: str
    tool: str
    arguments: dict[str, Any]
    state: str
    effect: str
    needs: str = Field(description="run, confirm or typed: what stands between it and its tool")
    approved: bool
    action_id: str | None
    problem: str
    result: str = Field(
        description="for an agent without what nobody has released yet, and what was changed as changed"
    )
    result_review: Review | None = Field(description="how the look at its result stands; null where none is")
    result_reviewed_by: str | None
    confidence: float | None = Field(description="in the result, from 0 to 1; null where nothing was changed")
    confidence_text: str = Field(description="the score with what it is made of: reasons, and who judged")
    preview: Preview | None


class Plan(BaseModel):
    version: int
    seal: str = Field(description="what a decision has to name; shown to people's tokens only")
    note: str = Field(description="the planner's own words, unchecked")
    answer: str = Field(description="what the model answered once all steps were over, unchecked")
    approved_by: str | None
    steps: list[Step]


class Instruction(BaseModel):
    user: str
    text: str
    at: datetime
    used: str


class Task(BaseModel):
    """What was asked for, and its life."""

    id: str
    revision: int
    state: str
    status: str = Field(
        description="PAUSED_FOR_REVIEW for a review; waiting_approval while an action, a plan or a question waits for "
        "a person; else the state"
    )
    paused_node_id: str | None = Field(
        description="what is reviewed, as /pending-review-detail/{id} names it"
    )
    paused_phase: Phase | None
    text: str
    switches: dict[str, str | bool | float] = Field(
        description="how it is handled, by the keys of CreateTask"
    )
    requester: str
    session_id: str
    created_at: datetime
    asks: Asks | None
    questions: list[Question]
    requirements: list[str]
    plan: Plan | None
    waiting: list[str] = Field(description="ids of its actions that wait for a person")
    instructions: list[Instruction]
    reason: str
    result: str
    ended_by: str | None


class TaskPage(BaseModel):
    tasks: list[Task]
    next: str | None


class Line(BaseModel):
    """One entry of the audit log."""

    seq: int
    at: datetime
    event: str
    session_id: str
    actor: str
    action_id: str
    tool: str
    version: int
    status: str | None
    outcome: str
    user_confirmed: bool
    execution_ms: int | None
    reason: str
    token_id: str | None = Field(description="of the API token that it came through")


class Audit(BaseModel):
    """Newest first."""

    lines: list[Line]
