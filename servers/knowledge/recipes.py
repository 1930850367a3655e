"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from typing import Any

from servers.cards import Card, change, reading
from servers.filesystem.trash import KEEP

_BACK: dict[str, Any] = {
    "preview": {"kind": "affected", "items": "{capture.plan.items}"},
    "recoverable": "The index before is kept in .countersign/knowledge",
    "keeps_days": KEEP.days,
    "undo": [
        {"tool": "restore_index", "args": {"record": "{result.record}", "expected_index": "{result.sha256}"}}
    ],
    "drift": {
        "tool": "check_index",
        "args": {"path": "{result.path}"},
        "same": {"sha256": "{result.sha256}"},
    },
}
_FILES = {
    "expected_index": "{capture.plan.expected_index}",
    "expected_files": "{capture.plan.expected_files}",
}

CARDS: dict[str, Card] = {
    "search_documents": reading("Search documents", "Search the indexed files for {args.query}"),
    "ask_about_files": reading("Ask about files", "Ask the indexed files: {args.question}"),
    "get_related_chunks": reading("Find related parts", "Look for parts like {args.chunk}"),
    "check_index": reading("Check the index", "Look at the index of {args.path}"),
    "preview_index": reading("Preview indexing", "Look at what would be indexed"),
    "preview_update": reading("Preview an update of the index", "Look at what would be updated"),
    "preview_restore_index": reading("Preview putting an index back", "Look at the record {args.record}"),
    "index_folder": change(
        "Index folder",
        "Index",
        "Index {args.path}: {capture.plan.added} new files",
        risk="low",
        noun="{args.path|name}",
        capture={"plan": {"tool": "preview_index", "args": {"call": "{args}"}}},
        bind=_FILES,
        **_BACK,
    ),
    "update_index": change(
        "Update index",
        "Update",
        "Update the index of {capture.plan.path}",
        risk="low",
        noun="{capture.plan.path|name}",
        capture={"plan": {"tool": "preview_update", "args": {"call": "{args}"}}},
        bind=_FILES,
        **_BACK,
    ),
    "restore_index": change(
        "Put the index back",
        "Put back",
        "Put back the index of {capture.plan.path}",
        risk="low",
        noun="{capture.plan.path|name}",
        capture={"plan": {"tool": "preview_restore_index", "args": {"record": "{args.record}"}}},
        bind={"expected_index": "{capture.plan.expected_index}"},
        **_BACK,
    ),
}
