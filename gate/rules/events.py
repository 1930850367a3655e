"""What API clients are told of a change: every change of an action or a task becomes events of one shape."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, get_args

from gate.rules.action import Action, CallClass, Json, Risk
from gate.rules.action_states import State
from gate.rules.messages import LedgerEvent
from gate.rules.steps import PRIVATE_REASON
from gate.rules.task import Task
from gate.rules.task_states import TaskState

EventKind = Literal[
    "action_changed",
    "approval_requested",
    "task_changed",
    "steer_instruction",
    "workflow_paused",
    "workflow_resumed",
]
KINDS: tuple[str, ...] = get_args(EventKind)
MAX_TEXT = 300  # characters of a text
MAX_NAMES = 20  # affected things, or tools
RISKS = tuple(Risk)  # the least first
RequestKind = Literal["question", "requirements", "plan", "pause", "satisfaction"]
# Of what a task asks before it goes on: why, and what is proposed.
APPROVALS: Mapping[str, tuple[str, str]] = {
    "question": ("It does not go on before its questions are answered.", "Answer what it asks"),
    "requirements": (
        "Nothing is built before what was understood is confirmed.",
        "Build what was talked about",
    ),
    "plan": ("Nothing of its plan runs before somebody has decided on it.", "Carry out its plan"),
}


def of_action(version: int, one: Action) -> list[LedgerEvent]:
    """What to tell of an action that a transaction has changed. `version`: before it; 0 for a new one."""
    body: dict[str, Json] = {
        "action_id": one.id,
        "version": one.version,
        "state": one.state.value,
        "tool": one.name,
        "risk_level": one.risk.value,
        "requester": one.requester,
        "step_id": one.step,
    }
    told = [LedgerEvent("action_changed", one.session, one.task, body)]
    if one.state is State.PREPARED and one.preview.is_complete and one.version > version:
        told.append(LedgerEvent("approval_requested", one.session, one.task, _request(one)))
    return told


def _request(one: Action) -> dict[str, Json]:
    """The fields of a request for approval (docs/promises.md GATE-20). What is private to somebody is told
    in the action alone, as is the rule that makes it ask, and what an undo touches: that may be named by a result that
    nobody has let out."""
    details: dict[str, Json] = {"action_id": one.id, "version": one.version, "tool": one.name}
    if not one.private:
        if not one.undoes:
            details["affected"] = [a.name[:MAX_TEXT] for a in one.preview.affected[:MAX_NAMES]]
        details["undo"] = one.preview.undo[:MAX_TEXT]
    return {
        "action_id": one.id,
        "task_id": one.task or one.id,
        "subtask_id": one.step or one.id,
        "reason": PRIVATE_REASON if one.private else one.reason[:MAX_TEXT],
        "proposed_action": one.name if one.private else one.preview.summary[:MAX_TEXT],
        "risk_level": one.risk.value,
        "details": details,
        "auto_approve_timeout": None,  # a call is never made because nobody said no
    }


def open_request(task: Task) -> tuple[RequestKind, int] | None:
    """What a task asks its requester, and the number that an answer has to name; None where it asks nothing."""
    if task.state is TaskState.CLARIFYING and task.questions:
        return "question", task.asked
    if task.state is TaskState.TALKING and task.requirements:
        return "requirements", task.attempts
    if task.state is TaskState.PLAN_REVIEW and task.plan is not None:
        return "plan", task.plan.version
    if task.state is TaskState.PAUSED:
        return "pause", task.pauses
    return ("satisfaction", task.ends) if task.state is TaskState.SATISFACTION else None


def of_task(before: Task, now: Task) -> list[LedgerEvent]:
    """The request for approval of what a task asks since it was changed."""
    asked = _decision_asked_for(now)
    if asked is None or asked == _decision_asked_for(before):
        return []
    return [LedgerEvent("approval_requested", now.session, now.id, _task_request(now, *asked))]


def _decision_asked_for(task: Task) -> tuple[RequestKind, int] | None:
    """What a person can decide so that the task goes on. What a plan would change has to be looked at before; a pause
    is asked about by whoever pauses it (gate/tasks/step_check.py)."""
    found, plan = open_request(task), task.plan
    if found is None or found[0] not in APPROVALS:
        return None
    if (
        found[0] == "plan"
        and plan
        and (plan.lapsed or any(not (s.is_finished or s.rules) for s in plan.steps))
    ):
        return None
    return found


def _task_request(task: Task, kind: RequestKind, number: int) -> dict[str, Json]:
    """The same fields for a task. What it asks may quote results that nobody has let out, so it is told in the task
    alone."""
    reason, proposed = APPROVALS[kind]
    left = [step for step in task.plan.steps if not step.is_finished] if kind == "plan" and task.plan else []
    details: dict[str, Json] = {"asks": kind, "number": number}
    if kind == "plan":
        details |= {"steps": len(left), "tools": list(dict.fromkeys(step.name for step in left))[:MAX_NAMES]}
    return {
        "task_id": task.id,
        "subtask_id": task.id,
        "reason": reason,
        "proposed_action": proposed,
        "risk_level": max((risk_of(step.cls) for step in left), default=Risk.LOW, key=RISKS.index).value,
        "details": details,
        "auto_approve_timeout": None,
    }


def risk_of(cls: CallClass) -> Risk:
    """How much is at risk in a step of which no more is known than its class."""
    return {CallClass.READ: Risk.LOW, CallClass.WRITE: Risk.MEDIUM}.get(cls, Risk.HIGH)


def payload(kind: str, task: str, body: dict[str, Json], at: datetime) -> dict[str, Json]:
    """An event as it is sent: its type and its time in milliseconds with it."""
    known = {"task_id": task} if task and "executionId" not in body else {}
    return {"type": kind, **known, **body, "timestamp": round(at.timestamp() * 1000)}
