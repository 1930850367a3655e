"""What a transaction may change of an action or a task; the rest is changed by arrows alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gate.rules.action import Action
from gate.rules.ledger_ports import ActionParts, TaskParts
from gate.rules.task import Task
from storage.statements import GUARDED


def action_with_changes(action: Action, changes: ActionParts, **moved: Any) -> Action:
    """The action with its changes, one revision on. Raises TypeError for what only an arrow may change."""
    forbidden = {*GUARDED["actions"]} & changes.keys()
    if forbidden:
        raise TypeError(f"only an arrow changes {', '.join(sorted(forbidden))} of an action")
    return replace(action, revision=action.revision + 1, **moved, **changes)


def task_with_changes(task: Task, changes: TaskParts, **moved: Any) -> Task:
    """The same of a task."""
    forbidden = {*GUARDED["tasks"]} & changes.keys()
    if forbidden:
        raise TypeError(f"only an arrow changes {', '.join(sorted(forbidden))} of a task")
    return replace(task, revision=task.revision + 1, **moved, **changes)
