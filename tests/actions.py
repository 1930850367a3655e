"""Actions for tests, written by the names of their fields: each goes into the part that has it."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from gate.rules.action import (
    Action,
    Decision,
    Execution,
    Origin,
    Proposal,
    Resolution,
    ResultReview,
    Source,
    Undo,
)

PARTS = {
    "origin": Origin,
    "proposal": Proposal,
    "proposal.decision": Decision,
    "proposal.source": Source,
    "resolution": Resolution,
    "execution": Execution,
    "result_review": ResultReview,
    "undo": Undo,
}
# Names of `Action` for fields that have another name in their part.
RENAMED = {
    "decided_by": "resolution.by",
    "decision": "resolution.reason",
    "held": "result_review.awaits",
    "undo_open": "undo.open",
}
HIDDEN = {"proposal.decision", "proposal.source", *RENAMED.values()}
PLACES = RENAMED | {
    field.name: f"{part}.{field.name}"
    for part, kind in PARTS.items()
    for field in fields(kind)
    if f"{part}.{field.name}" not in HIDDEN
}


def but(action: Action, **changes: Any) -> Action:
    """The action with other values in these fields, whichever part they are in. Its receipt stays as it is."""
    for name, value in changes.items():
        action = _put(action, PLACES.get(name, name).split("."), value)
    return action


def _put(value: Any, path: list[str], new: Any) -> Any:
    name, *rest = path
    return replace(value, **{name: _put(getattr(value, name), rest, new) if rest else new})


def action_of(**given: Any) -> Action:
    """An action of values by the names of their fields; those of its proposal and its decision are needed."""
    by_part: dict[str, dict[str, Any]] = {part: {} for part in ("", *PARTS)}
    for name, value in given.items():
        part, _, field = PLACES.get(name, name).rpartition(".")
        by_part[part][field] = value
    by_part["proposal.source"].setdefault("at", given["created_at"])
    made = {part: kind(**by_part[part]) for part, kind in PARTS.items() if "." in part}
    inner = {part.removeprefix("proposal."): one for part, one in made.items()}
    by_part["proposal"] |= inner
    return Action(
        **by_part[""], **{part: kind(**by_part[part]) for part, kind in PARTS.items() if "." not in part}
    )
