"""The tools that change something. Each has a way back, and refuses when the row is not what was shown."""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server.mcpserver.exceptions import ToolError

from servers.days import Days
from servers.task import drafts, store
from servers.task.models import (
    ABSENT,
    DayArg,
    Deleted,
    ExpectedArg,
    ExpectedDay,
    IdArg,
    NewTask,
    NotesArg,
    Priority,
    Saved,
    Sha256,
    Status,
    Task,
    TitleArg,
    Update,
)
from servers.task.reading import missing
from servers.task.store import Store


@dataclass(frozen=True)
class Changing:
    """The changing tools over one store."""

    store: Store
    days: Days

    def create_task(
        self,
        title: TitleArg,
        due: DayArg | None = None,
        priority: Priority | None = None,
        notes: NotesArg | None = None,
        expected_due: ExpectedDay = None,
    ) -> Saved:
        """Add a task. It gets the next number, which no other task ever gets."""
        asked = NewTask(title=title, due=due, priority=priority, notes=notes)
        draft = drafts.fresh(asked, self.days)
        _same_day(draft, expected_due)
        with self.store.changing() as db:
            return _saved(store.add(db, draft))

    def update_task(  # noqa: PLR0913 - one argument for each field, so that a form asks for each
        self,
        task_id: IdArg,
        title: TitleArg | None = None,
        status: Status | None = None,
        due: DayArg | None = None,
        priority: Priority | None = None,
        notes: NotesArg | None = None,
        expected_sha256: ExpectedArg = None,
        expected_due: ExpectedDay = None,
    ) -> Saved:
        """Change a task. What is left out stays as it is; `due: none` takes the day away."""
        asked = Update(task_id=task_id, title=title, status=status, due=due, priority=priority, notes=notes)
        with self.store.changing() as db:
            before = store.one(db, task_id)
            store.agree(task_id, before, expected_sha256)
            if before is None:
                raise missing(task_id)
            after = drafts.updated(before, asked, self.days)
            _same_day(after, expected_due)
            store.put(db, after)
            return _saved(after)

    def delete_task(self, task_id: IdArg, expected_sha256: ExpectedArg = None) -> Deleted:
        """Delete a task. Its number is not used again."""
        with self.store.changing() as db:
            before = store.one(db, task_id)
            store.agree(task_id, before, expected_sha256)
            if before is None:
                raise missing(task_id)
            store.remove(db, task_id)
            return Deleted(id=task_id, title=before.title, sha256=ABSENT)

    def restore_task(self, task: Task, expected_sha256: Sha256 = ABSENT) -> Saved:
        """Make a task exactly what it was, after it was changed or deleted."""
        with self.store.changing() as db:
            store.agree(task.id, store.one(db, task.id), expected_sha256)
            if task.id > store.last_id(db):
                raise ToolError(f"There never was a task {task.id}. Add one with create_task.")
            store.put(db, task)
            return _saved(task)


def _same_day(task: Task, expected: str | None) -> None:
    now = str(task.due or "")
    if expected is not None and now != expected:
        raise ToolError(
            f"The day has changed since it was shown: {expected or 'none'} is now {now or 'none'}. Ask again."
        )


def _saved(task: Task) -> Saved:
    return Saved(**task.model_dump(), sha256=store.sha256(task))
