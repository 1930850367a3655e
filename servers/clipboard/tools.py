"""The clipboard tools, each with its card and its undo. Their docstrings are what people and models read."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Annotated, Any

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from servers import differences
from servers.cards import Card, bound, call, change, reading, unchanged
from servers.clipboard.history import (
    Content,
    ExpectedArg,
    History,
    Pasts,
    Placed,
    Plan,
    RecordArg,
    TextArg,
    secret,
)
from servers.clipboard.host import Clipboard, Held
from servers.filesystem import answers, disk

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
        while not answers.fits(shown):
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
        found, more = answers.fitting(self.history.entries(contains), limit)
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
    lines = differences.unified(
        [f"{line}\n" for line in before], [f"{line}\n" for line in after], ("", ""), 1
    )
    change = "\n".join(lines.splitlines()[2:])
    return Plan(change=change, expected_sha256=mark(held), restorable=held.kind != "other")


def _lines(text: str, what: str) -> list[str]:
    if not text:
        return [f"({what})"] if what else []
    if secret(text):
        return [f"(looks secret, so it is not shown: {len(text)} characters)"]
    return text.splitlines()


@dataclass(frozen=True)
class Changing:
    """The changing tools over one clipboard and its history."""

    clipboard: Clipboard
    history: History
    alone: Lock = field(default_factory=Lock)

    def set_clipboard(self, text: TextArg, expected_sha256: ExpectedArg = None) -> Placed:
        """Put a text into the clipboard. What was there is kept for the way back, when it was text."""
        placed = self._place(text, expected_sha256)
        self.history.keep(text, "set")
        return placed

    def restore_clipboard(self, record: RecordArg, expected_sha256: ExpectedArg = None) -> Placed:
        """Put an earlier text of the history back into the clipboard."""
        return self._place(self.history.text(record), expected_sha256)

    def _place(self, text: str, expected: str | None) -> Placed:
        if "\0" in text or any("\ud800" <= c <= "\udfff" for c in text):
            raise ToolError("The text holds a sign that no clipboard takes. Leave it out.")
        with self.alone:
            before = self.clipboard.read()
            if expected is not None and mark(before) != expected:
                raise ToolError("The clipboard has changed since it was shown. Look again, then ask again.")
            record = None if before.kind == "other" else self.history.keep(before.text, "replaced")
            self.clipboard.write(text)
            now = self.clipboard.read()
        if now.text != text:
            raise ToolError(
                "The clipboard holds something else now: another program took it. Look at it again."
            )
        return Placed(characters=len(text), sha256=mark(now), record=record)


_SHOWN: dict[str, Any] = {
    "bind": bound("expected_sha256"),
    "preview": {"kind": "text", "after": "{capture.plan.change}"},
    "recoverable": "A text that gives way is put back",
    "undo": [
        {
            "when": "{capture.plan.restorable}",
            **call("restore_clipboard", record="{result.record}", expected_sha256="{result.sha256}"),
        }
    ],
    "drift": unchanged("get_clipboard"),
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
        capture={"plan": call("preview_clipboard", text="{args.text}")},
        **_SHOWN,
    ),
    "restore_clipboard": change(
        "Put a text back",
        "Put back",
        "Put the text {args.record} back into the clipboard",
        risk="low",
        noun="the clipboard",
        capture={"plan": call("preview_restore_clipboard", record="{args.record}")},
        **_SHOWN,
    ),
}
