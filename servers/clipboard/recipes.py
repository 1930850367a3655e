"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from typing import Any

from servers.cards import Card, change, reading

_SHOWN: dict[str, Any] = {
    "bind": {"expected_sha256": "{capture.plan.expected_sha256}"},
    "preview": {"kind": "text", "after": "{capture.plan.change}"},
    "recoverable": "A text that gives way is put back",
    "undo": [
        {
            "when": "{capture.plan.restorable}",
            "tool": "restore_clipboard",
            "args": {"record": "{result.record}", "expected_sha256": "{result.sha256}"},
        }
    ],
    "drift": {"tool": "get_clipboard", "args": {}, "same": {"sha256": "{result.sha256}"}},
}

CARDS: dict[str, Card] = {
    "get_clipboard": reading("Read clipboard", "Read the clipboard"),
    "clipboard_history": reading("Clipboard history", "List what was in the clipboard"),
    "preview_clipboard": reading("Preview the clipboard", "Look at what would be in the clipboard"),
    "preview_restore_clipboard": reading("Preview putting a text back", "Look at the record {args.record}"),
    "set_clipboard": change(
        "Set clipboard",
        "Set",
        "Put {args.text|size} into the clipboard",
        risk="low",
        noun="the clipboard",
        capture={"plan": {"tool": "preview_clipboard", "args": {"text": "{args.text}"}}},
        **_SHOWN,
    ),
    "restore_clipboard": change(
        "Put a text back",
        "Put back",
        "Put the text {args.record} back into the clipboard",
        risk="low",
        noun="the clipboard",
        capture={"plan": {"tool": "preview_restore_clipboard", "args": {"record": "{args.record}"}}},
        **_SHOWN,
    ),
}
