"""The audit log: entries appended one after the other, each chained to the one before; and the proof of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gate.action import Session
from gate.audit import GENESIS, Entry, Line, broken_at, mac
from storage.columns import clock
from storage.engine import reading
from storage.rows import entry_row, to_line
from storage.tables import actions, audit_head, audit_log

CHUNK = 2000
REQUESTER = select(actions.c.requester).where(actions.c.id == bindparam("of")).scalar_subquery()
# Built once: three statements for every change there is.
ADDED = insert(audit_log).values(requester=REQUESTER)
MOVED = update(audit_head).values(mac=bindparam("end"))


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the log. Kept outside the database, it shows later that nothing was cut off."""

    seq: int
    mac: str


@dataclass(frozen=True, slots=True)
class Verified:
    """`count` entries were read; `broken_at` is the first that is not as it was written, or missing."""

    count: int
    broken_at: int | None
    head: Head


async def append(
    connection: AsyncConnection, key: bytes, entries: Sequence[Entry], offset: timedelta
) -> None:
    """Write the entries at the end of the log. Locks the end until the transaction is over: do it last."""
    head = (await connection.execute(_taken(offset), {"more": len(entries)})).one()
    seq, prev, at = head[0] - len(entries), head[1], head[2]
    rows = []
    for entry in entries:
        seq += 1
        value = mac(key, prev, seq, at, entry)
        rows.append(_row(Line(seq, at, entry, prev, value)))
        prev = value
    await connection.execute(ADDED, rows)
    await connection.execute(MOVED, {"end": prev})


@cache
def _taken(offset: timedelta) -> Any:
    """Take so many numbers, and learn where the log ended and what time it is."""
    taken = update(audit_head).values(seq=audit_head.c.seq + bindparam("more"))
    return taken.returning(audit_head.c.seq, audit_head.c.mac, clock(offset))


def _row(line: Line) -> dict[str, Any]:
    place = {"seq": line.seq, "timestamp": line.at, "prev": line.prev, "mac": line.mac}
    team = Session.of(line.entry.session).team if line.entry.session.count(":") >= 2 else ""
    return {**entry_row(line.entry), **place, "team": team, "of": line.entry.action}


async def head(engine: AsyncEngine) -> Head:
    """The end of the log, to be kept where the database's owner cannot change it."""
    async with reading(engine).connect() as connection:
        return Head(*(await connection.execute(select(audit_head.c.seq, audit_head.c.mac))).one())


async def verify(engine: AsyncEngine, key: bytes, anchor: Head | None = None) -> Verified:
    """Read the whole log and check every link. With an `anchor`, a head exported earlier, also that the log
    still goes through it: without one, entries cut off the end together with the head are not missed."""
    end, read, prev = await head(engine), 0, GENESIS
    marks = {mark.seq: mark.mac for mark in (end, anchor) if mark and mark.seq}
    if anchor and marks.get(anchor.seq, anchor.mac) != anchor.mac:
        return Verified(0, anchor.seq, end)
    while lines := await _lines(engine, read, end.seq):
        broken = broken_at(key, lines, prev, read + 1) or _strays(lines, marks)
        if broken:
            return Verified(broken - 1, broken, end)
        read, prev = lines[-1].seq, lines[-1].mac
    missing = [seq for seq in marks if seq > read]
    return Verified(read, read + 1 if missing else None, end)


async def entries(engine: AsyncEngine) -> AsyncIterator[Line]:
    """The whole log as it stands, in order, without checking it."""
    read, end = 0, await head(engine)
    while lines := await _lines(engine, read, end.seq):
        for line in lines:
            yield line
        read = lines[-1].seq


async def _lines(engine: AsyncEngine, after: int, until: int) -> list[Line]:
    rows = select(audit_log).where(audit_log.c.seq > after, audit_log.c.seq <= until)
    async with reading(engine).connect() as connection:
        found = await connection.execute(rows.order_by(audit_log.c.seq).limit(CHUNK))
        return [to_line(row) for row in found]


def _strays(lines: Sequence[Line], marks: dict[int, str]) -> int | None:
    """The first entry that is not the one a head had seen there."""
    return next((line.seq for line in lines if marks.get(line.seq, line.mac) != line.mac), None)
