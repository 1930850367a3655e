"""The record: what is written down of every event, and how each entry is chained to the one before."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

GENESIS = "0" * 64
FORMAT = 2  # of entries; those of format 1 leave out what an entry is found by
ROTATED = "key_rotated"  # the event after which another key chains the log; `outcome` is its id
READ_ALONE = "read alone"  # the outcome of what is about a read that is for whoever asked alone
ADOPTED = "rows_sealed"  # the event by which rows of a version without MACs were given theirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the audit log: the fields of docs/promises.md ACT-19, plus actor, version, receipt and the finer
    outcome.

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
    requester: str = ""  # of the action; "" where there is none


@dataclass(frozen=True, slots=True)
class Line:
    """An entry as it stands in the log."""

    seq: int
    at: datetime
    entry: Entry
    prev: str
    mac: str
    team: str = ""  # of the session, kept beside the entry to find it by
    format: int = FORMAT


def without_reason(line: Line) -> Line:
    """An entry as it is listed to somebody who may not read why."""
    return replace(line, entry=replace(line.entry, reason=""))


@dataclass(frozen=True, slots=True)
class Keyring:
    """The key that the log is chained with now, and those of before its rotations."""

    current: bytes
    retired: tuple[bytes, ...] = ()

    def named(self, name: str) -> bytes | None:
        """The key with this id; None where it is not here."""
        return next((key for key in (self.current, *self.retired) if key_id(key) == name), None)


def key_id(key: bytes) -> str:
    """What a key is called on the record: says nothing about it, and no other key has it."""
    return hmac.new(key, b"countersign: id of a key", hashlib.sha256).hexdigest()[:32]


def team_of(session: str) -> str:
    """The team of a session's key; "" where it is no key of a session."""
    return session.partition(":")[0] if session.count(":") >= 2 else ""


def body(seq: int, at: datetime, entry: Entry, format: int = FORMAT) -> bytes:
    """The bytes that are authenticated: the format, and every field in a fixed order. In format 1 there was no number
    of the format, no team and no requester, and a token stood at the end only where there was one."""
    new = format != 1
    names = [
        name for name in Entry.__slots__ if new or (name != "requester" and (name != "token" or entry.token))
    ]
    fields = [seq, at.isoformat(timespec="microseconds"), *(getattr(entry, name) for name in names)]
    named = [f"format {format}", team_of(entry.session), *fields] if new else fields
    return json.dumps(named, ensure_ascii=True, separators=(",", ":")).encode()


def mac(key: bytes, prev: str, seq: int, at: datetime, entry: Entry, format: int = FORMAT) -> str:
    """HMAC-SHA-256 (RFC 2104) over the previous entry's value and this entry, as hex."""
    return hmac.new(key, prev.encode() + b"\n" + body(seq, at, entry, format), hashlib.sha256).hexdigest()


def is_genuine(key: bytes, line: Line) -> bool:
    """Whether this entry was written with this key behind the one that it names, and is as it was written."""
    right = mac(key, line.prev, line.seq, line.at, line.entry, line.format)
    # In format 1, what an entry is found by was not part of it: only its team can be worked out again.
    return hmac.compare_digest(right, line.mac) and line.team == team_of(line.entry.session)


class Checker:
    """Reads a log from its beginning and finds the first entry that does not follow from the one before."""

    def __init__(self, keys: Keyring) -> None:
        self._keys = keys
        # That the next entry has to be chained with; None: the first shows which
        self._key: bytes | None = None
        self._lost = False  # it would have to be chained with a key that is not here
        self.prev, self.read, self._format = GENESIS, 0, 1

    def broken_at(self, lines: Iterable[Line]) -> int | None:
        """The sequence number of the first entry that is wrong, or None. May be called again with those that follow."""
        for line in lines:
            if not self._follows(line):
                return self.read + 1
            self.prev, self.read, self._format = line.mac, self.read + 1, line.format
            if line.entry.event == ROTATED:
                self._key = self._keys.named(line.entry.outcome)
                self._lost = self._key is None
        return None

    def ends_with_current(self) -> bool:
        """Whether the next entry would be chained with the current key, as far as was read."""
        return not self._lost and self._key in (None, self._keys.current)

    def _follows(self, line: Line) -> bool:
        if (line.seq, line.prev) != (self.read + 1, self.prev) or not self._format <= line.format <= FORMAT:
            return False
        if self._lost:
            return False
        if self._key is None:
            ring = (self._keys.current, *self._keys.retired)
            self._key = next((key for key in ring if is_genuine(key, line)), None)
            return self._key is not None
        return is_genuine(self._key, line)
