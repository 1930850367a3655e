"""What the gate must know of each tool: its class, how to show it before, and how to take it back (design.md 10)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from servers.cards import Card, change, reading
from servers.filesystem.recipes import CARDS as FILES
from servers.filesystem.trash import KEEP

# A deleted draft comes back as the file it was, by the tools of the filesystem server.
BACK = ("get_metadata", "describe_paths", "preview_restore", "restore_file", "delete_file")

_SAME_FILE: dict[str, Any] = {
    "drift": {
        "tool": "get_metadata",
        "args": {"path": "{result.file}"},
        "same": {"sha256": "{result.sha256}"},
    }
}
_WHOLE_MAIL: dict[str, Any] = {"preview": {"kind": "text", "after": "{capture.plan.message}"}}

CARDS: dict[str, Card] = {
    "list_drafts": reading("List drafts", "List the drafts"),
    "search_emails": reading("Search mail", "Search the mail"),
    "summarize_thread": reading("Summarize thread", "Sum up the thread of {args.message_id}"),
    "read_email": reading("Read mail", "Read the mail {args.message_id}"),
    "preview_draft": reading("Preview a draft", "Look at the new draft"),
    "preview_send": reading("Preview sending", "Look at the draft {args.sending.draft_id}"),
    "preview_delete": reading("Preview deleting a draft", "Look at the draft {args.draft_id}"),
    "draft_email": change(
        "Draft mail",
        "Draft",
        "Draft a mail: {capture.plan.what}",
        risk="low",
        noun="{args.subject}",
        capture={"plan": {"tool": "preview_draft", "args": {"draft": "{args}"}}},
        bind={"expected_message": "{capture.plan.shown}"},
        **_WHOLE_MAIL,
        recoverable="Nothing is sent; the draft is deleted again",
        undo=[
            {
                "tool": "delete_draft",
                "args": {"draft_id": "{result.draft_id}", "expected_sha256": "{result.sha256}"},
            }
        ],
        **_SAME_FILE,
    ),
    "delete_draft": change(
        "Delete draft",
        "Delete",
        "Delete the draft {capture.target.what}",
        cls="destructive",
        risk="medium",
        noun="draft {args.draft_id}",
        capture={"target": {"tool": "preview_delete", "args": {"draft_id": "{args.draft_id}"}}},
        bind={"expected_sha256": "{capture.target.sha256}"},
        preview={"kind": "affected", "items": "{capture.target.items}"},
        recoverable="The draft stays in .countersign/trash",
        keeps_days=KEEP.days,
        undo=[
            {
                "tool": "restore_file",
                "args": {"trash_id": "{result.trash_id}", "expected_sha256": "{result.sha256}"},
            }
        ],
        **_SAME_FILE,
    ),
    "send_draft": replace(
        change(
            "Send mail",
            "Send",
            "Send {capture.plan.what}",
            cls="destructive",
            risk="high",
            noun="{capture.plan.noun}",
            capture={"plan": {"tool": "preview_send", "args": {"sending": "{args}"}}},
            bind={
                "expected_sha256": "{capture.plan.sha256}",
                "expected_message": "{capture.plan.shown}",
            },
            **_WHOLE_MAIL,
            recoverable="A mail that was sent stays sent",
            notifies="{capture.plan.recipients}",
        ),
        open_world=True,
    ),
    **{name: FILES[name] for name in BACK},
}
