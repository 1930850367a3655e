"""What the servers know of SQLite files without opening them: their limits and their journals."""

from __future__ import annotations

import os
from pathlib import Path

HEADER = b"SQLite format 3\0"
LARGEST_CHANGED = 64 << 20  # bytes of a database whose rows are changed: it is copied to memory
LARGEST_RECORD = 64 << 20  # bytes of the rows before and after a change, as they are kept
MOST_CHANGES = 200  # in one call


def too_long(seconds: float) -> str:
    """The refusal of a question that was stopped."""
    return f"The question took longer than {seconds:g} seconds and was stopped. Ask for less at once."


MAGIC = bytes.fromhex("d9d505f920a163d7")
FOREIGN = (
    "{0}-journal was not written by this server. Remove that file, see whether {0} is as it should be, "
    "then ask again."
)
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def foreign(database: Path) -> bool:
    """Whether the journal of a database of ours names a super-journal: SQLite would delete the file of that name.

    Only a change to several databases has one, and none of ours is such.
    """
    try:
        file = os.open(f"{database}-journal", _READ)
    except FileNotFoundError:
        return False
    except OSError:  # a link, or nothing that can be read: SQLite would not get further
        return True
    try:
        return os.pread(file, len(MAGIC), max(0, os.fstat(file).st_size - len(MAGIC))) == MAGIC
    finally:
        os.close(file)
