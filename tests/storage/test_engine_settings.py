"""The settings under which SQLite and PostgreSQL keep their word are really in force."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from gate.rules.audit import Entry
from storage.columns import clock
from storage.database import CHECKPOINTS, DatabaseInUse, open_engine, reading, serve_alone, sound_resets
from storage.ledger import SqlLedger
from storage.migrate import migrate

ROOT = Path(__file__).parents[2]
HOLDER = "import sys, time; from storage.database import serve_alone; f = serve_alone(sys.argv[1]); print('held', flush=True); time.sleep(60)"


@pytest.mark.parametrize(
    ("version", "sound"),
    [
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
    ],
)
def test_versions_that_may_checkpoint_while_others_write_are_known(
    version: tuple[int, ...], sound: bool
) -> None:
    assert sound_resets(version) is sound


async def test_no_connection_checkpoints_by_itself_where_that_could_lose_something(sqlite_url: str) -> None:
    engine = open_engine(sqlite_url)
    async with engine.begin() as one, reading(engine).connect() as other:
        pages = {await line.scalar(text("PRAGMA wal_autocheckpoint")) for line in (one, other)}
    await engine.dispose()
    assert pages == ({0} if CHECKPOINTS else {1000})


async def test_the_ledger_writes_the_wal_back_while_it_holds_the_lock(sqlite_url: str) -> None:
    await migrate(sqlite_url)
    engine = open_engine(sqlite_url)
    ledger = SqlLedger(engine, lambda connection, run: None, b"key")
    for number in range(20):
        async with ledger.begin() as tx:
            tx.audit(Entry(event=f"e{number}", session="T:C:1", actor="system"))
    await ledger.checkpoint()
    async with reading(engine).connect() as line:
        _, frames, done = (await line.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")).one()
    await engine.dispose()
    assert frames == done


async def test_every_sqlite_connection_has_the_settings(sqlite_url: str) -> None:
    engine = open_engine(sqlite_url)
    wanted = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
    }

    async def check(connection: AsyncConnection, seconds: int) -> None:
        found = {name: await connection.scalar(text(f"PRAGMA {name}")) for name in wanted}
        assert found == wanted
        left = await connection.scalar(text("PRAGMA busy_timeout"))
        assert seconds * 1000 - 500 < left <= seconds * 1000  # what the time until now has left of it

    async with (
        reading(engine).connect() as first,
        reading(engine).connect() as second,
        engine.connect() as third,
    ):
        await check(first, 2)
        await check(second, 2)
        await check(third, 15)
    async with engine.execution_options(wait=1).connect() as again:
        await check(again, 1)
    await engine.dispose()


@pytest.mark.slow
async def test_connections_that_open_a_new_sqlite_file_together_all_begin(tmp_path: Path) -> None:
    async def begin(url: str) -> None:
        engine = open_engine(url)
        async with engine.begin() as connection:
            await connection.execute(text("SELECT 1"))
        await engine.dispose()

    for number in range(60):  # without the second try one in a hundred was told that the file is locked
        await asyncio.gather(*(begin(f"sqlite:///{tmp_path}/{number}.db") for _ in range(6)))


async def test_reads_go_on_while_a_write_is_under_way(engine: AsyncEngine) -> None:
    async with engine.begin() as writer:
        await writer.execute(text("INSERT INTO ran (key) VALUES ('unseen')"))
        async with reading(engine).connect() as reader:
            assert await asyncio.wait_for(reader.scalar(text("SELECT count(*) FROM ran")), 5) == 0


async def test_read_and_write_in_one_transaction_lose_no_update(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE counter AS SELECT 0 AS value"))
    lock = " FOR UPDATE" if engine.dialect.name == "postgresql" else ""

    async def add_one() -> None:
        async with engine.begin() as connection:
            value = await connection.scalar(text(f"SELECT value FROM counter{lock}"))
            await connection.execute(text("UPDATE counter SET value = :value"), {"value": value + 1})

    await asyncio.gather(*(add_one() for _ in range(30)))
    async with reading(engine).connect() as connection:
        assert await connection.scalar(text("SELECT value FROM counter")) == 30


async def test_the_databases_clock_is_the_time_and_follows_the_offset(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    earliest = datetime.now(UTC) - timedelta(milliseconds=2)
    now = await ledger.now()
    assert earliest <= now <= datetime.now(UTC) + timedelta(milliseconds=2)
    assert now.tzinfo is UTC
    ledger.offset = timedelta(days=-3, microseconds=7)
    async with ledger.begin() as tx:
        assert timedelta(0) <= await tx.now() - now - ledger.offset < timedelta(seconds=5)


async def test_the_clock_goes_on_inside_a_transaction(engine: AsyncEngine) -> None:
    async with engine.begin() as connection:
        first = last = await connection.scalar(select(clock(timedelta(0))))
        for _ in range(500):
            if last > first:
                break
            last = await connection.scalar(select(clock(timedelta(0))))
        assert last > first


def test_one_process_serves_from_a_sqlite_file(sqlite_url: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, sqlite_url], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(
            DatabaseInUse, match=r"Another Countersign is serving from .*: stop it, or set DATABASE_URL"
        ):
            serve_alone(sqlite_url)
        holder.kill()
    held = serve_alone(sqlite_url)
    assert held is not None
    with pytest.raises(DatabaseInUse):
        serve_alone(sqlite_url)
    held.close()
    serve_alone(sqlite_url).close()  # type: ignore[union-attr]


def test_many_processes_may_serve_from_postgres() -> None:
    assert serve_alone("postgres://app@db/countersign") is None


def test_every_usual_spelling_of_a_url_is_understood(tmp_path: Path) -> None:
    spellings = {
        "postgres://u:p@h/d": "postgresql+psycopg",
        "postgresql://u:p@h/d": "postgresql+psycopg",
        "postgresql+psycopg://u:p@h/d": "postgresql+psycopg",
        f"sqlite:///{tmp_path}/a.db": "sqlite+aiosqlite",
        f"sqlite+aiosqlite:///{tmp_path}/a.db": "sqlite+aiosqlite",
    }
    assert {url: open_engine(url).url.drivername for url in spellings} == spellings
