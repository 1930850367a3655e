"""What the task tools take and answer; new and changed tasks, checked."""

from __future__ import annotations

import hashlib
import re
from datetime import date, datetime
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AwareDatetime, BaseModel, Field

from servers.days import Days
from servers.filesystem.models import Sha256, Strict

Status = Literal["open", "started", "done", "cancelled"]
Priority = Literal["low", "normal", "high", "urgent"]
Wanted = Literal["active", "open", "started", "done", "cancelled", "all"]
Why = Literal["overdue", "due today", "coming up", "in progress", "done"]
ABSENT = "absent"
LONGEST_TITLE, LONGEST_NOTES = 200, 8000
LARGEST_ID = 2**31

IdArg = Annotated[int, Field(ge=1, le=LARGEST_ID, description="The task's number, from list_tasks.")]
TitleArg = Annotated[str, Field(max_length=LONGEST_TITLE, description="What is to be done, in one line.")]
NotesArg = Annotated[str, Field(max_length=LONGEST_NOTES, description="Anything else worth knowing.")]
DayArg = Annotated[
    str,
    Field(
        max_length=40, description="A day: 2026-11-24, today, tomorrow, friday or in 3 days. none: no day."
    ),
]
ExpectedArg = Annotated[
    Sha256 | None,
    Field(description="SHA-256 that get_task gives for the task as it must be now. Empty: anything."),
]
ExpectedDay = Annotated[
    str | None,
    Field(description="The day that was shown, “” for none. Refused when the words now mean another one."),
]


class NewTask(Strict):
    """The arguments of create_task."""

    title: TitleArg
    due: DayArg | None = None
    priority: Priority | None = None
    notes: NotesArg | None = None


class Update(Strict):
    """The arguments of update_task. What is left out stays as it is."""

    task_id: IdArg
    title: TitleArg | None = None
    status: Status | None = None
    due: DayArg | None = None
    priority: Priority | None = None
    notes: NotesArg | None = None


class Task(Strict):
    """One row, exactly as it is stored."""

    id: IdArg
    title: TitleArg
    status: Status
    priority: Priority
    due: date | None
    notes: NotesArg
    created_at: AwareDatetime
    updated_at: AwareDatetime
    completed_at: AwareDatetime | None


class Saved(Task):
    sha256: str = Field(description="of the row as it is now")


class Deleted(BaseModel):
    id: int
    title: str
    sha256: Sha256 = Field(description="“absent”: what is there now")


class Thing(BaseModel):
    """The task, as a card lists what is affected."""

    name: str
    kind: str
    modified: datetime


class Found(BaseModel):
    """One task, or that there is none under this number."""

    exists: bool
    what: str = Field(description="like “task 12: Call the printer”")
    noun: str = Field(description="like “task 12”")
    sha256: Sha256
    task: Task | None
    items: list[Thing]


class Plan(BaseModel):
    """What a change would do to one task."""

    what: str = Field(description="like “task 12: Call the printer”")
    change: str = Field(description="the lines that go (-) and come (+)")
    sha256: Sha256 = Field(description="of the row as it is now")
    due: str = Field(description="the day it would be due; “” for none")
    before: Task | None


class Line(BaseModel):
    """A task in a list."""

    id: int
    title: str
    due: date | None
    priority: Priority
    status: Status


class Tasks(BaseModel):
    tasks: list[Line]
    total: int = Field(description="how many there are, listed or not")
    truncated: bool
    note: str = ""


class Item(Line):
    why: Why


class Briefing(BaseModel):
    day: date
    tasks: list[Item]
    overdue: int
    due_today: int
    coming_up: int
    in_progress: int = Field(description="started, and due on no day named here")
    done: int = Field(description="done since the day before began")
    truncated: bool
    note: str


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


def sha256(task: Task | None) -> str:
    """Of everything in the row; “absent” where there is none."""
    if task is None:
        return ABSENT
    whole = task.model_dump_json(include=set(Task.model_fields))
    return hashlib.sha256(whole.encode()).hexdigest()


def agree(task_id: int, task: Task | None, expected: str | None) -> None:
    """Raises ToolError when the row is not the one that was shown."""
    if expected is not None and sha256(task) != expected:
        now = "it is not there any more" if task is None else "it is not as it was shown"
        raise ToolError(f"Task {task_id} has changed since it was shown: {now}. Look again, then ask again.")
