"""Runs and timers: written with the caller's transaction, carried out on the caller's loop."""

from __future__ import annotations

import asyncio
import base64
import logging
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
import sqlalchemy as sa
from dbos._serialization import deserialize_args, deserialize_value
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from bot.concurrency import ConcurrencySlots
from bot.engine import (
    MAX_INLINE_WORKFLOWS,
    MAX_WORKFLOWS_PER_OWNER,
    Engine,
    Job,
    Pickled,
    json_alone,
)
from bot.heartbeats import Rhythm
from gate.rules.jobs import OWNER, Run
from gate.rules.ports import Unavailable


class Started(Engine):
    """An engine with the ledger's side of it: transactions that enqueue."""

    ledger: AsyncEngine
    calls: list[tuple[str, ...]]

    async def ask(self, *runs: Run) -> None:
        async with self.ledger.begin() as conn:
            for run in runs:
                await conn.run_sync(self.enqueue, run)
        self.wake()  # as the ledger does; that a run is found without it is shown in test_queue_waker.py


@asynccontextmanager
async def started(
    url: str, work: Callable[..., Awaitable[None]] | None = None, executor: str = "one", seconds: float = 5
) -> AsyncIterator[Started]:
    engine = Started(url, executor, retries=(0.01, 0.01), rhythm=Rhythm(beat=0.1, dead=1.0))
    engine.ledger, engine.calls = create_async_engine(url), []
    engine._slots = ConcurrencySlots(
        long=0.02
    )  # how long a run counts as one that computes: see test_concurrency.py

    async def note(*args: str) -> None:
        engine.calls.append(args)
        if work:
            await work(*args)

    jobs = {
        "note": Job("cards", note),
        "other": Job("events", note),
        "next": Job("plans", note, follows=True),
    }
    await engine.start(jobs)
    try:
        yield engine
    finally:
        await engine.drain(seconds)
        await engine.ledger.dispose()


async def until(true: Callable[[], bool], seconds: float = 20) -> None:
    for _ in range(int(seconds * 100)):
        if true():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("waited in vain")


async def ended(engine: Engine, key: str) -> None:
    for _ in range(1000):
        if not await engine.pending(key):
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"{key} did not end")


@pytest.mark.slow
async def test_a_run_is_carried_out_with_its_arguments_on_the_loop_that_asked(database_url: str) -> None:
    loops = []

    async def work(*_: str) -> None:
        loops.append(asyncio.get_running_loop())

    async with started(database_url, work) as engine:
        await engine.ask(Run("note", "k", ("a", "ü")))
        await ended(engine, "k")
        assert engine.calls == [("a", "ü")]
        assert loops == [asyncio.get_running_loop()]


@pytest.mark.slow(but=1)
async def test_a_run_is_rolled_back_with_the_transaction_that_asked_for_it(database_url: str) -> None:
    async with started(database_url) as engine:
        async with engine.ledger.connect() as conn:
            await conn.run_sync(engine.enqueue, Run("note", "never", ("never",)))
            await conn.rollback()
        assert not await engine.pending("never")
        await engine.ask(Run("note", "later", ("later",)))
        await ended(engine, "later")
        assert engine.calls == [("later",)]


@pytest.mark.slow
async def test_the_same_key_is_one_run_while_it_waits_and_after_it_ended(database_url: str) -> None:
    async with started(database_url) as engine:
        twice = Run("note", "k", ("once",))
        await engine.ask(twice, twice)
        await ended(engine, "k")
        await engine.ask(twice, Run("note", "last", ("last",)))
        await until(lambda: ("last",) in engine.calls)
        assert engine.calls == [("once",), ("last",)]


