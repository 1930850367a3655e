"""The audit log: entries appended one after the other, each chained to the one before; and the proof of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Row, Table, and_, bindparam, insert, literal, select, union_all, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gate.rules.audit import ROTATED, Checker, Entry, Keyring, Line, is_genuine, key_id, mac, team_of
from gate.rules.ports import Unavailable
from storage.columns import EPOCH, clock
from storage.database import connected, reading
from storage.events import event_of_row
from storage.rows import entry_row, to_line
from storage.tables import DECISIVE, audit_head, audit_log
from storage.task_tables import events

# Entries that are read at once; where one of them cannot be read, fewer, up to the last that can.
PIECES = (2000, 100, 10, 1)
AT_ONCE = 8  # rows that are written by one statement, which is built once for each number of them
# Built once, as every change there is needs them.
ADDED = insert(audit_log)
MOVED = update(audit_head).values(mac=bindparam("end"))
MOVED_ON = (
    update(audit_head)
    .where(audit_head.c.seq == bindparam("was_seq"), audit_head.c.mac == bindparam("was_mac"))
    .values(seq=bindparam("new_seq"), mac=bindparam("new_mac"))
    .returning(audit_head.c.seq)
)
# Whether an entry is one of those that were numbered; others were put in by hand. By a sum, so that no database goes
# through the whole log for it in the order of the numbers. SQLite reads a number also out of bytes, which equal none.
IN_CHAIN = and_(
    (audit_log.c.seq + 0).between(1, select(audit_head.c.seq).scalar_subquery()),
    audit_log.c.seq == audit_log.c.seq + 0,
)
LOCKED = select(audit_head.c.seq).with_for_update()


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


class KeyRotated(Unavailable):
    """The log goes on with another key than this process has."""

    def __init__(self) -> None:
        super().__init__(
            "The key of the audit log was rotated after this process had begun, so nothing changed: start it anew."
        )


class UnreadableEntry(Exception):
    """An entry has something in it that nobody has written. `seq`: its number."""

    def __init__(self, seq: int) -> None:
        super().__init__(f"Entry {seq} of the audit log was changed: see `python -m bot audit verify`.")
        self.seq = seq


@dataclass(slots=True)
class Chain:
    """What entries are chained with: the key, and the end of the log as this process has left it, None where it does
    not know it."""

    key: bytes
    end: Head | None = None


async def append(
    connection: AsyncConnection,
    chain: Chain,
    entries: Sequence[Entry],
    offset: timedelta,
    event_rows: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Write the entries at the end of the log, and then these rows of the table `events`. Locks the end until the
    transaction is over: do it last. Raises KeyRotated."""
    if connection.dialect.name == "postgresql":
        await _append_on_postgres(connection, chain.key, entries, offset, event_rows)
        return
    rows = await _after_known_end(connection, chain, entries, offset)
    if rows is None:
        rows = await _numbered_rows(connection, chain.key, entries, offset)
        await connection.execute(MOVED, {"end": rows[-1]["mac"]})
    # Should this not be committed, the next append does not find it there, and asks for the end.
    chain.end = Head(rows[-1]["seq"], rows[-1]["mac"])
    await connection.execute(ADDED, rows)
    if event_rows:
        await connection.execute(event_of_row(offset), event_rows)


async def _append_on_postgres(
    connection: AsyncConnection,
    key: bytes,
    entries: Sequence[Entry],
    offset: timedelta,
    event_rows: Sequence[Mapping[str, Any]],
) -> None:
    rows = await _numbered_rows(connection, key, entries, offset)
    end = {"end": rows[-1]["mac"]}
    if len(rows) + len(event_rows) <= AT_ONCE:
        given = [*_numbered("entry", rows), *_numbered("event", event_rows)]
        named = {f"{kind}_{name}": value for kind, row in given for name, value in row.items()}
        await connection.execute(_at_once(offset, len(rows), len(event_rows)), {**end, **named})
        return
    await connection.execute(ADDED, rows)
    await connection.execute(MOVED, end)
    if event_rows:
        await connection.execute(event_of_row(offset), event_rows)


