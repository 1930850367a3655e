"""What API clients are told of a change: every change of an action or a task becomes events of one shape."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from gate.action import Action, Json
from gate.records import Happening
from gate.states import State

EventKind = Literal[
    "action_changed",
    "approval_requested",
    "task_changed",
    "steer_instruction",
    "workflow_paused",
    "workflow_resumed",
]
KINDS: tuple[str, ...] = get_args(EventKind)
MOST = 300  # characters of a text
NAMED = 20  # affected things


def of_action(version: int, one: Action) -> list[Happening]:
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
    told = [Happening("action_changed", one.session, one.task, body)]
    if one.state is State.PREPARED and one.preview.whole and one.version > version:
        told.append(Happening("approval_requested", one.session, one.task, _request(one)))
    return told


def _request(one: Action) -> dict[str, Json]:
    """The fields of an ApprovalRequest (spec 003). What is private to somebody is told in the action alone, and so is
    what an undo touches: that may be named by a result that nobody has let out."""
    details: dict[str, Json] = {"action_id": one.id, "version": one.version, "tool": one.name}
    if not one.private:
        if not one.undoes:
            details["affected"] = [a.name[:MOST] for a in one.preview.affected[:NAMED]]
        details["undo"] = one.preview.undo[:MOST]
    return {
        "action_id": one.id,
        "task_id": one.task or one.id,
        "subtask_id": one.step or one.id,
        "reason": one.reason[:MOST],
        "proposed_action": one.name if one.private else one.preview.summary[:MOST],
        "risk_level": one.risk.value,
        "details": details,
        "auto_approve_timeout": None,  # a call is never made because nobody said no
    }


def payload(kind: str, task: str, body: dict[str, Json], at: datetime) -> dict[str, Json]:
    """An event as it is sent: its type and its time in milliseconds with it."""
    known = {"task_id": task} if task and "executionId" not in body else {}
    return {"type": kind, **known, **body, "timestamp": round(at.timestamp() * 1000)}
