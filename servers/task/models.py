"""What the tools take and answer. Days are written 2026-11-24; times are UTC."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

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
Sha256 = Annotated[str, Field(pattern=r"^(absent|[0-9a-f]{64})$")]
ExpectedArg = Annotated[
    Sha256 | None,
    Field(description="SHA-256 that get_task gives for the task as it must be now. Empty: anything."),
]
ExpectedDay = Annotated[
    str | None,
    Field(description="The day that was shown, “” for none. Refused when the words now mean another one."),
]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


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
