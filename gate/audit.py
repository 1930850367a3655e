"""The record: what is written down of every event, and how each entry is chained to the one before."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the audit log: the fields of spec 000, plus actor, version, receipt and the finer outcome.

    `status` is "success", "error" or "rejected_by_user" where the event has a result, else None;
    `user_confirmed` is true only where a person decided.
    """

    event: str  # proposed, shown, confirmed, voted, rejected, cancelled, expired, edited, started, ...
    session: str
    actor: str  # a Slack user id, "system", or "policy"
    action: str = ""
    tool: str = ""
    arguments: str = ""
    version: int = 0
    receipt: str = ""
    result: str = ""
    status: str | None = None
    outcome: str = ""
    user_confirmed: bool = False
    execution_ms: int | None = None
    reason: str = ""
    token: str = ""  # id of the API token that it came through; "" where it came through none


@dataclass(frozen=True, slots=True)
class Line:
    """An entry as it stands in the log."""

    seq: int
    at: datetime
    entry: Entry
    prev: str
    mac: str


def body(seq: int, at: datetime, entry: Entry) -> bytes:
    """The bytes that are authenticated: every field, in a fixed order. Entries from before there were tokens have
    none, so a token stands at the end where there is one, and nothing stands there where there is none."""
    names = [name for name in Entry.__slots__ if name != "token" or entry.token]
    fields = [seq, at.isoformat(timespec="microseconds"), *(getattr(entry, name) for name in names)]
    return json.dumps(fields, ensure_ascii=True, separators=(",", ":")).encode()


def mac(key: bytes, prev: str, seq: int, at: datetime, entry: Entry) -> str:
    """HMAC-SHA-256 (RFC 2104) over the previous entry's value and this entry, as hex."""
    return hmac.new(key, prev.encode() + b"\n" + body(seq, at, entry), hashlib.sha256).hexdigest()


def broken_at(key: bytes, lines: list[Line], prev: str = GENESIS, first: int = 1) -> int | None:
    """The sequence number of the first entry that does not follow from the one before, or None."""
    for expected, line in enumerate(lines, first):
        right = mac(key, prev, line.seq, line.at, line.entry)
        if line.seq != expected or line.prev != prev or not hmac.compare_digest(right, line.mac):
            return expected
        prev = line.mac
    return None
