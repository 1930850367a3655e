"""The tables of tasks, and of the events that API clients read. Dataclass fields keep their names."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Boolean, Column, Index, Integer, Table, and_, or_

from gate.rules.action import Json
from gate.rules.settings import Switches
from gate.rules.task import (
    Assessment,
    Flow,
    Instruction,
    PauseReason,
    Plan,
    Question,
    Remark,
    SettledPoint,
    StopRequest,
    Usage,
)
from gate.rules.task_states import TaskState
from storage.columns import Choice, Packed, SessionKey, Time, Words
from storage.schema import Counted, metadata, partial, text

tasks = Table(
    "tasks",
    metadata,
    Column("id", Words, primary_key=True),
    Column("revision", Integer, nullable=False),
    Column("state", Choice(TaskState), nullable=False),
    Column("session", SessionKey, nullable=False),
    text("team"),
    text("requester"),
    text("text"),
    Column("switches", Packed(Switches), nullable=False),
    Column("created_at", Time, nullable=False),
    Column("since", Time, nullable=False),
    Column("flow", Choice(Flow), nullable=False),
    Column("assessment", Packed(Assessment | None), nullable=False),
    Column("questions", Packed(tuple[Question, ...]), nullable=False),
    Column("asked", Integer, nullable=False),
    Column("decided", Packed(tuple[SettledPoint, ...]), nullable=False),
    Column("requirements", Packed(tuple[str, ...]), nullable=False),
    text("because"),
    Column("plan", Packed(Plan | None), nullable=False),
    text("turn"),
    Column("wish", Choice(StopRequest), nullable=False),
    Column("why", Choice(PauseReason), nullable=False),
    text("reason"),
    Column("pauses", Integer, nullable=False),
    Column("ends", Integer, nullable=False),
    Column("instructions", Packed(tuple[Instruction, ...]), nullable=False),
    Column("remarks", Packed(tuple[Remark, ...]), nullable=False),
    Column("heard", Packed(frozenset[str] | None), nullable=False, server_default="null"),
    Column("attempts", Integer, nullable=False),
    Column("repairs", Integer, nullable=False),
    text("result"),
    Column("changed", Boolean, nullable=False),
    Column("asks", Boolean, nullable=False),
    text("ended_by"),
    Column("usage", Packed(Usage), nullable=False),
    Column("holds_thread", Boolean, nullable=False),
    Column("due", Time),  # when the janitor should look at it, if it is still so by then
    text("mac"),
)
HOLDS = tasks.c.holds_thread.is_(True)
# It asks its requester something; most talks do not, and there are many of them
ASKS = or_(
    tasks.c.state.in_((TaskState.CLARIFYING, TaskState.PLAN_REVIEW, TaskState.PAUSED)),
    and_(tasks.c.state == TaskState.TALKING, tasks.c.requirements != ()),
)
Index(
    "uq_tasks_thread",
    tasks.c.session,
    unique=True,
    sqlite_where=HOLDS,
    postgresql_where=HOLDS,
)
Index("ix_tasks_session", tasks.c.session, tasks.c.created_at, tasks.c.id)
Index("ix_tasks_requester", tasks.c.team, tasks.c.requester, tasks.c.created_at, tasks.c.id)
partial("ix_tasks_due", tasks.c.due.is_not(None), tasks.c.due)

events = Table(
    "events",
    metadata,
    Column("seq", Counted, primary_key=True),
    Column("session", SessionKey, nullable=False),
    text("team"),
    text("task"),
    text("kind"),
    Column("body", Packed(Mapping[str, Json]), nullable=False),
    Column("at", Time, nullable=False),
    sqlite_autoincrement=True,
)
Index("ix_events_at", events.c.at)
