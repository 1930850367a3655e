"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from typing import Any

from servers.cards import META, Card, change, reading
from servers.filesystem.trash import KEEP

__all__ = ["CARDS", "META"]

_TRASH = "stays in .countersign/trash"


def _same(paths: str, expected: str) -> dict[str, Any]:
    args = {"paths": paths, "whole_folders": True}
    return {"tool": "describe_paths", "args": args, "same": {"expected": expected}}


def _transfer(title: str, verb: str, undo: dict[str, Any]) -> Card:
    return change(
        title,
        verb,
        f"{verb} {{args.source}} to {{args.destination}}",
        noun="{args.source|name}",
        capture={
            "plan": {
                "tool": "preview_transfer",
                "args": {"source": "{args.source}", "destination": "{args.destination}"},
            }
        },
        bind={
            "expected_sha256": "{capture.plan.sha256}",
            "expected_destination": "{capture.plan.destination}",
        },
        preview={"kind": "affected", "items": "{capture.plan.items}"},
        recoverable="Nothing is overwritten",
        undo=[undo],
        drift=_same("{result.destination}", "{result.expected}"),
    )


_WRITE = change(
    "Write file",
    "Write",
    "Write {args.content|size} to {args.path}",
    noun="{args.path|name}",
    capture={"before": {"tool": "preview_write", "args": {"path": "{args.path}"}}},
    bind={"expected_sha256": "{capture.before.sha256}"},
    preview={
        "kind": "diff",
        "before": "{capture.before.text}",
        "after": "{args.content}",
        "path": "{capture.before.path}",
    },
    recoverable=f"An earlier version, if there is one, {_TRASH}",
    keeps_days=KEEP.days,
    undo=[
        {
            "when": "{result.replaced}",
            "tool": "restore_file",
            "args": {"trash_id": "{result.trash_id}", "expected_sha256": "{result.sha256}"},
        },
        {
            "unless": "{result.replaced}",
            "tool": "delete_file",
            "args": {"path": "{result.path}", "expected": "{result.expected}"},
        },
    ],
    drift={"tool": "get_metadata", "args": {"path": "{result.path}"}, "same": {"sha256": "{result.sha256}"}},
)

_DELETE = change(
    "Delete files and folders",
    "Delete",
    "Delete {capture.targets.what}",
    cls="destructive",
    risk="high",
    noun="{capture.targets.noun}",
    capture={"targets": {"tool": "describe_paths", "args": {"paths": "{args.path}", "to_delete": True}}},
    bind={"expected": "{capture.targets.expected}"},
    preview={"kind": "affected", "items": "{capture.targets.items}"},
    recoverable=f"What is deleted {_TRASH}",
    keeps_days=KEEP.days,
    undo=[{"tool": "restore_file", "args": {"trash_id": "{result.trash_id}"}}],
    drift=_same("{result.paths}", "{result.after}"),
)

_RESTORE = change(
    "Restore from trash",
    "Restore",
    "Restore {capture.plan.what} from the trash",
    noun="{capture.plan.noun}",
    capture={
        "plan": {
            "tool": "preview_restore",
            "args": {"trash_id": "{args.trash_id}"},
        }
    },
    bind={"expected_sha256": "{capture.plan.expected_sha256}"},
    preview={"kind": "affected", "items": "{capture.plan.items}"},
    recoverable=f"What it replaces, if anything, {_TRASH}",
    keeps_days=KEEP.days,
    undo=[
        {
            "when": "{result.replaced}",
            "tool": "restore_file",
            "args": {"trash_id": "{result.trash_id}", "expected_sha256": "{result.sha256}"},
        },
        {
            "unless": "{result.replaced}",
            "tool": "delete_file",
            "args": {"path": "{result.paths}", "expected": "{result.expected}"},
        },
    ],
    drift=_same("{result.paths}", "{result.expected}"),
)

_PURGE = change(
    "Purge trash",
    "Purge",
    "Remove {capture.plan.what} from the trash for good",
    cls="destructive",
    risk="critical",
    noun="{capture.plan.noun}",
    capture={"plan": {"tool": "preview_purge", "args": {"trash_id": "{args.trash_id}"}}},
    bind={"expected": "{capture.plan.expected}"},
    preview={"kind": "affected", "items": "{capture.plan.items}"},
    recoverable="Nothing brings it back",
)

_LOOK_DRIFT = {"tool": "list_changes", "args": {"path": "{result.path}"}, "same": {"look": "{result.look}"}}

CARDS: dict[str, Card] = {
    "list_dir": reading("List folder", "List {args.path}"),
    "read_file": reading("Read file", "Read {args.path}"),
    "search_files": reading("Search files", "Search {args.path} for {args.pattern}"),
    "get_metadata": reading("File details", "Look at {args.path}"),
    "describe_paths": reading("Describe paths", "Look at {args.paths}"),
    "list_trash": reading("List trash", "List the trash"),
    "list_changes": reading("List changes", "List what changed in {args.path}"),
    "preview_write": reading("Preview a write", "Read {args.path}"),
    "preview_transfer": reading("Preview a move or copy", "Look at {args.source} and {args.destination}"),
    "preview_restore": reading("Preview a restore", "Look at {args.trash_id} in the trash"),
    "preview_purge": reading("Preview a purge", "Look at {args.trash_id} in the trash"),
    "write_file": _WRITE,
    "move_file": _transfer(
        "Move file or folder",
        "Move",
        {
            "tool": "move_file",
            "args": {
                "source": "{result.destination}",
                "destination": "{result.source}",
                "expected_sha256": "{result.sha256}",
                "expected_destination": "{result.source}",
            },
        },
    ),
    "copy_file": _transfer(
        "Copy file or folder",
        "Copy",
        {"tool": "delete_file", "args": {"path": "{result.destination}", "expected": "{result.expected}"}},
    ),
    "delete_file": _DELETE,
    "restore_file": _RESTORE,
    "purge_trash": _PURGE,
    "watch_folder": change(
        "Watch folder",
        "Watch",
        "Watch {args.path}",
        risk="low",
        noun="{args.path|name}",
        preview={"kind": "fields"},
        recoverable="The watch is taken back",
        undo=[
            {
                "tool": "unwatch_folder",
                "args": {"path": "{result.path}", "look": "{result.look}"},
            }
        ],
        drift=_LOOK_DRIFT,
    ),
    "unwatch_folder": change(
        "Stop watching folder",
        "Unwatch",
        "Stop watching {args.path}",
        risk="low",
        noun="{args.path|name}",
        preview={"kind": "fields"},
        recoverable="Until the folder is watched anew",
        undo=[
            {
                "unless": "{args.look}",
                "tool": "watch_folder",
                "args": {"path": "{result.path}", "resume": True},
            }
        ],
        drift=_LOOK_DRIFT,
    ),
}
