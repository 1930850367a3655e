"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from typing import Any

from servers.cards import Card, change, reading
from servers.filesystem.recipes import CARDS as FILES
from servers.filesystem.trash import KEEP

# A deleted event comes back as the file it was, by the tools of the filesystem server.
BACK = ("get_metadata", "describe_paths", "preview_restore", "restore_file", "delete_file")


def _new(title: str, verb: str, summary: str, preview: str, argument: str, risk: str) -> Card:
    made: dict[str, Any] = {
        "noun": "{args.title}",
        "capture": {"plan": {"tool": preview, "args": {argument: "{args}"}}},
        "bind": {"expected_start": "{capture.plan.start}", "expected_end": "{capture.plan.end}"},
        "preview": {"kind": "text", "after": "{capture.plan.change}"},
        "recoverable": "The event is deleted again",
        "undo": [
            {
                "tool": "delete_event",
                "args": {"event_id": "{result.event_id}", "expected_sha256": "{result.sha256}"},
            }
        ],
        "drift": _SAME_FILE,
    }
    return change(title, verb, summary, risk=risk, **made)


_SAME_FILE = {
    "tool": "get_metadata",
    "args": {"path": "{result.file}"},
    "same": {"sha256": "{result.sha256}"},
}

CARDS: dict[str, Card] = {
    "list_events": reading("List events", "List events from {args.start}"),
    "find_free_slots": reading("Find free time", "Find free time from {args.start}"),
    "get_event": reading("Event details", "Look at the event {args.event_id}"),
    "preview_event": reading("Preview a new event", "Look at the new event"),
    "preview_time_block": reading("Preview a block of time", "Look at the block of time"),
    "create_event": _new(
        "Create event", "Create", "Create the event {capture.plan.what}", "preview_event", "event", "medium"
    ),
    "create_time_block": _new(
        "Block time", "Block", "Block time for {capture.plan.what}", "preview_time_block", "block", "low"
    ),
    "delete_event": change(
        "Delete event",
        "Delete",
        "Delete the event {capture.target.what}",
        cls="destructive",
        risk="high",
        noun="{capture.target.title}",
        capture={"target": {"tool": "get_event", "args": {"event_id": "{args.event_id}"}}},
        bind={"expected_sha256": "{capture.target.sha256}"},
        preview={"kind": "affected", "items": "{capture.target.items}"},
        recoverable="The file before stays in .countersign/trash",
        keeps_days=KEEP.days,
        undo=[
            {
                "tool": "restore_file",
                "args": {"trash_id": "{result.trash_id}", "expected_sha256": "{result.sha256}"},
            }
        ],
        drift=_SAME_FILE,
    ),
    **{name: FILES[name] for name in BACK},
}
