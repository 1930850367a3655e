"""An MCP server over the clipboard of this host, with a history of what gave way. Times are UTC.

`python -m servers.clipboard --folder DIR` serves it on standard input and output.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AwareDatetime, BaseModel, Field

from servers import differences
from servers.clipboard_programs import EMPTY, Clipboard, Held, Host, Kind
from servers.command_line import Arguments, Clock, serve, utc_now
from servers.detection.single_words import secret
from servers.filesystem import answers, disk
from servers.lines import one_line
from servers.sqlite.files import FOREIGN, foreign
from servers.tool_metadata import Card, bound, call, change, mcp_server, reading, unchanged

LONGEST = 50_000  # characters that are set at once
Why = Literal["set", "replaced"]

TextArg = Annotated[str, Field(max_length=LONGEST, description="The text to put there; “” empties it.")]
RecordArg = Annotated[
    str, Field(pattern=r"^(empty|[0-9]{1,12}|m[0-9a-f]{16})$", description="The id in the history.")
]
Mark = Annotated[str, Field(pattern=r"^(empty|other|[0-9a-f]{64})$")]
ExpectedArg = Annotated[
    Mark | None,
    Field(description="SHA-256 of the text that must be there now, “empty” or “other”. Empty: anything."),
]


class Content(BaseModel):
    """What is in the clipboard."""

    kind: Kind = Field(description="other: no text, or more of it than this server takes")
    text: str = ""
    characters: int = 0
    sha256: Mark
    truncated: bool = False
    note: str = ""


class Past(BaseModel):
    """A text that this server put into the clipboard, or that gave way to one."""

    record: str
    at: AwareDatetime
    why: Why
    text: str
    characters: int
    truncated: bool


class Pasts(BaseModel):
    entries: list[Past]
    truncated: bool
    note: str = ""


class Plan(BaseModel):
    """What setting the clipboard would change."""

    change: str = Field(description="the lines that go (-) and come (+)")
    expected_sha256: Mark = Field(description="of what is there now")
    restorable: bool = Field(description="whether what is there now can be put back")
    puts_back: str | None = Field(
        default=None, description="the earlier text, unless it looks secret or is too long"
    )


class Placed(BaseModel):
    characters: int
    sha256: Mark = Field(description="of what is there now")
    record: str | None = Field(description="of what gave way, to restore it; none when it is lost")


KEEP = timedelta(days=30)
MOST_KEPT, MOST_SECRETS = 200, 20
LONGEST_SHOWN = 2_000  # characters of one entry in a list
_TABLE = """CREATE TABLE IF NOT EXISTS past (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, why TEXT NOT NULL, text TEXT NOT NULL) STRICT"""
_LOST = "Nothing is kept under {record}; perhaps it looked secret and the server was started anew, or it is too old."


@dataclass(frozen=True)
class History:
    """What was put into the clipboard, and what gave way to it."""

    path: Path
    clock: Clock
    unwritten: dict[str, str] = field(default_factory=dict)  # record to a text that looks secret

    @classmethod
    def at(cls, folder: Path, clock: Clock) -> History:
        """The history in this folder. Raises ValueError with a sentence when it cannot be kept there."""
        history = cls(folder / "clipboard.sqlite", clock)
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            os.close(os.open(history.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            with history._opened() as base:
                base.execute(_TABLE)
        except (OSError, sqlite3.Error, ToolError) as error:
            raise ValueError(
                f"The history cannot be kept in {folder}: {error}. Name another folder."
            ) from error
        return history

    def keep(self, text: str, why: Why) -> str:
        """The record under which a text is found again."""
        if not text:
            return EMPTY
        if secret(text):
            return self._remember(text)
        now = self.clock()
        with self._opened() as base:
            base.execute("DELETE FROM past WHERE at < ?", [(now - KEEP).isoformat(timespec="seconds")])
            row = base.execute(
                "INSERT INTO past(at, why, text) VALUES (?, ?, ?)",
                [now.isoformat(timespec="seconds"), why, text],
            ).lastrowid
            base.execute("DELETE FROM past WHERE id <= ?", [(row or 0) - MOST_KEPT])
        return str(row)

    def _remember(self, text: str) -> str:
        record = f"m{secrets.token_hex(8)}"
        self.unwritten[record] = text
        for old in list(self.unwritten)[:-MOST_SECRETS]:
            del self.unwritten[old]
        return record

    def text(self, record: str) -> str:
        """The text of a record. Raises ToolError when it is not kept."""
        if record == EMPTY:
            return ""
        if record in self.unwritten:
            return self.unwritten[record]
        with self._opened() as base:
            row = base.execute("SELECT text FROM past WHERE id = ?", [record]).fetchone()
        if row is None:
            raise ToolError(_LOST.format(record=record))
        return str(row[0])

    def entries(self, contains: str) -> list[Past]:
        """All entries that contain the words, newest first."""
        words = contains.casefold()
        with self._opened() as base:  # one text of a megabyte after the other
            rows = base.execute("SELECT id, at, why, text FROM past ORDER BY id DESC")
            return [_past(*row) for row in rows if words in row[3].casefold()]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if foreign(self.path):
            raise ToolError(FOREIGN.format(self.path.name))
        with closing(sqlite3.connect(self.path, timeout=5)) as base, base:
            yield base


def _past(number: int, at: str, why: Why, text: str) -> Past:
    return Past(
        record=str(number),
        at=datetime.fromisoformat(at),
        why=why,
        text=text[:LONGEST_SHOWN],
        characters=len(text),
        truncated=len(text) > LONGEST_SHOWN,
    )


_SECRET = "It looks like a password or a key, so it is not shown. Ask with show_secret if it must be."


@dataclass(frozen=True)
class Tools:
    """The tools over one clipboard and its history."""

    clipboard: Clipboard
    history: History
    alone: Lock = field(default_factory=Lock)

    def get_clipboard(
        self,
        show_secret: Annotated[bool, Field(description="Show a secret: a person types for it.")] = False,
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
        text = self.history.text(record)
        plan = _plan(self.clipboard.read(), text)
        shown = not secret(text) and answers.fits(plan.change + text)
        return plan.model_copy(update={"puts_back": text if shown else None})

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


def mark(held: Held) -> str:
    """What tells this content from another: the SHA-256 of a text, else its kind."""
    return disk.sha256(held.text.encode()) if held.kind == "text" else held.kind


def _plan(held: Held, text: str) -> Plan:
    if held.kind != "other" and held.text == text:
        raise ToolError("That would change nothing: this is in the clipboard already.")
    change = differences.change(_lines(held.text, held.what), _lines(text, ""))
    return Plan(change=change, expected_sha256=mark(held), restorable=held.kind != "other")


def _lines(text: str, what: str) -> str:
    if not text:
        return f"({one_line(what)})\n" if what else ""
    if secret(text):
        return f"(looks secret, so it is not shown: {len(text)} characters)\n"
    return text if text.endswith("\n") else text + "\n"


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
        summaries=[{"unless": "{args.text}", "summary": "Empty the clipboard"}],
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
        reported_as={"text": "{capture.plan.puts_back}"},
        **_SHOWN,
    ),
}


ABOUT = (
    "The clipboard of the host where this server runs. What this server puts there, and what gives way to it, is "
    "kept in a history of its own; what looks secret is not."
)


def server(folder: Path, clipboard: Clipboard | None = None, clock: Clock = utc_now) -> MCPServer:
    """The server over this host's clipboard, unless another is given. Its history is a file in `folder`.

    Raises ValueError with a sentence when the folder or the file in it cannot be used.
    """
    here, history = clipboard or Host(), History.at(folder, clock)
    return mcp_server("clipboard", "Clipboard", ABOUT, CARDS, [Tools(here, history)])


def configured(words: Sequence[str | Path]) -> MCPServer:
    """The server as its arguments say. Raises ValueError with a sentence."""
    parser = Arguments(prog="python -m servers.clipboard", description="An MCP server over the clipboard.")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="where its history is kept")
    return server(parser.parse_args([str(word) for word in words]).folder)


if __name__ == "__main__":
    serve(configured)
