"""The tools that change the clipboard. Each looks again before, and after: what it says happened has happened."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock

from mcp.server.mcpserver.exceptions import ToolError

from servers.clipboard.history import History
from servers.clipboard.host import Clipboard
from servers.clipboard.models import ExpectedArg, Placed, RecordArg, TextArg
from servers.clipboard.reading import mark


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
