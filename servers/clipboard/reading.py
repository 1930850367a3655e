"""The tools that only read. Their docstrings are what people and models read of them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers.clipboard.history import History, secret
from servers.clipboard.host import Clipboard, Held
from servers.clipboard.models import Content, Pasts, Plan, RecordArg, TextArg
from servers.filesystem import disk, room

_SECRET = "It looks like a password or a key, so it is not shown. Ask with show_secret if it must be."


@dataclass(frozen=True)
class Reading:
    """The reading tools over one clipboard and its history."""

    clipboard: Clipboard
    history: History

    def get_clipboard(
        self,
        show_secret: Annotated[bool, Field(description="Show it even when it looks secret.")] = False,
    ) -> Content:
        """Read the text in the clipboard. What looks like a password or a key is only shown when asked for."""
        held = self.clipboard.read()
        hidden = not show_secret and secret(held.text)
        shown = "" if hidden else held.text
        while not room.fits(shown):
            shown = shown[: len(shown) // 2]
        note = _SECRET if hidden else f"It holds {held.what}." if held.what else ""
        return Content(
            kind=held.kind,
            text=shown,
            characters=len(held.text),
            sha256=mark(held),
            truncated=len(shown) < len(held.text),
            note=note,
        )

    def clipboard_history(
        self,
        contains: Annotated[str, Field(max_length=200, description="Words in the text. Empty: all.")] = "",
        limit: Annotated[int, Field(ge=1, le=200, description="At most this many.")] = 20,
    ) -> Pasts:
        """List what this server put into the clipboard in the last 30 days and what gave way, newest first.

        What people copy themselves is not watched, and what looks secret is not kept.
        """
        found, more = room.fitting(self.history.entries(contains), limit)
        return Pasts(entries=found, truncated=more, note="" if found else "There is nothing.")

    def preview_clipboard(self, text: TextArg) -> Plan:
        """What set_clipboard would change."""
        return _plan(self.clipboard.read(), text)

    def preview_restore_clipboard(self, record: RecordArg) -> Plan:
        """What restore_clipboard would change."""
        return _plan(self.clipboard.read(), self.history.text(record))


def mark(held: Held) -> str:
    """What tells this content from another: the SHA-256 of a text, else its kind."""
    return disk.sha256(held.text.encode()) if held.kind == "text" else held.kind


def _plan(held: Held, text: str) -> Plan:
    if held.kind != "other" and held.text == text:
        raise ToolError("That would change nothing: this is in the clipboard already.")
    before, after = _lines(held.text, held.what), _lines(text, "")
    change = "\n".join(list(difflib.unified_diff(before, after, lineterm="", n=1))[2:])
    return Plan(change=change, expected_sha256=mark(held), restorable=held.kind != "other")


def _lines(text: str, what: str) -> list[str]:
    if not text:
        return [f"({what})"] if what else []
    if secret(text):
        return [f"(looks secret, so it is not shown: {len(text)} characters)"]
    return text.splitlines()