@pytest.mark.slow
async def test_a_delayed_run_waits_until_it_is_due(database_url: str) -> None:
    async with started(database_url) as engine:
        await engine.ask(Run("note", "soon", ("soon",), delay=0.5), Run("note", "late", ("late",), delay=300))
        assert await engine.pending("late")
        await until(lambda: engine.calls == [("soon",)])
        assert await engine.pending("late")


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(
    "error", [Unavailable(), sa.exc.OperationalError("", {}, Exception()), ConnectionResetError()]
)
async def test_a_transient_error_is_tried_again(sqlite_url: str, error: Exception) -> None:
    async def work(*_: str) -> None:
        if len(engine.calls) < 3:
            raise error

    async with started(sqlite_url, work) as engine:
        await engine.ask(Run("note", "k", ()))
        await ended(engine, "k")
        assert len(engine.calls) == 3


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("error", [ValueError("no such card"), asyncio.CancelledError(), Unavailable()])
async def test_a_lasting_error_ends_the_run_and_is_logged_once(
    sqlite_url: str, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    async def work(*_: str) -> None:
        raise error

    async with started(sqlite_url, work) as engine:
        await engine.ask(Run("note", "k", ()))
        await ended(engine, "k")
    reported = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert [record.getMessage() for record in reported] == ["The run k has failed and is not tried again."]
    assert reported[0].exc_info
    assert reported[0].exc_info[1] is error
    assert len(engine.calls) == (3 if isinstance(error, Unavailable) else 1)


@pytest.mark.slow
async def test_a_kind_of_work_that_is_stuck_does_not_hold_up_another(sqlite_url: str) -> None:
    free = asyncio.Event()

    async def work(kind: str) -> None:
        if kind == "stuck":
            await free.wait()

    async with started(sqlite_url, work) as engine:
        await engine.ask(*(Run("other", f"s{n}", ("stuck",)) for n in range(40)))
        await until(lambda: len(engine.calls) == MAX_WORKFLOWS_PER_OWNER)
        await engine.ask(Run("note", "k", ("quick",)))
        await ended(engine, "k")
        assert len(engine.calls) == MAX_WORKFLOWS_PER_OWNER + 1
        free.set()
        await until(lambda: len(engine.calls) == 41)


@pytest.mark.slow
async def test_work_of_one_person_that_is_stuck_does_not_hold_up_another_person(database_url: str) -> None:
    free, owners = asyncio.Event(), list[str]()

    async def work(kind: str) -> None:
        owners.append(OWNER.get())
        if kind == "stuck":
            await free.wait()

    async with started(database_url, work) as engine:
        await engine.ask(*(Run("other", f"s{n}", ("stuck",), owner="U-ANN") for n in range(40)))
        await until(lambda: len(engine.calls) == MAX_WORKFLOWS_PER_OWNER)
        await engine.ask(Run("other", "k", ("quick",), owner="U-BEN"))
        await ended(engine, "k")
        assert owners == ["U-ANN"] * MAX_WORKFLOWS_PER_OWNER + ["U-BEN"]
        free.set()
        await until(lambda: len(engine.calls) == 41)


async def test_what_follows_a_run_is_carried_out_in_its_workflow(database_url: str) -> None:
    async def work(name: str) -> None:
        if name == "first":
            await engine.ask(Run("next", "n1", ("fails",)), Run("next", "n2", ("second",)))
        if name == "fails":
            raise ValueError
        if name == "second":
            await engine.ask(Run("next", "n3", ("third",)))

    async with started(database_url, work) as engine:
        await engine.ask(Run("other", "f", ("first",)))
        await until(lambda: ("third",) in engine.calls)
        await ended(engine, "f")
        assert sorted(engine.calls) == [("fails",), ("first",), ("second",), ("third",)]
        assert [name for name, _ in await workflows(engine)] == ["other"]


@pytest.mark.slow
async def test_what_follows_waits_in_the_queue_where_one_person_has_much_under_way(sqlite_url: str) -> None:
    free = asyncio.Event()

    async def work(name: str) -> None:
        if name == "waits":
            await free.wait()
            await engine.ask(Run("next", "n", ("follows",), owner="U1"))

    async with started(sqlite_url, work) as engine:
        await engine.ask(
            *(Run("other", f"w{n}", ("waits",), owner="U1") for n in range(MAX_INLINE_WORKFLOWS + 2))
        )
        await until(lambda: len(engine.calls) == MAX_INLINE_WORKFLOWS + 2)
        free.set()
        await until(lambda: ("follows",) in engine.calls)
        assert ("next", "n") in await workflows(engine)


async def workflows(engine: Started) -> list[tuple[str, str]]:
    """The name and key of every workflow that was written."""
    table = "dbos.workflow_status" if engine.ledger.dialect.name == "postgresql" else "workflow_status"
    async with engine.ledger.connect() as conn:
        found = await conn.execute(sa.text(f"SELECT name, workflow_uuid FROM {table}"))
        return [(row.name, row.workflow_uuid) for row in found]


async def test_a_run_without_a_job_is_refused_in_the_transaction(sqlite_url: str) -> None:
    async with started(sqlite_url) as engine:
        with pytest.raises(LookupError, match="typo"):
            await engine.ask(Run("note", "k", ()), Run("typo", "t", ()))
        assert not await engine.pending("k")


async def test_ended_runs_are_forgotten_when_they_are_old_enough(database_url: str) -> None:
    async with started(database_url) as engine:
        await engine.ask(Run("note", "k", ("1",)), Run("note", "waits", (), delay=300))
        await ended(engine, "k")
        now = datetime.now(UTC)
        assert await engine.purge(now - timedelta(hours=1)) == 0
        assert await engine.purge(now + timedelta(hours=1)) == 1
        assert await engine.alive(["k", "waits"]) == {"waits"}


@pytest.mark.slow
async def test_drain_waits_for_what_runs_and_takes_in_nothing_more(database_url: str) -> None:
    done: list[str] = []

    async def work(name: str) -> None:
        await engine.ask(Run("note", "next", ("next",)))
        await asyncio.sleep(0.5)
        done.append(name)

    async with started(database_url, work) as engine:
        await engine.ask(Run("note", "k", ("first",)))
        await until(lambda: engine.calls == [("first",)])
    assert done in (["first"], ["first", "next"])  # taken in before the end was near, or not at all
    async with started(database_url) as engine:
        await ended(engine, "next")
        assert ("first",) not in engine.calls


@pytest.mark.slow
async def test_what_drain_cannot_wait_for_is_resumed_by_the_next_process(database_url: str) -> None:
    async def work(*_: str) -> None:
        await asyncio.Event().wait()

    async with started(database_url, work, seconds=0) as engine:
        await engine.ask(Run("note", "k", ("again",)))
        await until(lambda: engine.calls == [("again",)])
    async with started(database_url, executor="two") as engine:
        await ended(engine, "k")
        assert engine.calls == [("again",)]


@pytest.mark.slow
async def test_a_run_that_fails_or_is_found_again_too_often_is_told_as_given_up_once(
    database_url: str,
) -> None:
    async def work(what: str) -> None:
        if what == "bad":
            raise ValueError(what)
        if what == "hangs":
            await asyncio.Event().wait()

    async with started(database_url, work, seconds=0) as engine:
        await engine.ask(*(Run("note", what, (what,)) for what in ("good", "bad", "hangs")))
        await ended(engine, "bad")
        await ended(engine, "good")
        await until(lambda: ("hangs",) in engine.calls)
        assert await engine.given_up("note") == ("bad",)
        assert await engine.given_up("note") == ()
    often = "UPDATE workflow_status SET recovery_attempts = 1000 WHERE workflow_uuid = 'hangs'"
    await _changed(database_url, often)
    async with started(database_url, work, executor="two") as engine:
        await ended(engine, "hangs")
        assert set(await engine.given_up("note")) == {"bad", "hangs"}
        assert engine.calls == []


async def _changed(database_url: str, statement: str) -> None:
    """Change what DBOS has written, in its schema where the database has those."""
    engine = create_async_engine(database_url)
    async with engine.begin() as conn:
        if conn.dialect.name == "postgresql":
            await conn.exec_driver_sql("SET search_path TO dbos")
        await conn.exec_driver_sql(statement)
    await engine.dispose()


class Spy:
    """Unpickled, it is noted here."""

    seen: ClassVar[list[str]] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return Spy.seen.append, ("unpickled",)


@pytest.mark.slow
@pytest.mark.parametrize("status", ["ENQUEUED", "PENDING"])
async def test_a_row_that_is_pickled_is_not_read_and_keeps_no_other_from_running(
    database_url: str, status: str
) -> None:
    """Whoever can write to the database writes it; unpickled, it would run any code in this process."""
    async with started(database_url) as engine:
        await engine.ask(Run("note", "first", ("one",)))
        await until(lambda: engine.calls == [("one",)])
        await ended(engine, "first")
        table = "dbos.workflow_status" if engine.ledger.dialect.name == "postgresql" else "workflow_status"
        forged = f"UPDATE {table} SET serialization = 'py_pickle', inputs = :inputs, status = :status, output = NULL"
        pickled = base64.b64encode(pickle.dumps(Spy())).decode()
        async with engine.ledger.begin() as conn:
            await conn.execute(sa.text(forged), {"inputs": pickled, "status": status})
        assert all(one.about == "" for one in engine.running())
        await engine.ask(Run("note", "second", ("two",)))
        await until(lambda: ("two",) in engine.calls)
        await ended(engine, "second")
    assert engine.calls == [("one",), ("two",)]
    assert Spy.seen == []


def test_nothing_is_unpickled_once_the_engine_has_its_serializer() -> None:
    pickled, serializer = base64.b64encode(pickle.dumps(Spy())).decode(), json_alone()
    for read in (deserialize_value, deserialize_args):
        with pytest.raises(Pickled):
            read(pickled, "py_pickle", serializer)
    assert Spy.seen == []
