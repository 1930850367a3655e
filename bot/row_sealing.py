"""Rows of a version without MACs get theirs once: a note beside the audit key, out of the database's reach, says so.

Without the note, whoever can write to the database could cut the log back to an entry of that version and have rows of
their own sealed at the next start."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from bot.settings import Settings, SettingsError
from gate.rules.audit import FORMAT
from storage import file_modes
from storage.audit_log import Head, head, last
from storage.reseal import adopt

SEALED_BEFORE = (
    "The audit log ends with an entry of version 1, but {path} says that its rows were sealed before, at entry {seq}: "
    "restore the database from a backup made since then, or remove that file if you yourself have put back one of "
    "version 1."
)


async def seal_once(settings: Settings, engine: AsyncEngine, key: bytes) -> bool:
    """Give MACs to the rows of a version that made none; whether there was need. To be called before anything is
    appended to the log: its newest entry shows the need. Raises SettingsError where it was done before."""
    path, newest = _path(settings), await last(engine)
    needed = newest is not None and newest.format != FORMAT
    if needed and path.exists():
        raise SettingsError([SEALED_BEFORE.format(path=path, seq=noted_head(settings).seq or "unknown")])
    done = needed and await adopt(engine, key)
    if newest is None or not path.exists():
        _note(path, await head(engine))
    return done


def noted_head(settings: Settings) -> Head:
    """The end of the log when its rows were sealed, for `audit verify`; entry 0 where nothing is noted."""
    try:
        count, mac = _path(settings).read_text("ascii").split()
        return Head(int(count), mac)
    except (OSError, ValueError):
        return Head(0, "")


def _path(settings: Settings) -> Path:
    return settings.home / "audit.sealed"


def _note(path: Path, end: Head) -> None:
    """Written whole or not at all; on the disk when this returns."""
    draft = file_modes.file(path.with_name(f"{path.name}.{os.getpid()}"))
    with draft.open("w", encoding="ascii") as file:
        file.write(f"{end.seq} {end.mac}\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
