"""A transaction is whole or nothing: with its runs and its audit entries, in time, and whoever cancels it."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action_states import Event
from gate.rules.jobs import Run, undo
from gate.rules.ports import Posted, Stale, Tx, Unavailable
from storage.audit_log import verify
from storage.database import READ_SECONDS, ask, carry, open_engine
from storage.ledger import MAX_BACKGROUND, NestedTransaction, SqlLedger
from tests.storage.conftest import KEY, enqueue
from tests.storage.samples import action, said


async def counted(engine: AsyncEngine) -> tuple[int, int, int]:
    """How many actions, runs and audit entries there are."""
    async with engine.connect() as connection:
        counts = [
            await connection.scalar(text(f"SELECT count(*) FROM {name}"))
            for name in ("actions", "ran", "audit_log")
        ]
    actions, ran, audited = counts
    return actions, ran, audited


async def write(tx: Tx, name: str) -> None:
    """An action with its run and its entry: all three or none."""
    tx.enqueue(undo(name))
    tx.audit(said(action=name))
    await tx.insert(action(name))


async def test_action_run_and_entry_are_written_together(ledger: SqlLedger, engine: AsyncEngine) -> None:
    async with ledger.begin(5) as tx:
        await write(tx, "a1")
        assert (await tx.action("a1")) == action("a1")
    assert await counted(engine) == (1, 1, 1)


async def test_a_body_that_fails_leaves_nothing(ledger: SqlLedger, engine: AsyncEngine) -> None:
    async def fail() -> None:
        async with ledger.begin(5) as tx:
            await write(tx, "a1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await counted(engine) == (0, 0, 0)


async def test_a_run_that_cannot_be_enqueued_leaves_nothing(engine: AsyncEngine) -> None:
    def full(connection: object, run: Run) -> None:
        raise LookupError("the queue is not there")

    with pytest.raises(LookupError):
        async with SqlLedger(engine, full, KEY).begin() as tx:
            await write(tx, "a1")
    assert await counted(engine) == (0, 0, 0)


# promise: REVIEW-24
async def test_a_loser_leaves_no_entry_and_no_run(ledger: SqlLedger, engine: AsyncEngine) -> None:
    async with ledger.begin() as tx:
        before = await tx.insert(action("a1", await tx.now()))
    for _ in range(2):
        with suppress(Stale):
            async with ledger.begin() as tx:
                tx.audit(said("cancelled"))
                tx.enqueue(undo("a1"))
                await tx.move(before, Event.CANCEL)
    assert await counted(engine) == (1, 1, 1)


async def test_a_timeout_of_the_body_is_the_bodys_own(ledger: SqlLedger) -> None:
    with pytest.raises(TimeoutError):
        async with ledger.begin(5):
            raise TimeoutError


async def test_a_second_transaction_inside_one_is_refused(ledger: SqlLedger, engine: AsyncEngine) -> None:
    async with ledger.begin() as tx:
        with pytest.raises(NestedTransaction, match="use its tx"):
            async with ledger.begin():
                pass
        with pytest.raises(NestedTransaction):
            await ledger.action("a1")
        with pytest.raises(NestedTransaction):
            await ledger.set_posted("a1", Posted("C1", "1", 1))
        await write(tx, "a1")
    assert await ledger.action("a1") == action("a1")
    assert await counted(engine) == (1, 1, 1)


async def test_a_body_that_takes_too_long_leaves_nothing(ledger: SqlLedger, engine: AsyncEngine) -> None:
    async def hang() -> None:
        async with ledger.begin(0.2) as tx:
            await write(tx, "a1")
            await asyncio.Event().wait()

    started = time.monotonic()
    with pytest.raises(Unavailable, match="Nothing was changed"):
        await hang()
    assert time.monotonic() - started < 2
    assert await counted(engine) == (0, 0, 0)
    async with ledger.begin(5) as tx:
        await write(tx, "a2")
    assert await counted(engine) == (1, 1, 1)


@pytest.fixture
def locked(database_url: str, engine: AsyncEngine) -> Callable[[], object]:
    """A block in which somebody else holds the write lock of the file, or of every action."""

    @asynccontextmanager
    async def lock() -> AsyncIterator[None]:
        if engine.dialect.name == "sqlite":
            holder = sqlite3.connect(str(make_url(database_url).database), isolation_level=None)
            holder.execute("BEGIN EXCLUSIVE")
            yield
            holder.close()
        else:
            async with await psycopg.AsyncConnection.connect(database_url.replace("+psycopg", "")) as line:
                await line.execute("LOCK TABLE actions IN ACCESS EXCLUSIVE MODE")
                yield

    return lock


@pytest.mark.slow
async def test_a_locked_database_is_unavailable_in_time_and_comes_back(
    ledger: SqlLedger,
    engine: AsyncEngine,
    locked: Callable[..., AsyncIterator[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "storage.ledger.READ_SECONDS", READ_SECONDS
    )  # the suite is more patient than the product
    started = time.monotonic()
    async with locked():
        tries = [begin_and_write(ledger, f"a{number}", 1) for number in range(8)]
        ends = await asyncio.gather(*tries, return_exceptions=True)
        took = time.monotonic() - started
        # Readers of SQLite do not wait for a writer; on PostgreSQL the whole table is locked here.
        waits = pytest.raises(Unavailable) if engine.dialect.name == "postgresql" else nullcontext()
        with waits:
            await ledger.action("a1")
        assert time.monotonic() - started < took + 2 * READ_SECONDS
    assert [type(end) for end in ends] == [Unavailable] * 8
    assert took < 6  # one after the other they take 8
    await begin_and_write(ledger, "a1", 5)
    assert await counted(engine) == (1, 1, 1)


async def begin_and_write(ledger: SqlLedger, name: str, seconds: float | None = None) -> None:
    async with ledger.begin(seconds) as tx:
        await write(tx, name)


async def test_a_transaction_that_somebody_waits_for_goes_before_those_that_nobody_does(
    ledger: SqlLedger, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.ledger.YIELD_SECONDS", 60)
    ended: list[str] = []

    async def write_down(name: str, seconds: float | None) -> None:
        await begin_and_write(ledger, name, seconds)
        ended.append(name)

    async with asyncio.TaskGroup() as all_at_once:
        for number in range(60):
            all_at_once.create_task(write_down(f"background{number}", None))
        all_at_once.create_task(write_down("click", 20))
    assert ended.index("click") <= MAX_BACKGROUND
    assert await counted(engine) == (61, 61, 61)


async def test_what_nobody_waits_for_begins_after_a_transaction_that_somebody_waits_for(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.ledger.YIELD_SECONDS", 60)
    ended: list[str] = []

    async def write_down() -> None:
        await begin_and_write(ledger, "background")
        ended.append("background")

    async with asyncio.timeout(30), asyncio.TaskGroup() as both:
        async with ledger.begin(20) as tx:
            both.create_task(write_down())
            for number in range(10):
                await write(tx, f"click{number}")
            ended.append("click")
    assert ended == ["click", "background"]


async def test_what_nobody_waits_for_is_not_held_up_for_long(postgres_url: str) -> None:
    engine = open_engine(postgres_url)
    ledger = SqlLedger(engine, enqueue, KEY)
    async with asyncio.timeout(20), ledger.begin(20):

        async def in_background() -> None:
            async with ledger.begin():
                pass

        await asyncio.create_task(in_background())
    await engine.dispose()


async def test_no_other_task_gives_a_connection_back(ledger: SqlLedger, engine: AsyncEngine) -> None:
    """The end of a loop may cancel such a task before it begins: the garbage collector would find the connection."""
    names = list[str | None]()

    def made(loop: asyncio.AbstractEventLoop, coro: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        names.append(coro.__qualname__)
        return asyncio.Task(coro, loop=loop)

    await ledger.now()  # opens the connection
    asyncio.get_running_loop().set_task_factory(made)  # type: ignore[arg-type]
    for seconds in (5, None):
        async with ledger.begin(seconds) as tx:
            await tx.now()
    await ledger.now()
    await ask(engine, text("SELECT 1"))
    await carry(engine, text("DELETE FROM ran"))
    asyncio.get_running_loop().set_task_factory(None)
    assert names == []
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


@pytest.mark.slow
async def test_cancelled_transactions_leave_the_pool_usable_and_nothing_half_done(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    chance, loop = random.Random(7), asyncio.get_running_loop()
    for batch in range(10):
        tasks = [asyncio.create_task(begin_and_write(ledger, f"a{batch}-{n}")) for n in range(20)]
        for task in tasks:
            loop.call_later(chance.random() * 0.15, task.cancel)
        await asyncio.wait(tasks)
        assert {type(task.exception()) for task in tasks if not task.cancelled()} <= {type(None)}
    await asyncio.gather(*(begin_and_write(ledger, f"after{number}", 10) for number in range(25)))
    actions, ran, audited = await counted(engine)
    assert actions == ran == audited
    assert 25 <= actions < 225
    verified = await verify(engine, KEY)
    assert (verified.count, verified.broken_at) == (audited, None)
    assert engine.pool.checkedout() == 0  # type: ignore[attr-defined]


async def test_a_database_that_is_not_there_is_unavailable(tmp_path: object, postgres_url: str) -> None:
    gone = ["postgresql://app@127.0.0.1:1/none", f"sqlite:///{tmp_path}/no/such/directory/a.db"]
    for url in gone:
        engine = open_engine(url)
        ledger = SqlLedger(engine, enqueue, KEY)
        with pytest.raises(Unavailable):
            await ledger.now()
        with pytest.raises(Unavailable):
            async with ledger.begin(1):
                pass
        await engine.dispose()


async def test_lines_that_the_server_closed_are_replaced_unseen(postgres_url: str) -> None:
    engine = open_engine(postgres_url)
    ledger = SqlLedger(engine, enqueue, KEY)
    await ledger.now()
    plain_url = postgres_url.replace("+psycopg", "")
    async with await psycopg.AsyncConnection.connect(plain_url, autocommit=True) as line:
        others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        await line.execute(f"SELECT pg_terminate_backend(pid) {others}")
        async with asyncio.timeout(20):
            while await (await line.execute(f"SELECT 1 {others}")).fetchone():
                await line.execute("SELECT pg_sleep(0.01)")
    await ledger.now()
    await engine.dispose()


async def test_a_transaction_left_open_by_a_stopped_process_holds_nobody_up_for_long(
    postgres_url: str,
) -> None:
    engine = open_engine(postgres_url)
    async with engine.connect() as connection:
        shown = await connection.execute(text("SHOW idle_in_transaction_session_timeout"))
        assert shown.scalar() == "10s"
    await engine.dispose()
