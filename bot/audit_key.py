"""The key that chains the audit log and makes the MACs of rows: found, held against the log, rotated."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncEngine

from bot.row_sealing import seal_once
from bot.settings import Settings, SettingsError, make_key
from gate.rules.audit import Keyring
from storage import reseal
from storage.audit_log import UnreadableEntry, head, last, next_key
from storage.row_macs import RowMacs, row_macs_of

GONE = (
    "The audit log has {count} entries, but their key {path} is missing: restore it from a backup; a new key would "
    "not fit them."
)
DISAGREE = (
    "{source} is not the key that the audit log ends with, or its last entry was changed: restore the key and the "
    "database that belong to each other, and look with `python -m bot audit verify`."
)
FROM_ENVIRONMENT = (
    "The audit key comes from COUNTERSIGN_AUDIT_KEY: stop every replica, set COUNTERSIGN_AUDIT_KEY to a new key "
    "(`openssl rand -hex 32`) and COUNTERSIGN_AUDIT_KEY_OLD to the one it has now, run `python -m bot audit "
    "rotate-key` again, and start them with both."
)


async def fitting_key(settings: Settings, engine: AsyncEngine, *, make: bool = True) -> Keyring:
    """The keys, after a look at the end of the log; with `make`, a new key where there is no log yet.

    Raises SettingsError: the key is missing although there is a log, or it is not the one that the log ends with."""
    end, path = await head(engine), settings.home / "audit.key"
    if end.seq and not settings.audit_secret and settings.alone and not path.exists():
        raise SettingsError([GONE.format(count=end.seq, path=path)])
    keys = keyring(settings, make=make and not end.seq)
    if not end.seq or await _chained_with(engine, keys) == keys.current:
        return keys
    waiting = _waiting(path)  # a rotation that was cut off after its entry was written
    if waiting.exists() and await _chained_with(engine, _with(keys, waiting)) == waiting.read_bytes():
        _exchanged(path, end.seq)
        return keyring(settings)
    source = "COUNTERSIGN_AUDIT_KEY" if settings.audit_secret else str(path)
    raise SettingsError([DISAGREE.format(source=source)])


async def fitting_seals(settings: Settings, engine: AsyncEngine) -> RowMacs:
    """What the operator's commands make and check rows with. Raises SettingsError as `fitting_key`."""
    return row_macs_of((await fitting_key(settings, engine)).current)


async def changing_key(settings: Settings, engine: AsyncEngine) -> tuple[RowMacs, bytes]:
    """The same for a command that changes something, and the key with which that is noted. Raises SettingsError."""
    key = (await fitting_key(settings, engine)).current
    await seal_once(settings, engine, key)
    return row_macs_of(key), key


async def seals_there(settings: Settings, engine: AsyncEngine) -> RowMacs | None:
    """The same where there is a key; None where there is neither a key nor a log yet. Nothing is made."""
    try:
        return row_macs_of((await fitting_key(settings, engine, make=False)).current)
    except SettingsError:
        if (await head(engine)).seq:
            raise
        return None


def keyring(settings: Settings, *, make: bool = False) -> Keyring:
    """The current key, and those of before. Raises SettingsError."""
    current = settings.audit_key(make=make)
    if settings.audit_secret:
        return Keyring(current, tuple(old.reveal().encode() for old in settings.audit_retired))
    return Keyring(
        current, tuple(path.read_bytes() for path in sorted(settings.home.glob("audit.key.until-*")))
    )


async def rotate(settings: Settings, engine: AsyncEngine) -> int:
    """Chain the log with a new key from here on; the number of the entry that says so. The service must not run.

    Raises SettingsError, with what to do first."""
    if settings.audit_secret:
        return await _rotate_given(settings, engine)
    keys, path = await fitting_key(settings, engine), settings.home / "audit.key"
    waiting = _waiting(path)
    waiting.unlink(missing_ok=True)  # of a rotation whose entry was never written
    await seal_once(settings, engine, keys.current)
    make_key(waiting)
    seq = await reseal.rotate(engine, keys.current, waiting.read_bytes())
    _exchanged(path, seq)
    return seq


async def _rotate_given(settings: Settings, engine: AsyncEngine) -> int:
    """From the old key in the environment to the new one."""
    keys = keyring(settings)
    ends_with = await _chained_with(engine, keys)
    if ends_with is None and (await head(engine)).seq:
        raise SettingsError([DISAGREE.format(source="COUNTERSIGN_AUDIT_KEY_OLD")])
    if ends_with in (None, keys.current):
        raise SettingsError([FROM_ENVIRONMENT])
    await seal_once(settings, engine, ends_with)
    return await reseal.rotate(engine, ends_with, keys.current)


async def _chained_with(engine: AsyncEngine, keys: Keyring) -> bytes | None:
    try:
        newest = await last(engine)
    except UnreadableEntry:
        return None
    return next_key(keys, newest) if newest else None


def _with(keys: Keyring, waiting: Path) -> Keyring:
    return Keyring(keys.current, (*keys.retired, waiting.read_bytes()))


def _waiting(path: Path) -> Path:
    """Where a new key lies until the log says that it counts."""
    return path.with_name("audit.key.next")


def _exchanged(path: Path, seq: int) -> None:
    """Put the new key in the place of the old one, which is kept: entries up to `seq` are checked with it."""
    kept = path.with_name(f"audit.key.until-{seq}")
    if not kept.exists():
        os.link(path, kept)
    os.replace(_waiting(path), path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
