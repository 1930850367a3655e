"""From what was asked for to the row it would give, and to the lines that show the change."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from servers.days import Days
from servers.task.models import NewTask, Plan, Task, Update
from servers.task.store import sha256

SHOWN = ("title", "status", "priority", "due", "notes")
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNWRITABLE = re.compile("[\x00\ud800-\udfff]")


def fresh(asked: NewTask, days: Days) -> Task:
    """The row a create_task would give; its number comes with the writing. Raises ToolError."""
    now = days.now()
    return Task(
        id=1,
        title=_title(asked.title),
        status="open",
        priority=asked.priority or "normal",
        due=days.day(asked.due or ""),
        notes=_notes(asked.notes or ""),
        created_at=now,
        updated_at=now,
        completed_at=None,
    )


def updated(task: Task, asked: Update, days: Days) -> Task:
    """The row an update_task would give. Raises ToolError, also when nothing would change."""
    given: dict[str, Any] = {
        "title": None if asked.title is None else _title(asked.title),
        "status": asked.status,
        "priority": asked.priority,
        "notes": None if asked.notes is None else _notes(asked.notes),
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if asked.due is not None:
        changes["due"] = days.day(asked.due)
    after = task.model_copy(update=changes)
    if after == task:
        raise ToolError(f"Task {task.id} is like that already. Say what to change: {', '.join(SHOWN)}.")
    return after.model_copy(
        update={"updated_at": days.now(), "completed_at": _completed(task, after, days.now())}
    )


def _completed(before: Task, after: Task, now: datetime) -> datetime | None:
    if after.status != "done":
        return None
    return before.completed_at if before.status == "done" else now


def plan(before: Task | None, after: Task, what: str) -> Plan:
    """A change as the gate shows it. It names no time of now: it must be the same when it is looked at again."""
    return Plan(
        what=what,
        change="\n".join(_lines(before, after)),
        sha256=sha256(before),
        due=str(after.due or ""),
        before=before,
    )


def _lines(before: Task | None, after: Task) -> list[str]:
    told = [f"  title: {after.title}"] if before and before.title == after.title else []
    for name in SHOWN:
        old, new = (_said(task, name) if task else [] for task in (before, after))
        if old != new:
            told += [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]
    return told


def _said(task: Task, name: str) -> list[str]:
    value = getattr(task, name)
    if name == "notes":
        return [f"notes: {line}" for line in value.splitlines()]
    return [f"{name}: {value}"] if value else []


def named(task: Task) -> str:
    return f"task {task.id}: {task.title}"


def _title(text: str) -> str:
    title = text.strip()
    if not title:
        raise ToolError("The title is empty. Say in one line what is to be done.")
    if CONTROL.search(title) or UNWRITABLE.search(title):
        raise ToolError("The title has a line break or another character that is not text. Write one line.")
    return title


def _notes(text: str) -> str:
    if UNWRITABLE.search(text):
        raise ToolError(
            "The notes hold a NUL or half a character (a lone surrogate). Write them in whole characters."
        )
    return text
