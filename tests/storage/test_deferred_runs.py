"""In a crowd, the runs of messages are written behind their acknowledgements, together; alone, with the message."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from sqlalchemy import event, text
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import Session
from gate.rules.jobs import OWNER, Run, for_owner, take_in, undo
from gate.rules.planner_port import Incoming
from gate.rules.ports import TooManyWaiting, Unavailable
from storage.deferred_runs import DeferredRuns
from storage.foreground import FLOOD
from storage.ledger import MAX_BACKGROUND, MAX_IN_FLOOD, SqlLedger
from storage.transaction import Enqueue, SqlTx
from tests.engines import engine_for
from tests.storage.conftest import KEY, enqueue


async def written(engine: AsyncEngine) -> list[str]:
    """The keys of the runs that are in the database."""
    async with engine.connect() as connection:
        return list(await connection.scalars(text("SELECT key FROM ran ORDER BY key")))


async def take(ledger: SqlLedger, *runs: Run) -> None:
    """As for a message that has to be acknowledged."""
    async with ledger.begin(20) as tx:
        for run in runs:
            tx.enqueue(run)


async def test_the_run_of_one_message_is_written_with_it(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await take(ledger, take_in("s", "e1"))
    assert await written(engine) == ["take_in:e1"]


@pytest.fixture
async def shared(postgres_url: str) -> AsyncIterator[AsyncEngine]:
    """An engine on PostgreSQL: SQLite has one writer, and so no crowd."""
    engine = engine_for(postgres_url)
    async with engine.begin() as connection:
        await connection.exec_driver_sql("CREATE TABLE ran (key TEXT PRIMARY KEY)")
    yield engine
    await engine.dispose()


@asynccontextmanager
async def crowd(engine: AsyncEngine, put: Enqueue = enqueue) -> AsyncIterator[SqlLedger]:
    """A ledger, while another message is taken in; at the end all runs are written."""
    ledger, ends = SqlLedger(engine, put, KEY), asyncio.Event()
    began = asyncio.Event()

    async def take_another() -> None:
        async with ledger.begin(20):
            began.set()
            await ends.wait()

    async with asyncio.TaskGroup() as others:
        others.create_task(take_another())
        await began.wait()
        yield ledger
        ends.set()
    await ledger.deferred.finish(20)


async def test_the_runs_of_a_crowd_are_written_behind_it(shared: AsyncEngine) -> None:
    async with crowd(shared) as ledger:
        await take(ledger, take_in("s", "e1"))
        await take(ledger, take_in("s", "e2"))
        assert await written(shared) == []
    assert await written(shared) == ["take_in:e1", "take_in:e2"]


def incoming(number: int) -> Incoming:
    return Incoming(f"e{number}", Session("T", "C", "1.0"), "U", "hello", f"{number}.0", True)


async def test_a_message_of_a_crowd_is_taken_in_by_one_statement(shared: AsyncEngine) -> None:
    statements: list[str] = []
    async with crowd(shared) as ledger:
        event.listen(shared.sync_engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
        assert await ledger.receive_at_once(incoming(1), 2, take_in("s", "e1"))
        (put,) = statements
        assert put.startswith("INSERT INTO inbox")
        assert await ledger.has_session(incoming(1).session)
    assert await written(shared) == ["take_in:e1"]


async def test_what_a_message_of_a_crowd_asks_for_is_done_for_who_wrote_it(shared: AsyncEngine) -> None:
    owners: dict[str, str] = {}
    async with crowd(shared, lambda _, run: owners.update({run.key: run.owner})) as ledger:
        with for_owner("ann"):
            assert await ledger.receive_at_once(incoming(1), 2, take_in("s", "e1"))
        with for_owner("ben"):
            assert await ledger.receive_at_once(incoming(2), 2, take_in("s", "e2"))
    assert owners == {"take_in:e1": "ann", "take_in:e2": "ben"}


async def test_what_is_here_already_or_too_much_is_left_to_a_transaction(shared: AsyncEngine) -> None:
    async with crowd(shared) as ledger:
        assert await ledger.receive_at_once(incoming(1), 2, take_in("s", "e1"))
        assert not await ledger.receive_at_once(incoming(1), 2, take_in("s", "e1"))
        assert await ledger.receive_at_once(incoming(2), 2, take_in("s", "e2"))
        assert not await ledger.receive_at_once(incoming(3), 2, take_in("s", "e3"))
        with pytest.raises(TooManyWaiting):
            async with ledger.begin(20) as tx:
                await tx.receive(incoming(3), 2)
    assert await written(shared) == ["take_in:e1", "take_in:e2"]


async def test_a_message_alone_is_left_to_a_transaction(ledger: SqlLedger) -> None:
    for _ in range(FLOOD):
        assert not await ledger.receive_at_once(incoming(1), 2, take_in("s", "e1"))
    assert not await ledger.has_session(incoming(1).session)
    assert not ledger._priority.is_flooded  # the transaction is what counts


async def test_while_very_much_is_acknowledged_less_else_is_done(shared: AsyncEngine) -> None:
    ledger, inside, most = SqlLedger(shared, enqueue, KEY), 0, [0]

    async def work() -> None:
        nonlocal inside
        async with ledger.begin() as tx:
            inside += 1
            most.append(inside)
            await tx.now()
            inside -= 1

    for number in range(FLOOD):
        async with ledger.begin(20) as tx:
            assert await tx.receive(incoming(number))
    await asyncio.gather(*(work() for _ in range(2 * MAX_BACKGROUND)))
    assert max(most) <= MAX_IN_FLOOD


async def test_what_the_sweep_does_not_find_again_is_written_with_its_cause(shared: AsyncEngine) -> None:
    async with crowd(shared) as ledger:
        await take(ledger, undo("a1"), take_in("s", "e1"))
        assert await written(shared) == [undo("a1").key]


async def test_a_message_that_is_not_stored_leaves_no_run(shared: AsyncEngine) -> None:
    async def fail(ledger: SqlLedger) -> None:
        async with ledger.begin(20) as tx:
            tx.enqueue(take_in("s", "e1"))
            raise ZeroDivisionError

    async with crowd(shared) as ledger:
        with pytest.raises(ZeroDivisionError):
            await fail(ledger)
    assert await written(shared) == []


async def test_each_run_stays_with_whom_it_is_for(engine: AsyncEngine) -> None:
    owners: dict[str, str] = {}
    ledger = SqlLedger(engine, lambda _, run: owners.update({run.key: run.owner}), KEY)
    for name in ("ann", ""):
        with for_owner(name):
            async with ledger.begin() as tx:
                tx.enqueue(take_in("s", name))
                ledger.deferred.add(tx.defer())
    await ledger.deferred.finish(20)
    assert owners == {"take_in:ann": "ann", "take_in:": ""}
    assert OWNER.get() == ""


async def test_runs_are_tried_again_while_the_database_does_not_answer(
    ledger: SqlLedger, engine: AsyncEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.deferred_runs.AGAIN", 0)
    left = [Unavailable("away"), Unavailable("away")]

    @asynccontextmanager
    async def begin() -> AsyncIterator[SqlTx]:
        if left:
            raise left.pop()
        async with ledger.begin() as tx:
            yield tx

    deferred = DeferredRuns(begin)
    deferred.add([take_in("s", "e1")])
    await deferred.finish(20)
    assert await written(engine) == ["take_in:e1"]


async def test_the_end_does_not_wait_for_a_database_that_does_not_answer(ledger: SqlLedger) -> None:
    @asynccontextmanager
    async def begin() -> AsyncIterator[SqlTx]:
        await asyncio.Event().wait()
        async with ledger.begin() as tx:
            yield tx

    deferred = DeferredRuns(begin)
    deferred.add([take_in("s", "e1")])
    async with asyncio.timeout(20):
        await deferred.finish(0.01)
