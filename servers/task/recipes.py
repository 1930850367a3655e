"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from typing import Any

from servers.cards import Card, change, reading

_SAME_ROW: dict[str, Any] = {
    "drift": {"tool": "get_task", "args": {"task_id": "{result.id}"}, "same": {"sha256": "{result.sha256}"}}
}
_AS_LINES: dict[str, Any] = {"preview": {"kind": "text", "after": "{capture.plan.change}"}}
_DELETE_AGAIN = {
    "tool": "delete_task",
    "args": {"task_id": "{result.id}", "expected_sha256": "{result.sha256}"},
}
_PUT_BACK = {
    "tool": "restore_task",
    "args": {"task": "{capture.plan.before}", "expected_sha256": "{result.sha256}"},
}


def _plan(tool: str, **args: str) -> dict[str, Any]:
    return {"capture": {"plan": {"tool": tool, "args": args}}}


CARDS: dict[str, Card] = {
    "list_tasks": reading("List tasks", "List the tasks"),
    "get_overdue": reading("Overdue tasks", "List what is overdue"),
    "daily_briefing": reading("Daily briefing", "Sum up the day"),
    "get_task": reading("Task details", "Look at task {args.task_id}"),
    "preview_task": reading("Preview a new task", "Look at the new task"),
    "preview_update": reading("Preview a change of a task", "Look at the change"),
    "preview_delete": reading("Preview deleting a task", "Look at task {args.task_id}"),
    "preview_restore": reading("Preview restoring a task", "Look at task {args.task.id}"),
    "create_task": change(
        "Create task",
        "Create",
        "Create a task: {args.title}",
        noun="{args.title}",
        **_plan("preview_task", task="{args}"),
        bind={"expected_due": "{capture.plan.due}"},
        **_AS_LINES,
        recoverable="The task is deleted again",
        undo=[_DELETE_AGAIN],
        **_SAME_ROW,
    ),
    "update_task": change(
        "Update task",
        "Update",
        "Update {capture.plan.what}",
        noun="task {args.task_id}",
        **_plan("preview_update", update="{args}"),
        bind={"expected_sha256": "{capture.plan.sha256}", "expected_due": "{capture.plan.due}"},
        **_AS_LINES,
        recoverable="The task becomes what it was",
        undo=[_PUT_BACK],
        **_SAME_ROW,
    ),
    "delete_task": change(
        "Delete task",
        "Delete",
        "Delete {capture.target.what}",
        cls="destructive",
        risk="high",
        noun="{capture.target.noun}",
        capture={"target": {"tool": "preview_delete", "args": {"task_id": "{args.task_id}"}}},
        bind={"expected_sha256": "{capture.target.sha256}"},
        preview={"kind": "affected", "items": "{capture.target.items}"},
        recoverable="The task comes back as it was",
        undo=[
            {
                "tool": "restore_task",
                "args": {"task": "{capture.target.task}", "expected_sha256": "{result.sha256}"},
            }
        ],
        **_SAME_ROW,
    ),
    "restore_task": change(
        "Restore task",
        "Restore",
        "Restore {capture.plan.what}",
        noun="task {args.task.id}",
        **_plan("preview_restore", task="{args.task}"),
        bind={"expected_sha256": "{capture.plan.sha256}"},
        **_AS_LINES,
        recoverable="The task becomes what it was",
        undo=[
            {"when": "{capture.plan.before}", **_PUT_BACK},
            {"unless": "{capture.plan.before}", **_DELETE_AGAIN},
        ],
        **_SAME_ROW,
    ),
}
