"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from typing import Any

from servers.cards import Card, change, reading
from servers.filesystem.trash import KEEP
from servers.making import WAYS_BACK, makes

_ROWS: dict[str, Any] = {
    "recoverable": "The rows before are kept in .countersign/data",
    "keeps_days": KEEP.days,
    "preview": {"kind": "text", "after": "{capture.plan.difference}"},
    "bind": {"expected": "{capture.plan.expected}"},
    "undo": [
        {
            "when": "{capture.plan.can_undo}",
            "tool": "restore_rows",
            "args": {"record": "{result.record}", "expected": "{result.state}"},
        }
    ],
    "drift": {
        "tool": "check_rows",
        "args": {"record": "{result.record}"},
        "same": {"state": "{result.state}"},
    },
}

CARDS: dict[str, Card] = {
    "query_sqlite": reading("Ask a database", "Ask {args.path}"),
    "describe_database": reading("Describe database", "Look at {args.path}"),
    "deduplicate_records": reading("Find records that are there twice", "Look for twins in {args.path}"),
    "summarize_anomalies": reading("Find what stands out", "Look for anomalies in {args.path}"),
    "preview_csv": reading("Preview a CSV file", "Look at {args.path}"),
    "preview_write_sqlite": reading("Preview changes of rows", "Try changes on a copy of {args.path}"),
    "preview_restore_rows": reading("Preview putting rows back", "Look at the record {args.record}"),
    "check_rows": reading("Check rows", "Look at the record {args.record}"),
    "write_csv": makes(
        "Write CSV file",
        "Write",
        "Write {args.rows|count} rows to {args.path}",
        noun="{args.path|name}",
        capture={
            "plan": {
                "tool": "preview_csv",
                "args": {"path": "{args.path}", "columns": "{args.columns}", "rows": "{args.rows}"},
            }
        },
        bind={"expected_sha256": "{capture.plan.sha256}"},
        preview={
            "kind": "diff",
            "before": "{capture.plan.before}",
            "after": "{capture.plan.after}",
            "path": "{capture.plan.path}",
        },
    ),
    "write_sqlite": change(
        "Write rows",
        "Write",
        "Change {capture.plan.rows} rows of {args.path}",
        noun="{args.path|name}",
        capture={
            "plan": {
                "tool": "preview_write_sqlite",
                "args": {"path": "{args.path}", "changes": "{args.changes}"},
            }
        },
        **_ROWS,
    ),
    "restore_rows": change(
        "Put rows back",
        "Put back",
        "Put back {capture.plan.rows} rows of {capture.plan.path}",
        noun="{capture.plan.path|name}",
        capture={"plan": {"tool": "preview_restore_rows", "args": {"record": "{args.record}"}}},
        **_ROWS,
    ),
    **WAYS_BACK,
}
