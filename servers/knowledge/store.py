"""The index of a root: one SQLite file in `.countersign/knowledge`, read and written whole, so it can come back."""

from __future__ import annotations

import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime

from mcp.server.mcpserver.exceptions import ToolError

from servers.filesystem import disk
from servers.filesystem.roots import Root, Roots, Spot, private
from servers.filesystem.text import read_at
from servers.filesystem.trash import KEEP

LARGEST = 128 << 20  # bytes
_FOLDER, _NAME = "knowledge", "index.sqlite"
_ID = re.compile(r"^\d{8}T\d{6}-[0-9a-f]{16}$")
_BROKEN = "The index in .countersign/knowledge cannot be read. Move it away, then index the folders anew."
_SCHEMA = """
CREATE TABLE folder(path TEXT PRIMARY KEY, recursive INT NOT NULL) WITHOUT ROWID;
CREATE TABLE file(path TEXT PRIMARY KEY, sha256 TEXT NOT NULL, size INT NOT NULL) WITHOUT ROWID;
CREATE TABLE chunk(id INTEGER PRIMARY KEY, path TEXT NOT NULL, n INT NOT NULL, first INT NOT NULL, last INT NOT NULL,
                   text TEXT NOT NULL, UNIQUE (path, n));
CREATE VIRTUAL TABLE word USING fts5(text, content='chunk', content_rowid='id', tokenize='porter unicode61');
CREATE TRIGGER chunk_in AFTER INSERT ON chunk BEGIN INSERT INTO word(rowid, text) VALUES (new.id, new.text); END;
CREATE TRIGGER chunk_out AFTER DELETE ON chunk
    BEGIN INSERT INTO word(word, rowid, text) VALUES ('delete', old.id, old.text); END;
"""


def stored(root: Root) -> bytes:
    """The index as it is on disk; nothing when there is none."""
    if not os.path.lexists(root.path / ".countersign" / _FOLDER / _NAME):
        return b""
    with private(root, _FOLDER, make=False) as folder:
        return _bytes(Spot(folder, _NAME, "The index"))


def _bytes(spot: Spot) -> bytes:
    with disk.reading(spot) as file:
        data = read_at(file, 0, LARGEST + 1)
    if len(data) > LARGEST:
        raise ToolError(f"The index is larger than {LARGEST >> 20} MB. Index smaller folders.")
    return data


def named(data: bytes) -> str:
    """SHA-256 of an index, or “absent”."""
    return disk.sha256(data) if data else disk.ABSENT


@contextmanager
def opened(data: bytes) -> Iterator[sqlite3.Connection]:
    """The index in memory, empty when there is none. Raises ToolError when it is broken."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as base:
        try:
            if data:
                base.deserialize(data)
            else:
                base.executescript(_SCHEMA)
            yield base
        except sqlite3.DatabaseError as error:
            raise ToolError(_BROKEN) from error


def replace(root: Root, before: bytes, after: bytes, at: datetime) -> str:
    """Put a new index in place of the one before, which is kept. Returns the id of that record.

    For who is alone in the root. An empty `after` means: no index.
    """
    if len(after) > LARGEST:
        raise ToolError(f"The index would be larger than {LARGEST >> 20} MB. Index fewer files.")
    record = f"{at:%Y%m%dT%H%M%S}-{secrets.token_hex(8)}"
    with private(root, _FOLDER) as folder, private(root, _FOLDER, "before") as kept:
        _purge(kept, at)
        _write(Spot(kept, record, "The index"), before)
        os.fsync(kept)
        index = Spot(folder, _NAME, "The index")
        if after:
            staged = disk.temporary(folder, "The index")
            _write(staged, after)
            os.replace(staged.name, index.name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            disk.remove(index)
        os.fsync(folder)
    return record


def _write(spot: Spot, data: bytes) -> None:
    with disk.staging(spot, 0o600) as file:
        disk.write_all(file, data)


def _purge(kept: int, at: datetime) -> None:
    for name in filter(_ID.match, os.listdir(kept)):
        if datetime.strptime(name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC) + KEEP <= at:
            disk.remove(Spot(kept, name, name))


def kept(roots: Roots, record: str) -> tuple[Root, bytes]:
    """The index before a change, and its root. Raises ToolError when there is no such record."""
    for root in roots.roots if _ID.match(record) else ():
        with suppress(ToolError), private(root, _FOLDER, "before", make=False) as folder:
            return root, _bytes(Spot(folder, record, "The record"))
    raise ToolError("There is no record of that id; perhaps its 30 days are over. Index the folder anew.")