async def _numbered_rows(
    connection: AsyncConnection, key: bytes, entries: Sequence[Entry], offset: timedelta
) -> list[dict[str, Any]]:
    """The rows of the entries, whose numbers are taken with this. Raises KeyRotated."""
    asked = {"more": len(entries), "own": key_id(key)}
    taken = (await connection.execute(_taken(offset), asked)).one_or_none()
    if taken is None:
        (
            await connection.execute(select(audit_head.c.seq))
        ).one()  # there is a head, so that it has another key
        raise KeyRotated
    seq, prev, at = taken
    return _chained(key, Head(seq - len(entries), prev), entries, at)


async def _after_known_end(
    connection: AsyncConnection, chain: Chain, entries: Sequence[Entry], offset: timedelta
) -> list[dict[str, Any]] | None:
    """The same with the end moved already, in one statement, where the log still ends as this process left it; None
    where it does not, as another process has written to it. For SQLite, whose clock is that of this process."""
    if chain.end is None:
        return None
    at = EPOCH + time.time_ns() // 1_000_000 * timedelta(milliseconds=1) + offset
    rows = _chained(chain.key, chain.end, entries, at)
    was = {"was_seq": chain.end.seq, "was_mac": chain.end.mac}
    given = {**was, "new_seq": rows[-1]["seq"], "new_mac": rows[-1]["mac"]}
    moved = (await connection.execute(MOVED_ON, given)).first()
    return rows if moved else None


def _chained(key: bytes, end: Head, entries: Sequence[Entry], at: datetime) -> list[dict[str, Any]]:
    """The rows of entries that come after this end of the log."""
    rows, prev = [], end.mac
    for seq, entry in enumerate(entries, end.seq + 1):
        value = mac(key, prev, seq, at, entry)
        rows.append(_row(Line(seq, at, entry, prev, value, team_of(entry.session))))
        prev = value
    return rows


async def in_turn(connection: AsyncConnection) -> None:
    """Wait until no other transaction that appends to the log, or has called this, is under way, and hold up those
    that come later; for transactions that append nothing. On SQLite there is only one at a time."""
    if connection.dialect.name == "postgresql":
        await connection.execute(LOCKED)


@cache
def _taken(offset: timedelta) -> Any:
    """Take so many numbers, and learn where the log ended and what time it is: nothing where the log goes on with
    another key."""
    own: Any = bindparam("own")
    mine = update(audit_head).where(audit_head.c.key.in_(("", own)))
    taken = mine.values(seq=audit_head.c.seq + bindparam("more"), key=own)
    return taken.returning(audit_head.c.seq, audit_head.c.mac, clock(offset))


@cache
def _at_once(offset: timedelta, entries: int, told: int) -> Any:
    """Write so many entries, the new end of the log, and so many events in one statement of PostgreSQL. From selects,
    as SQLAlchemy compiles an INSERT of several VALUES anew each time."""
    lines = [_named(audit_log, f"entry{i}") for i in range(entries)]
    written = _all_of(audit_log, lines).add_cte(MOVED.cte("moved"))
    given = [{**_named(events, f"event{i}", but=("seq", "at")), "at": clock(offset)} for i in range(told)]
    return written.add_cte(_all_of(events, given).cte("event")) if given else written


