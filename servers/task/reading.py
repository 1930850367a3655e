"""The tools that only read: lists, a briefing, and what a change would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.days import Days
from servers.task import drafts, store
from servers.task.models import (
    ABSENT,
    Briefing,
    DayArg,
    Found,
    IdArg,
    Item,
    Line,
    NewTask,
    Plan,
    Task,
    Tasks,
    Thing,
    Update,
    Wanted,
    Why,
)
from servers.task.store import Store

MOST = 200
ACTIVE = "status IN ('open', 'started')"


@dataclass(frozen=True)
class Reading:
    """The reading tools over one store."""

    store: Store
    days: Days

    def list_tasks(
        self,
        status: Annotated[Wanted, Field(description="active: open or started.")] = "active",
        contains: Annotated[str, Field(max_length=200, description="Words in the title or the notes.")] = "",
        due_until: Annotated[DayArg, Field(description="Only what is due on this day or before.")] = "",
        offset: Annotated[int, Field(ge=0, le=10**6, description="How many to skip.")] = 0,
    ) -> Tasks:
        """List tasks, the most urgent first: by day, then by priority."""
        until = self.days.day(due_until)
        where, values = _where(status), []
        if until:
            where, values = f"{where} AND due <= ?", [str(until)]
        with self.store.reading() as db:
            fits = [task for task in store.found(db, where, values) if _contains(task, contains)]
        return _listed(fits, offset)

    def get_overdue(self) -> Tasks:
        """List the tasks that should have been done before today."""
        with self.store.reading() as db:
            late = list(store.found(db, f"{ACTIVE} AND due < ?", [str(self.days.today())]))
        return _listed(late, 0)

    def daily_briefing(
        self,
        day: Annotated[DayArg, Field(description="The day it is for.")] = "today",
        ahead: Annotated[int, Field(ge=0, le=60, description="How many days count as coming up.")] = 7,
    ) -> Briefing:
        """What matters on a day: overdue, due, coming up, in progress, and done since the day before."""
        on = self.days.day(day)
        if on is None:
            raise ToolError("Name the day that the briefing is for, such as today or 2026-11-24.")
        with self.store.reading() as db:
            items = list(self._items(store.found(db), on, ahead))
        counts = {why: sum(item.why == why for item in items) for why in ORDER}
        return Briefing(
            day=on,
            tasks=sorted(items, key=lambda item: ORDER.index(item.why))[:MOST],
            overdue=counts["overdue"],
            due_today=counts["due today"],
            coming_up=counts["coming up"],
            in_progress=counts["in progress"],
            done=counts["done"],
            truncated=len(items) > MOST,
            note=f"{on:%A} {on}: " + ", ".join(f"{counts[why]} {why}" for why in ORDER) + ".",
        )

    def _items(self, tasks: Iterable[Task], on: date, ahead: int) -> Iterator[Item]:
        since, until = (self.days.begins(on + timedelta(days=days)) for days in (-1, 1))
        for task in tasks:
            why = _why(task, on, ahead)
            if why == "done" and not (task.completed_at and since <= task.completed_at < until):
                continue
            if why:
                yield Item(**_line(task).model_dump(), why=why)

    def get_task(self, task_id: IdArg) -> Found:
        """One task with everything about it, and its SHA-256; or that there is none under this number."""
        with self.store.reading() as db:
            task = store.one(db, task_id)
        if task is None:
            what = f"task {task_id}"
            return Found(exists=False, what=what, noun=what, sha256=ABSENT, task=None, items=[])
        thing = Thing(name=f"{task.id} {task.title}", kind=task.status, modified=task.updated_at)
        return Found(
            exists=True,
            what=drafts.named(task),
            noun=f"task {task.id}",
            sha256=store.sha256(task),
            task=task,
            items=[thing],
        )

    def preview_task(self, task: NewTask) -> Plan:
        """What create_task would write."""
        after = drafts.fresh(task, self.days)
        return drafts.plan(None, after, f"task: {after.title}")

    def preview_update(self, update: Update) -> Plan:
        """What update_task would change."""
        with self.store.reading() as db:
            before = store.one(db, update.task_id)
        if before is None:
            raise missing(update.task_id)
        return drafts.plan(before, drafts.updated(before, update, self.days), drafts.named(before))

    def preview_delete(self, task_id: IdArg) -> Found:
        """The task that delete_task would take away."""
        found = self.get_task(task_id)
        if not found.exists:
            raise missing(task_id)
        return found

    def preview_restore(self, task: Task) -> Plan:
        """What restore_task would put back, and what it would take the place of."""
        with self.store.reading() as db:
            before = store.one(db, task.id)
        return drafts.plan(before, task, drafts.named(task))


ORDER: tuple[Why, ...] = ("overdue", "due today", "coming up", "in progress", "done")


def _why(task: Task, on: date, ahead: int) -> Why | None:
    if task.status in ("done", "cancelled"):
        return "done" if task.status == "done" else None
    if task.due and task.due <= on:
        return "overdue" if task.due < on else "due today"
    if task.due and task.due <= on + timedelta(days=ahead):
        return "coming up"
    return "in progress" if task.status == "started" else None


def missing(task_id: int) -> ToolError:
    return ToolError(f"There is no task {task_id}. Look at the numbers with list_tasks.")


def _where(status: Wanted) -> str:
    return {"active": ACTIVE, "all": "1"}.get(status, f"status = '{status}'")


def _contains(task: Task, words: str) -> bool:
    return words.casefold() in f"{task.title}\n{task.notes}".casefold()


def _line(task: Task) -> Line:
    return Line(id=task.id, title=task.title, due=task.due, priority=task.priority, status=task.status)


def _listed(tasks: list[Task], offset: int) -> Tasks:
    shown = [_line(task) for task in tasks[offset : offset + MOST]]
    more = len(tasks) > offset + len(shown)
    note = f"Go on with offset {offset + len(shown)}." if more else "" if tasks else "There are none."
    return Tasks(tasks=shown, total=len(tasks), truncated=more, note=note)
