"""Keys that are not in the database: a MAC over every row that decides about a run, and secrets encrypted at rest.

Both are derived from the audit key. Whoever can only write to the database can make neither, so that a row they
wrote or changed is known as one. Rows put back as they once were are not: the audit log tells of those.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from sqlalchemy import Boolean, Column, Integer, LargeBinary, Row, Table

from gate.rules.action import ALTERED, EARLIER
from storage.columns import EPOCH, MICROSECOND, Packed, SessionKey, Time

# Columns that statements of the database fill in, and that decide nothing by themselves; all others are covered. A
# row that is taken back loses its MAC, so that emptying `revoked_at` brings nothing back.
OPEN = {
    "actions": {"due"},
    "tasks": {"due"},
    "server_questions": {"due"},
    "grants": {"revoked_at", "revoked_by"},
    "api_tokens": {"revoked_at"},
    "inbox": {"reader", "held_until", "done_at"},
    "exchanges": {"reports"},
}
BOX = "aesgcm1:"  # begins every encrypted text
NONCE = 12  # bytes


class DecryptionFailed(Exception):
    """An encrypted text was not made with this key, or for another place. Its text is a sentence."""


class RowMacs:
    """Makes and checks MACs of rows (HMAC-SHA-256, hex), and encrypts texts (AES-256-GCM, random nonces)."""

    def __init__(self, audit_key: bytes) -> None:
        self._mac_key = _derived(audit_key, b"rows")
        self._box = AESGCM(_derived(audit_key, b"secrets"))

    def mac(self, table: Table, row: Mapping[str, Any]) -> str:
        """Over what stands in the columns, but for those of OPEN. `row`: values as the columns take or give them.
        Blank values are left out, so that a column added later, blank in all rows, leaves their MACs right."""
        written = ((name, blank, write(row[name])) for name, blank, write in _covered(table))
        data = json.dumps([table.name, {name: value for name, blank, value in written if value != blank}])
        return hmac.new(self._mac_key, data.encode("ascii"), hashlib.sha256).hexdigest()

    def sealed(self, table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
        """The row with its MAC."""
        return {**row, "mac": self.mac(table, row)}

    def flaw(self, table: Table, row: Row[Any]) -> str:
        """Why a row that was read is not one that was sealed: EARLIER, ALTERED, or "" where it is."""
        found = row._mapping
        if not found["mac"]:
            return EARLIER
        return "" if hmac.compare_digest(self.mac(table, dict(found)), found["mac"]) else ALTERED

    def holds(self, table: Table, row: Row[Any] | None) -> bool:
        """Whether there is a row, and it is as it was written."""
        return row is not None and not self.flaw(table, row)

    def proof(self, name: str, args: Sequence[str]) -> str:
        """A MAC over the arguments of a run."""
        data = json.dumps(["run", name, *args])
        return hmac.new(self._mac_key, data.encode("ascii"), hashlib.sha256).hexdigest()

    def closed(self, text: str, about: Sequence[str]) -> str:
        """The text encrypted, to be opened only together with `about`. "" stays ""."""
        if not text:
            return ""
        nonce = os.urandom(NONCE)
        return BOX + (nonce + self._box.encrypt(nonce, text.encode(), _mac_input(about))).hex()

    def opened(self, text: str, about: Sequence[str]) -> str:
        """What `closed` was given. Raises Unopened."""
        if not text:
            return ""
        try:
            data = bytes.fromhex(text.removeprefix(BOX)) if text.startswith(BOX) else b""
            return self._box.decrypt(data[:NONCE], data[NONCE:], _mac_input(about)).decode()
        except (ValueError, InvalidTag):
            raise DecryptionFailed(
                "A stored secret was changed, or made with another key: make a new one."
            ) from None


@cache
def row_macs_of(audit_key: bytes) -> RowMacs:
    """The same one for the same key: to derive its keys costs more than to make a MAC."""
    return RowMacs(audit_key)


def _derived(audit_key: bytes, label: bytes) -> bytes:
    """32 bytes for one purpose (HMAC-SHA-256 as a key derivation function, NIST SP 800-108)."""
    return hmac.new(audit_key, b"countersign 1: " + label, hashlib.sha256).digest()


def _mac_input(about: Sequence[str]) -> bytes:
    return json.dumps(list(about)).encode("ascii")


@cache
def _covered(table: Table) -> list[tuple[str, Any, Callable[[Any], Any]]]:
    """The names of the columns that a MAC covers, each with its one blank value and how values are written."""
    left_out = {"mac", *OPEN.get(table.name, ())}
    covered = sorted((column for column in table.c if column.name not in left_out), key=lambda one: one.name)
    return [(column.name, _blank(column), _writer(column)) for column in covered]


def _blank(column: Column[Any]) -> Any:
    """As `_writer` writes it. One for each column: two that are left out could be exchanged unseen."""
    if column.nullable:
        return None
    if isinstance(column.type, Packed):
        return "null"
    return 0 if isinstance(column.type, Integer | Boolean | Time) else ""


def _writer(column: Column[Any]) -> Callable[[Any], Any]:
    kind = column.type
    if isinstance(kind, Packed):
        return kind.text
    if isinstance(kind, Time):
        return lambda value: None if value is None else (value - EPOCH) // MICROSECOND
    if isinstance(kind, SessionKey):
        return lambda value: value.key
    if isinstance(kind, LargeBinary):
        return lambda value: bytes(value).decode("latin-1")
    if isinstance(kind, Boolean):
        return bool
    return lambda value: value
