"""What the gate must know of each tool: its class and how to show it before. What was opened is closed by hand."""

from __future__ import annotations

from typing import Any

from servers.cards import Card, change, reading

_SHOWN: dict[str, Any] = {
    "noun": "{args.application}",
    "preview": {"kind": "affected", "items": "{capture.plan.items}"},
    "recoverable": "It stays open until somebody at the host closes it",
}

CARDS: dict[str, Card] = {
    "get_system_info": reading("System information", "Look at the host"),
    "list_processes": reading("List processes", "List what runs on the host"),
    "take_screenshot": reading("Take screenshot", "Take a picture of the screen"),
    "preview_open": reading("Preview opening", "Look at what {args.application} would open"),
    "open_application": change(
        "Open application",
        "Open",
        "Open {args.application} on the host",
        capture={"plan": {"tool": "preview_open", "args": {"application": "{args.application}"}}},
        bind={"expected_command": "{capture.plan.expected_command}"},
        **_SHOWN,
    ),
    "open_file_with": change(
        "Open file with application",
        "Open",
        "Open {args.path} with {args.application} on the host",
        capture={
            "plan": {
                "tool": "preview_open",
                "args": {"application": "{args.application}", "path": "{args.path}"},
            }
        },
        bind={
            "expected_command": "{capture.plan.expected_command}",
            "expected_sha256": "{capture.plan.expected_sha256}",
        },
        **_SHOWN,
    ),
}
