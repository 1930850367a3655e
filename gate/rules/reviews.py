"""Reviews: where a person looks at a step before or after it runs, what they decided, and what waits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Protocol

from gate.rules.action import Action, CallClass, Json, Outcome, Session
from gate.rules.canonical_json import BadArguments, parse
from gate.rules.messages import LedgerEvent
from gate.rules.receipt import receipt
from gate.rules.steps import PRIVATE
from gate.rules.task import Step, StepReview, StepState, Task, clipped

COMMENT = 500  # characters kept of a comment, docs/promises.md REVIEW-08


class Phase(StrEnum):
    """Before or after the call (docs/promises.md REVIEW-02)."""

    BEFORE = "BEFORE_EXECUTION"  # edits change what the step is given
    AFTER = "AFTER_EXECUTION"  # edits change what later steps may use of it


class ReviewDecision(StrEnum):
    APPROVE = "APPROVE"
    REJECT = "REJECT"


@dataclass(frozen=True, slots=True)
class Review:
    """One entry of the operator's `reviews` (docs/promises.md REVIEW-03). It can only make stricter."""

    name: str
    trigger_phase: Phase
    enabled: bool = True
    tools: tuple[str, ...] = ("*",)  # patterns on "server.tool"
    steps: tuple[str, ...] = ("*",)  # patterns on a step's id or title; "*" holds outside of plans, too

    def holds(self, phase: Phase, full_name: str, step: Sequence[str] = ()) -> bool:
        """Whether this call waits in this phase. `step`: the id and title of its step, where it is one."""
        if not self.enabled or phase is not self.trigger_phase:
            return False
        named = any(fnmatchcase(full_name, pattern) for pattern in self.tools)
        return named and any(fnmatchcase(one, pattern) for one in step or ("",) for pattern in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRecord:
    """One decision of one person, in the ten fields of docs/promises.md REVIEW-08. Written once, never changed."""

    id: int = 0  # the ledger gives it
    execution_id: str  # the task; for a call outside of plans its action
    node_id: str  # the step; for a call outside of plans its action
    reviewer_id: str  # a Slack user id
    decision: ReviewDecision
    trigger_phase: Phase
    original_data: Json  # what the step was to be given, or what it gave
    modified_data: Json = None  # the same as the reviewer made it; None where they changed nothing
    comment: str = ""
    reviewed_at: datetime


@dataclass(frozen=True, slots=True)
class PendingReview:
    """One line of the list of what is paused for review."""

    key: str  # the id of the task or action that waits
    execution: str
    node: str
    phase: Phase
    version: int  # what a decision has to name: see `version_before`; after a step the number of the pause
    revision: int  # of the task or action it was made from
    session: Session
    requester: str
    tool: str
    title: str  # in a line
    private: bool = False  # for the requester alone


def matched_names(step: Step) -> tuple[str, ...]:
    """What a review may call a step; nothing where nobody was shown a plan."""
    return () if step.origin else (step.id, step.title)


def edited(step: Step, reviewer: str, result: Json) -> Step:
    """The step with what a reviewer made of its result, in place of it: later steps are not told of the true one."""
    look = replace(step.look or StepReview(0), by=reviewer, edited=True)
    told = PRIVATE if step.is_private else clipped(json.dumps(result, ensure_ascii=False))
    return replace(step, look=look, output=replace(step.output, text=told, result=result))


def dropped(step: Step, reviewer: str, text: str) -> Step:
    """The step, failed, with its result rejected: nothing after it can use what it gave, though it ran."""
    look = replace(step.look or StepReview(0), by=reviewer)
    output = replace(step.output, text=text, result=None)
    return replace(step, state=StepState.FAILED, look=look, output=output)


def undoable(step: Step) -> bool:
    """Whether a step has changed something that was said to have a way back."""
    way_back = step.preview.undo if step.preview else ""
    return (
        step.cls is not CallClass.READ
        and bool(step.action)
        and bool(way_back)
        and not way_back.startswith("no")
    )


def node(action: Action) -> tuple[str, str]:
    """The execution and the node that an action belongs to: itself, unless it is a step of a plan that was shown."""
    if action.turn:
        return action.id, action.id
    return action.task or action.id, action.step or action.id


def version_before(action: Action) -> int:
    """What a decision on an action has to name: a number made of all that its receipt binds, so that it is another
    one after every edit, every further try and every change of the tool; above every number of a pause."""
    return 1 << 28 | int(receipt(action)[:7], 16)


def version_after(action: Action) -> int:
    """The same for what it gave, above every number of a call that waits to run."""
    return 1 << 29 | int(receipt(action)[:7], 16)


def step_result(action: Action) -> dict[str, Json]:
    """What a call gave, in the form in which the result of a step is kept: the tool's words beside its fields."""
    outcome = action.outcome or Outcome("unknown")
    fields = outcome.structured if isinstance(outcome.structured, dict) else {}
    return {"text": outcome.text, **fields}


def one_result(true: Json, given: Json) -> Json:
    """What a reviewer releases in place of a result, so that nothing of the old one is left in it. The words and the
    fields are two forms of one result, and who changes it often changes one of them: then the other is made of that,
    or dropped. Both in the form of `step_result`; what is no object, or was not changed, comes back as it is."""
    if not (isinstance(true, dict) and isinstance(given, dict)) or same(true, given):
        return given
    before, fields = _fields(true), _fields(given)
    if before and same(before, fields) and given.get("text", true.get("text")) != true.get("text"):
        return {**_object(given["text"]), "text": given["text"]}
    if not fields or ("text" in given and given["text"] != true.get("text")):
        return given
    return {"text": json.dumps(fields, ensure_ascii=False), **fields}


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are the same: 1 is neither true nor 1.0."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _fields(result: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in result.items() if key != "text"}


def _object(text: Json) -> dict[str, Json]:
    """The fields of a text that is a JSON object, as many tools write theirs; none of any other."""
    try:
        found = parse(text) if isinstance(text, str) else {}
    except BadArguments:
        return {}
    return found


def released(action: Action) -> Outcome | None:
    """What became of a call as far as whoever asked for it may know: nothing of what it gave while that waits for a
    person, or where one has dropped it; and what they made of it where they changed it."""
    judged, outcome = action.judged, action.outcome
    if outcome is None or (judged is None and not action.under_review):
        return outcome
    if judged is None or not judged.kept:
        return replace(outcome, text="", structured=None)
    if judged.revised is None:
        return outcome
    fields = _fields(judged.revised)
    text = judged.revised.get("text") or fields or ""
    shown = text if isinstance(text, str) else json.dumps(text, ensure_ascii=False)
    return replace(outcome, text=shown, structured=fields or None)


def paused(session: Session, task: str, where: tuple[str, str], phase: Phase, at: datetime) -> LedgerEvent:
    """The event of docs/promises.md REVIEW-26 for a pause at execution and node; `task`: of the event, ""
    outside of tasks."""
    execution, at_node = where
    body: dict[str, Json] = {
        "type": "workflow_paused",
        "executionId": execution,
        "nodeId": at_node,
        "triggerPhase": phase.value,
        "timestamp": milliseconds(at),
    }
    return LedgerEvent("workflow_paused", session, task, body)


def resumed(session: Session, task: str, execution: str, at: datetime) -> LedgerEvent:
    """The event of docs/promises.md REVIEW-27 for the end of such a pause, however it was decided."""
    body: dict[str, Json] = {
        "type": "workflow_resumed",
        "executionId": execution,
        "timestamp": milliseconds(at),
    }
    return LedgerEvent("workflow_resumed", session, task, body)


def milliseconds(at: datetime) -> int:
    """Since 1970."""
    return round(at.timestamp() * 1000)


class ReviewsTx(Protocol):
    """In a transaction of the ledger."""

    async def save(self, record: ReviewRecord, session: Session) -> None:
        """Write a review down for good."""


class Reviews(Protocol):
    """Questions. Each raises Unavailable when the database cannot be had in time."""

    async def of(
        self, team: str, execution: str, limit: int = 50, after: int = 0
    ) -> tuple[ReviewRecord, ...]:
        """The first reviews of an execution with a larger id than `after`, the oldest first; large ones are fewer."""

    async def by(
        self, team: str, reviewer: str, limit: int = 50, before: int = 0
    ) -> tuple[ReviewRecord, ...]:
        """The latest reviews by this person, newest first; with `before`, those with a smaller id."""

    async def waiting(self, team: str) -> tuple[tuple[Action, ...], tuple[Task, ...]]:
        """The actions that wait for a review, to run or with what they gave, and the tasks that wait for one after a
        step, without the results of their steps."""

    async def under_review(self, team: str, user: str) -> tuple[Action, ...]:
        """The actions of one requester outside of plans whose result waits for a review."""


class Pending(Protocol):
    """Redis: the list of what waits, without a time to live. Each raises Unavailable when Redis cannot be had."""

    async def put(self, waiting: PendingReview) -> None: ...
    async def drop(self, team: str, key: str) -> None: ...
    async def all(self, team: str) -> tuple[PendingReview, ...] | None:
        """What waits; None where nothing was ever put there, as in a Redis that was emptied."""

    async def replace(self, team: str, waiting: Sequence[PendingReview]) -> None:
        """Put exactly these there, in one go."""
