"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from servers.cards import Card, reading
from servers.making import WAYS_BACK, makes

CARDS: dict[str, Card] = {
    "get_tool_log": reading("Tool log", "List what tools were called"),
    "get_session_summary": reading("Session summary", "Sum up a session"),
    "generate_audit_report": reading("Audit report", "Report on the log"),
    "preview_export": reading("Preview an audit report", "Look at what the report would be"),
    "export_audit_pdf": makes(
        "Export audit report",
        "Export",
        "Export {capture.plan.what} as {args.path}",
        noun="{args.path|name}",
        capture={"plan": {"tool": "preview_export", "args": {"call": "{args}"}}},
        bind={
            "expected_target": "{capture.plan.expected_target}",
            "expected_made": "{capture.plan.expected_made}",
        },
        preview={"kind": "affected", "items": "{capture.plan.items}"},
    ),
    **WAYS_BACK,
}
