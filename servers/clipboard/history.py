"""What the clipboard tools take and answer, and the history of texts. Times are UTC."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AwareDatetime, BaseModel, Field

from servers.command_line import Clock
from servers.detection.credentials import by_chance, to_hide
from servers.detection.hits import hits
from servers.sqlite.files import FOREIGN, foreign

LONGEST = 50_000  # characters that are set at once
EMPTY: Final = "empty"
OTHER: Final = "other"
Kind = Literal["text", "empty", "other"]

TextArg = Annotated[str, Field(max_length=LONGEST, description="The text to put there; “” empties it.")]
RecordArg = Annotated[
    str, Field(pattern=r"^(empty|[0-9]{1,12}|m[0-9a-f]{16})$", description="From clipboard_history.")
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
    why: Literal["set", "replaced"]
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


class Placed(BaseModel):
    characters: int
    sha256: Mark = Field(description="of what is there now")
    record: str | None = Field(description="of what gave way, for restore_clipboard; none when it is lost")


KEEP = timedelta(days=30)
MOST_KEPT, MOST_SECRETS = 200, 20
LONGEST_SHOWN = 2_000  # characters of one entry in a list
_TABLE = """CREATE TABLE IF NOT EXISTS past (
    id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, why TEXT NOT NULL, text TEXT NOT NULL) STRICT"""
_LOST = "Nothing is kept under {record}; perhaps it looked secret and the server was started anew, or it is too old."
Why = Literal["set", "replaced"]


def secret(text: str) -> bool:
    """Whether a text looks like a password, a key or a token: a known form, or one word as if made by chance."""
    alone = text.strip()
    random = 12 <= len(alone) <= 200 and not any(c.isspace() or c == "/" for c in alone) and by_chance(alone)
    return random or any(True for _ in hits(text, to_hide))


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
            base.execute("DELETE FROM past WHERE at < ?", [_moment(now - KEEP)])
            row = base.execute(
                "INSERT INTO past(at, why, text) VALUES (?, ?, ?)", [_moment(now), why, text]
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
        with self._opened() as base:
            rows = base.execute("SELECT id, at, why, text FROM past ORDER BY id DESC").fetchall()
        return [_past(*row) for row in rows if contains.casefold() in row[3].casefold()]

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if foreign(self.path):
            raise ToolError(FOREIGN.format(self.path.name))
        with closing(sqlite3.connect(self.path, timeout=5)) as base, base:
            yield base


def _moment(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


def _past(number: int, at: str, why: Why, text: str) -> Past:
    return Past(
        record=str(number),
        at=datetime.fromisoformat(at),
        why=why,
        text=text[:LONGEST_SHOWN],
        characters=len(text),
        truncated=len(text) > LONGEST_SHOWN,
    )
