"""The task tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.days import Days
from servers.filesystem.models import Sha256
from servers.lines import one_line
from servers.task import store
from servers.task.store import (
    ABSENT,
    Briefing,
    DayArg,
    Deleted,
    ExpectedArg,
    ExpectedDay,
    Found,
    IdArg,
    Item,
    Line,
    NewTask,
    NotesArg,
    Plan,
    Priority,
    Saved,
    Status,
    Store,
    Task,
    Tasks,
    Thing,
    TitleArg,
    Update,
    Wanted,
    Why,
)
from servers.tool_metadata import Card, bound, call, change, reading, unchanged

MOST = 200
ACTIVE = "status IN ('open', 'started')"


@dataclass(frozen=True)
class Tools:
    """The tools over one store."""

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
            return Found(exists=False, what=what, noun=what, title="", sha256=ABSENT, task=None, items=[])
        title = one_line(task.title)
        thing = Thing(name=f"{task.id}: {title}", kind="task", modified=task.updated_at)
        return Found(
            exists=True,
            what=store.named(task),
            noun=f"task {task.id}",
            title=title,
            sha256=store.sha256(task),
            task=task,
            items=[thing],
        )

    def preview_task(self, task: NewTask) -> Plan:
        """What create_task would write."""
        after = store.fresh(task, self.days)
        return store.plan(None, after, f"task: {after.title}")

    def preview_update(self, update: Update) -> Plan:
        """What update_task would change."""
        with self.store.reading() as db:
            before = store.one(db, update.task_id)
        if before is None:
            raise missing(update.task_id)
        return store.plan(before, store.updated(before, update, self.days), store.named(before))

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
        return store.plan(before, task, store.named(task))

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
        draft = store.fresh(asked, self.days)
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
            after = store.updated(before, asked, self.days)
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
                raise ToolError(f"There never was a task {task.id}. Add a new one.")
            store.put(db, task)
            return _saved(task)


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
    return ToolError(f"There is no task {task_id}. “show me my tasks” lists them.")


def _where(status: Wanted) -> str:
    return {"active": ACTIVE, "all": "1"}.get(status, f"status = '{status}'")


def _contains(task: Task, words: str) -> bool:
    return words.casefold() in f"{task.title}\n{task.notes}".casefold()


def _line(task: Task) -> Line:
    return Line(id=task.id, title=task.title, due=task.due, priority=task.priority, status=task.status)


def _listed(tasks: list[Task], offset: int) -> Tasks:
    shown = [_line(task) for task in tasks[offset : offset + MOST]]
    more = len(tasks) > offset + len(shown)
    note = (
        f"There are more: ask for those after the first {offset + len(shown)}."
        if more
        else ""
        if tasks
        else "There are none."
    )
    return Tasks(tasks=shown, total=len(tasks), truncated=more, note=note)


def _same_day(task: Task, expected: str | None) -> None:
    now = str(task.due or "")
    if expected is not None and now != expected:
        raise ToolError(
            f"The day has changed since it was shown: {expected or 'none'} is now {now or 'none'}. Ask again."
        )


def _saved(task: Task) -> Saved:
    return Saved(**task.model_dump(), sha256=store.sha256(task))


_SAME_ROW: dict[str, Any] = {"drift": unchanged("get_task", task_id="{result.id}")}
_AS_LINES: dict[str, Any] = {"preview": {"kind": "text", "after": "{capture.plan.change}"}}
UNDO_DAYS = 30  # for which the gate keeps a deleted task to bring it back
_SAYING = ["priority", "notes"]


def _saying(*more: str) -> dict[str, Any]:
    """The preview of a change that is told in lines, each of which names an argument."""
    return {"preview": {**_AS_LINES["preview"], "says": [*more, *_SAYING], "of": ["due"]}}


_DELETE_AGAIN = call("delete_task", task_id="{result.id}", expected_sha256="{result.sha256}")
_PUT_BACK = call("restore_task", task="{capture.plan.before}", expected_sha256="{result.sha256}")


def _plan(tool: str, **args: str) -> dict[str, Any]:
    return {"capture": {"plan": {"tool": tool, "args": args}}}


def _said(where: str) -> dict[str, str]:
    """What a read tells of the words of a task, by the names that rules have for them."""
    return {name: f"{{capture.{where}.{name}}}" for name in ("title", "notes")}


_NOW = _said("plan.words")
_WORDS = ["task.title", "task.notes"]
_WORDS_BEFORE = ["before.title", "before.notes"]
_WHOLE = ["task", "task.id=task_id"]
CARDS: dict[str, Card] = {
    "list_tasks": reading("List tasks", "List the tasks"),
    "get_overdue": reading("Overdue tasks", "List what is overdue"),
    "daily_briefing": reading("Daily briefing", "Sum up the day"),
    "get_task": reading("Task details", "Look at task {args.task_id}", words=_WORDS),
    "preview_task": reading("Preview a new task", "Look at the new task", nested=["task"]),
    "preview_update": reading(
        "Preview a change of a task", "Look at the change", nested=["update"], words=_WORDS_BEFORE
    ),
    "preview_delete": reading("Preview deleting a task", "Look at task {args.task_id}", words=_WORDS),
    "preview_restore": reading(
        "Preview restoring a task", "Look at task {args.task.id}", nested=_WHOLE, words=_WORDS_BEFORE
    ),
    "create_task": change(
        "Create task",
        "Create",
        "Create the task “{args.title}”",
        noun="{args.title}",
        **_plan("preview_task", task="{args}"),
        bind=bound(expected_due="due"),
        **_saying(),
        recoverable="Nothing else is changed",
        undo=[_DELETE_AGAIN],
        **_SAME_ROW,
    ),
    "update_task": change(
        "Update task",
        "Update",
        "Update task {args.task_id}: {capture.plan.title}",
        noun="task {args.task_id}",
        targets={"left_out": [f"{name}={told}" for name, told in _NOW.items()]},
        reported_as=_NOW,
        **_plan("preview_update", update="{args}"),
        bind=bound(expected_sha256="sha256", expected_due="due"),
        **_saying("title", "status"),
        recoverable="The task becomes what it was",
        undo=[_PUT_BACK],
        **_SAME_ROW,
    ),
    "delete_task": change(
        "Delete task",
        "Delete",
        "Delete task {args.task_id}: {capture.target.title}",
        cls="destructive",
        risk="high",
        noun="{capture.target.noun}",
        capture={"target": call("preview_delete", task_id="{args.task_id}")},
        reported_as=_said("target.task"),
        bind={"expected_sha256": "{capture.target.sha256}"},
        preview={"kind": "affected", "items": "{capture.target.items}"},
        recoverable="The task comes back as it was",
        keeps_days=UNDO_DAYS,
        undo=[call("restore_task", task="{capture.target.task}", expected_sha256="{result.sha256}")],
        **_SAME_ROW,
    ),
    "restore_task": change(
        "Restore task",
        "Restore",
        "Restore {capture.plan.what}",
        noun="task {args.task.id}",
        targets={"nested": _WHOLE},
        reported_as=_NOW,
        **_plan("preview_restore", task="{args.task}"),
        bind=bound(expected_sha256="sha256"),
        **_AS_LINES,
        recoverable="The task becomes what it was",
        undo=[
            {"when": "{capture.plan.before}", **_PUT_BACK},
            {"unless": "{capture.plan.before}", **_DELETE_AGAIN},
        ],
        **_SAME_ROW,
    ),
}