def _all_of(table: Table, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Insert these rows, whose columns are the same."""
    chosen = [select(*row.values()) for row in rows]
    return insert(table).from_select([*rows[0]], union_all(*chosen) if len(chosen) > 1 else chosen[0])


def _numbered(kind: str, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"{kind}{i}", row) for i, row in enumerate(rows)]


def _named(table: Table, kind: str, but: Sequence[str] = ()) -> dict[str, Any]:
    """A value by name for each column, such as `event_team`: several tables are written at once."""
    columns = (column for column in table.columns if column.name not in but)
    return {column.name: bindparam(f"{kind}_{column.name}", type_=column.type) for column in columns}


def _row(line: Line) -> dict[str, Any]:
    place = {"seq": line.seq, "timestamp": line.at, "prev": line.prev, "mac": line.mac}
    return {**entry_row(line.entry), **place, "team": line.team, "format": line.format}


async def head(engine: AsyncEngine) -> Head:
    """The end of the log, to be kept where the database's owner cannot change it."""
    async with connected(reading(engine)) as connection:
        return Head(*(await connection.execute(select(audit_head.c.seq, audit_head.c.mac))).one())


async def verify(engine: AsyncEngine, key: bytes | Keyring, anchor: Head | None = None) -> Verified:
    """Read the whole log and check every link. With an `anchor`, a head exported earlier, also that the log
    still goes through it: without one, entries cut off the end together with the head are not missed."""
    end, checker = await head(engine), Checker(key if isinstance(key, Keyring) else Keyring(key))
    marks = {mark.seq: mark.mac for mark in (end, anchor) if mark and mark.seq}
    if anchor and marks.get(anchor.seq, anchor.mac) != anchor.mac:
        return Verified(0, anchor.seq, end)
    try:
        while lines := await _lines(engine, checker.read, end.seq):
            broken = checker.broken_at(lines) or _orphaned_events(lines, marks)
            if broken:
                return Verified(broken - 1, broken, end)
    except UnreadableEntry as unreadable:
        return Verified(checker.read, unreadable.seq, end)
    missing = any(seq > checker.read for seq in marks) or not checker.ends_with_current()
    broken = checker.read + 1 if missing else await _outside(engine, checker.read + 1)
    return Verified(checker.read, broken, end)


async def _outside(engine: AsyncEngine, next_seq: int) -> int | None:
    """The number of an entry before the first or behind the last one, which nobody has written, the next one where it
    has no number; None for none."""
    outside = select(audit_log.c.seq).where(~IN_CHAIN).order_by(audit_log.c.seq).limit(1)
    async with connected(reading(engine)) as connection:
        found = (await connection.execute(outside)).scalar_one_or_none()
    return found if found is None or isinstance(found, int) else next_seq


async def last(engine: AsyncEngine) -> Line | None:
    """The newest entry; None where there is none. Raises UnreadableEntry."""
    newest = select(audit_log).order_by(audit_log.c.seq.desc()).limit(1)
    async with connected(reading(engine)) as connection:
        try:
            row = (await connection.execute(newest)).one_or_none()
            return _line(row) if row else None
        except (TypeError, ValueError):
            raise UnreadableEntry((await head(engine)).seq) from None


def _line(row: Row[Any]) -> Line:
    """The entry of a row. Raises TypeError or ValueError for values of a type that none has."""
    if any(isinstance(value, bytes) for value in row):
        raise TypeError("bytes are in no entry")
    return to_line(row)


def next_key(keys: Keyring, line: Line) -> bytes | None:
    """The key that the entry behind this one has to be chained with; None where it is none of these."""
    right = next((key for key in (keys.current, *keys.retired) if is_genuine(key, line)), None)
    return keys.named(line.entry.outcome) if right and line.entry.event == ROTATED else right


@cache
def decisive(offset: timedelta) -> Any:
    """Asks for the clock, and for the entries on how an action was decided and whether it began, in one statement."""
    now = select(clock(offset).label("now"), literal(1).label("one")).subquery()
    log = select(audit_log).where(DECISIVE, audit_log.c.action_id == bindparam("of")).subquery()
    return select(now.c.now, *log.c).select_from(now.outerjoin(log, now.c.one == literal(1)))


async def entries(engine: AsyncEngine) -> AsyncIterator[Line]:
    """The whole log as it stands, in order, without checking it. Raises UnreadableEntry."""
    read, end = 0, await head(engine)
    while lines := await _lines(engine, read, end.seq):
        for line in lines:
            yield line
        read = lines[-1].seq


async def _lines(engine: AsyncEngine, after: int, until: int) -> list[Line]:
    """The next entries. Raises UnreadableEntry where the very next one cannot be read."""
    rows = select(audit_log).where(audit_log.c.seq > after, audit_log.c.seq <= until)
    for most in PIECES:
        async with connected(reading(engine)) as connection:
            with suppress(TypeError, ValueError):  # SQLite takes anything in any column
                found = await connection.execute(rows.order_by(audit_log.c.seq).limit(most))
                return [_line(row) for row in found]
    raise UnreadableEntry(after + 1)


def _orphaned_events(lines: Sequence[Line], marks: dict[int, str]) -> int | None:
    """The first entry that is not the one a head had seen there."""
    return next((line.seq for line in lines if marks.get(line.seq, line.mac) != line.mac), None)
