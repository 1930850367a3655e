"""The key that chains the audit log: given from outside, or a file of our own."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from bot.settings import Settings, SettingsError

BYTES = 32


def audit_key(settings: Settings) -> bytes:
    """The key: COUNTERSIGN_AUDIT_KEY, else the file `audit.key` in the home, made when it is not there.

    Raises SettingsError: the file is no key of ours, or several replicas would each make one.
    """
    if settings.audit_secret:
        return settings.audit_secret.reveal().encode()
    if not settings.database_url.startswith("sqlite"):
        raise SettingsError(
            [
                "COUNTERSIGN_AUDIT_KEY is not set: with PostgreSQL every replica needs the same key, so make one "
                "with `openssl rand -hex 32` and give it to all of them."
            ]
        )
    path = settings.home / "audit.key"
    if not path.exists():
        _make(path)
    key = path.read_bytes()
    if len(key) != BYTES:
        raise SettingsError([f"{path} is not the {BYTES} bytes that were written: restore it from a backup."])
    return key


def _make(path: Path) -> None:
    """Write a new key, whole or not at all; where another process was first, its key stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"audit.key.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(secrets.token_bytes(BYTES))
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        draft.unlink()
