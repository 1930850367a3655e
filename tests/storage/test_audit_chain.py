"""The audit log only grows, and whoever changes it all the same is found out."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import event, insert, select, text, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.audit import GENESIS, mac
from gate.rules.ports import LedgerEvent
from storage.audit_log import PIECES, Head, UnreadableEntry, entries, head, last, verify
from storage.database import open_engine
from storage.ledger import SqlLedger
from storage.migrate import migrate, upgrade
from storage.rows import entry_row
from storage.tables import audit_head, audit_log
from tests.storage.conftest import KEY
from tests.storage.samples import THREAD, said

DROP_TRIGGERS = {
    "sqlite": [f"DROP TRIGGER audit_log_no_{what}" for what in ("update", "delete", "replace")],
    "postgresql": ["DROP TRIGGER audit_log_append_only ON audit_log"],
}
CHANGES = [
    "event = 'confirmed'",
    "session_id = 'T9:C9:9'",
    "timestamp = timestamp + {moment}",
    "tool_name = 'x'",
    "arguments = 'x'",
    "result = 'x'",
    "result_status = 'success'",
    "user_confirmed = NOT user_confirmed",
    "execution_time_ms = 1",
    "actor = 'U9'",
    "action_id = 'x'",
    "version = version + 1",
    "receipt = 'x'",
    "outcome = 'x'",
    "reason = 'x'",
    "token = 'x'",
    "team = 'x'",
    "requester = 'U9'",
    "requester = NULL",
    "format = 1",
    "format = 3",
    "prev = 'x'",
    "mac = 'x'",
]


NAMED = ["token = ''", "token = 'y'"]  # changes of an entry that names a token


async def fill(ledger: SqlLedger, count: int) -> None:
    for number in range(count):
        async with ledger.begin() as tx:
            tx.audit(said(reason=f"number {number}"))


async def as_owner(engine: AsyncEngine, *statements: str) -> None:
    """What somebody with all rights on the database can do."""
    async with engine.begin() as connection:
        for statement in statements:
            await connection.execute(text(statement))


async def unprotect(engine: AsyncEngine) -> None:
    await as_owner(engine, *DROP_TRIGGERS[engine.dialect.name])


async def test_entries_are_chained_in_the_order_of_their_transactions(
    ledger: SqlLedger, other: SqlLedger, engine: AsyncEngine
) -> None:
    async def write(by: SqlLedger, name: str) -> None:
        async with by.begin() as tx:
            tx.audit(said(reason=name))
            tx.audit(said(reason=f"{name} too"))

    await asyncio.gather(*(write(by, f"{n}") for n, by in enumerate([ledger, other] * 6)))
    lines = list(reversed(await ledger.audit_tail(team="T1", limit=100)))
    assert [line.seq for line in lines] == list(range(1, 25))
    assert [line.prev for line in lines] == [GENESIS, *(line.mac for line in lines[:-1])]
    assert all(a.at <= b.at for a, b in itertools.pairwise(lines))
    assert all(
        b.entry.reason == f"{a.entry.reason} too" for a, b in zip(lines[::2], lines[1::2], strict=True)
    )
    verified = await verify(engine, KEY)
    assert (verified.count, verified.broken_at) == (24, None)
    assert verified.head == await head(engine) == Head(24, lines[-1].mac)


async def test_entries_follow_the_committed_end_after_a_transaction_was_rolled_back(
    ledger: SqlLedger, other: SqlLedger, engine: AsyncEngine
) -> None:
    await fill(ledger, 2)

    async def write_and_break_off() -> None:
        async with ledger.begin() as tx:
            tx.audit(said(reason="never committed"))
            await tx.finish(lambda *_: False)
            raise ConnectionError

    with pytest.raises(ConnectionError):
        await write_and_break_off()
    for by in (other, ledger, ledger):
        await fill(by, 1)
    verified = await verify(engine, KEY)
    assert (verified.count, verified.broken_at) == (5, None)
    assert "never committed" not in [line.entry.reason for line in await ledger.audit_tail(team="T1")]


async def test_an_entry_takes_three_statements_on_sqlite_and_two_on_postgresql(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    await fill(ledger, 1)
    sent: list[str] = []
    event.listen(engine.sync_engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    async with ledger.begin() as tx:
        tx.audit(said(reason="told to clients, too"))
        tx.publish(LedgerEvent("task_changed", THREAD, "", {}))
    statements = [one for one in sent if not one.startswith("BEGIN")]
    assert len(statements) == (3 if engine.dialect.name == "sqlite" else 2), statements
    assert (await verify(engine, KEY)).count == 2


async def test_an_empty_log_verifies(engine: AsyncEngine) -> None:
    verified = await verify(engine, KEY)
    assert (verified.count, verified.broken_at, verified.head) == (0, None, Head(0, GENESIS))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit_log SET reason = 'x'",
        "UPDATE audit_log SET reason = 'x' WHERE seq = 2",
        "DELETE FROM audit_log",
        "DELETE FROM audit_log WHERE seq = 3",
    ],
)
async def test_the_database_refuses_to_change_or_delete(
    ledger: SqlLedger, engine: AsyncEngine, statement: str
) -> None:
    await fill(ledger, 3)
    with pytest.raises(DBAPIError, match="append-only"):
        await as_owner(engine, statement)
    assert (await verify(engine, KEY)).count == 3


async def test_the_database_refuses_the_ways_around(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await fill(ledger, 3)
    around = {
        "sqlite": "INSERT OR REPLACE INTO audit_log SELECT * FROM audit_log WHERE seq = 2",
        "postgresql": "TRUNCATE audit_log",
    }
    with pytest.raises(DBAPIError, match="append-only"):
        await as_owner(engine, around[engine.dialect.name])
    assert (await verify(engine, KEY)).count == 3


async def test_every_field_that_is_tampered_with_is_found(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await fill(ledger, 4)
    await unprotect(engine)
    await as_owner(engine, "CREATE TABLE kept AS SELECT * FROM audit_log")
    moment = {"sqlite": "1", "postgresql": "interval '1 microsecond'"}[engine.dialect.name]
    for change in (change.format(moment=moment) for change in CHANGES):
        await as_owner(engine, f"UPDATE audit_log SET {change} WHERE seq = 3")
        verified = await verify(engine, KEY)
        assert (change, verified.broken_at, verified.count) == (change, 3, 2)
        await as_owner(engine, "DELETE FROM audit_log", "INSERT INTO audit_log SELECT * FROM kept")
    assert (await verify(engine, KEY)).broken_at is None


# promise: API-22
async def test_a_token_that_is_taken_off_an_entry_or_exchanged_is_found(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    await fill(ledger, 2)
    async with ledger.for_token("f00d").begin() as tx:
        tx.audit(said())
    await fill(ledger, 1)
    assert [line.entry.token for line in await ledger.audit_tail(team="T1")] == ["", "f00d", "", ""]
    assert (await verify(engine, KEY)).broken_at is None
    await unprotect(engine)
    for change in NAMED:
        await as_owner(engine, f"UPDATE audit_log SET {change} WHERE seq = 3")
        assert (await verify(engine, KEY)).broken_at == 3


def test_an_entry_from_before_there_were_tokens_has_the_same_mac() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    old = "fa2504d2eb33246869d72f79ed0570de1f728fea46f034d6eb0cfc474384c859"
    assert mac(KEY, GENESIS, 1, at, said(reason="as ever"), 1) == old


@pytest.mark.parametrize("name", ["sqlite_url", "new_postgres_url"])
async def test_a_log_from_before_there_were_tokens_still_verifies(
    request: pytest.FixtureRequest, name: str
) -> None:
    """Entries are written with the tables of r005; then the database is brought to those of now."""
    url, at, prev = request.getfixturevalue(name), datetime(2026, 1, 1, tzinfo=UTC), GENESIS
    engine = open_engine(url)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(upgrade, "r005")
            columns = [column for column in audit_log.c if column.name not in ("token", "format")]
            for seq in (1, 2):
                entry = said(reason=f"number {seq}")
                row = {**entry_row(entry), "seq": seq, "timestamp": at, "prev": prev, "team": "T1"}
                row |= {"mac": (prev := mac(KEY, prev, seq, at, entry, 1)), "requester": None}
                await connection.execute(insert(audit_log).values({c.name: row[c.name] for c in columns}))
            await connection.execute(update(audit_head).values(seq=2, mac=prev))
        await migrate(url)
        found = await verify(engine, KEY)
        assert (found.count, found.broken_at) == (2, None)
        async with SqlLedger(engine, lambda _, run: None, KEY).for_token("f00d").begin() as tx:
            tx.audit(said())
        assert (await verify(engine, KEY)).count == 3
    finally:
        await engine.dispose()


async def test_deleted_swapped_and_cut_off_entries_are_found(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await fill(ledger, 6)
    await unprotect(engine)
    await as_owner(engine, "CREATE TABLE kept AS SELECT * FROM audit_log")
    for broken, statements in {
        1: ["DELETE FROM audit_log WHERE seq = 1"],
        2: ["DELETE FROM audit_log WHERE seq = 2"],
        3: ["DELETE FROM audit_log WHERE seq = 3", "UPDATE audit_log SET seq = seq - 1 WHERE seq > 3"],
        4: [f"UPDATE audit_log SET seq = {new} WHERE seq = {old}" for old, new in ((4, 99), (5, 4), (99, 5))],
        6: ["DELETE FROM audit_log WHERE seq = 6"],
        5: ["DELETE FROM audit_log WHERE seq > 4"],
    }.items():
        await as_owner(engine, *statements)
        assert (await verify(engine, KEY)).broken_at == broken
        await as_owner(engine, "DELETE FROM audit_log", "INSERT INTO audit_log SELECT * FROM kept")
    assert (await verify(engine, KEY)).broken_at is None


async def test_an_end_cut_off_together_with_its_head_is_found_by_a_head_kept_outside(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    await fill(ledger, 3)
    earlier = await head(engine)
    await fill(ledger, 2)
    assert (await verify(engine, KEY, earlier)).broken_at is None
    await unprotect(engine)
    await as_owner(
        engine,
        "DELETE FROM audit_log WHERE seq > 2",
        "UPDATE audit_head SET seq = 2, mac = (SELECT mac FROM audit_log WHERE seq = 2)",
    )
    assert (await verify(engine, KEY)).broken_at is None
    assert (await verify(engine, KEY, earlier)).broken_at == 3
    await fill(ledger, 4)  # written over since
    assert (await verify(engine, KEY, earlier)).broken_at == 3


@pytest.mark.parametrize("number", [-5, 0, 6, 10**9])
async def test_an_entry_put_in_outside_of_the_chain_is_found_and_listed_to_nobody(
    ledger: SqlLedger, engine: AsyncEngine, number: int
) -> None:
    """The database refuses no insert, and nothing is chained to such an entry."""
    await fill(ledger, 5)
    async with engine.begin() as connection:
        row = dict((await connection.execute(select(audit_log).where(audit_log.c.seq == 5))).one()._mapping)
        await connection.execute(insert(audit_log), [{**row, "seq": number, "actor": "U_BOSS"}])
    assert (await verify(engine, KEY)).broken_at == number
    assert [line.seq for line in await ledger.audit_tail(team=row["team"])] == [5, 4, 3, 2, 1]


@pytest.fixture
async def on_sqlite(sqlite_url: str) -> AsyncIterator[tuple[SqlLedger, AsyncEngine]]:
    """A ledger on SQLite, which takes a value of any type in any column."""
    await migrate(sqlite_url)
    engine = open_engine(sqlite_url)
    yield SqlLedger(engine, lambda _, run: None, KEY), engine
    await engine.dispose()


@pytest.mark.parametrize("broken", [1, 4, 150])
@pytest.mark.parametrize(
    "change",
    ["actor = CAST(actor AS BLOB)", "timestamp = 'soon'", "format = x'32'", "version = x'31'", "mac = x'ff'"],
)
async def test_a_value_of_another_type_is_found_as_the_change_that_it_is(
    on_sqlite: tuple[SqlLedger, AsyncEngine], change: str, broken: int
) -> None:
    ledger, engine = on_sqlite
    await fill(ledger, 150)
    await unprotect(engine)
    await as_owner(engine, f"UPDATE audit_log SET {change} WHERE seq = {broken}")
    found = await verify(engine, KEY)
    assert (found.count, found.broken_at) == (broken - 1, broken)


async def test_an_export_and_a_start_say_which_entry_cannot_be_read(
    on_sqlite: tuple[SqlLedger, AsyncEngine],
) -> None:
    ledger, engine = on_sqlite
    await fill(ledger, 5)
    await unprotect(engine)
    await as_owner(engine, "UPDATE audit_log SET actor = CAST(actor AS BLOB) WHERE seq IN (3, 5)")
    exported = entries(engine)
    assert [(await anext(exported)).seq, (await anext(exported)).seq] == [1, 2]
    with pytest.raises(UnreadableEntry, match="Entry 3 of the audit log was changed"):
        await anext(exported)
    with pytest.raises(UnreadableEntry, match="Entry 5"):
        await last(engine)


async def test_an_entry_under_bytes_instead_of_a_number_is_found_and_listed_to_nobody(
    on_sqlite: tuple[SqlLedger, AsyncEngine],
) -> None:
    ledger, engine = on_sqlite
    await fill(ledger, 5)
    others = ", ".join(column.name for column in audit_log.c if column.name != "seq")
    await as_owner(
        engine, f"INSERT INTO audit_log (seq, {others}) SELECT x'32', {others} FROM audit_log WHERE seq = 5"
    )
    assert (await verify(engine, KEY)).broken_at == 6
    (team,) = {line.team async for line in entries(engine)}
    assert [line.seq for line in await ledger.audit_tail(team=team)] == [5, 4, 3, 2, 1]


async def test_a_log_written_with_another_key_does_not_verify(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await fill(ledger, 2)
    assert (await verify(engine, b"another key")).broken_at == 1


async def test_a_log_longer_than_one_chunk_verifies_and_tells_where_it_breaks(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    total = PIECES[0] + 50
    for first in range(0, total, 100):  # no transaction of the product writes thousands
        async with ledger.begin() as tx:
            for number in range(first, min(first + 100, total)):
                tx.audit(said(reason=f"number {number}"))
    assert (await verify(engine, KEY)).count == total
    await unprotect(engine)
    victim = random.Random(5).randint(PIECES[0], total)
    await as_owner(engine, f"UPDATE audit_log SET actor = 'U9' WHERE seq = {victim}")
    verified = await verify(engine, KEY)
    assert (verified.count, verified.broken_at) == (victim - 1, victim)
