"""The history: a SQLite file that only its owner can read. What looks secret stays in memory, for the way back."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

from mcp.server.mcpserver.exceptions import ToolError

from servers.arguments import Clock
from servers.clipboard.models import EMPTY, Past
from servers.security.patterns import SECRETS, chance, hits

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
    by_chance = 12 <= len(alone) <= 200 and not any(c.isspace() or c == "/" for c in alone) and chance(alone)
    return by_chance or any(True for line in text.splitlines() for _ in hits(line, SECRETS, lambda: True))


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
        except (OSError, sqlite3.Error) as error:
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
