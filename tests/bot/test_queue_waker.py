"""The look-out: called, it looks at once; called often, it keeps its pace; without DBOS's worker, the poll does."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from functools import partial
from typing import Any

import pytest
import sqlalchemy as sa
from dbos import _queue
from sqlalchemy.ext.asyncio import create_async_engine

import bot.engine
from bot.dbos_db import connect
from bot.engine import Engine, Job
from bot.queue_waker import NOTIFY, Listener, QueueWaker, WakeEvent, is_known_worker
from gate.rules.jobs import Run
from storage.ledger import SqlLedger
from storage.migrate import migrate
from tests.bot.test_engine_runs import until

LONG = 60.0  # seconds, that no test waits out


def test_a_bell_that_is_called_ends_the_wait_and_is_not_the_end() -> None:
    bell = WakeEvent()
    bell.wake()
    assert bell.wait(LONG) is False
    assert bell.wait(0) is False


def test_a_bell_that_is_called_while_somebody_waits_wakes_them() -> None:
    bell = WakeEvent()
    caller = threading.Timer(0.05, bell.wake)
    caller.start()
    begun = time.monotonic()
    assert bell.wait(LONG) is False
    assert time.monotonic() - begun < LONG / 2
    caller.join()


def test_the_end_wakes_whoever_waits_and_lasts() -> None:
    bell = WakeEvent()
    caller = threading.Timer(0.05, bell.set)
    caller.start()
    assert bell.wait(LONG)
    assert bell.is_set()
    assert bell.wait(LONG)
    caller.join()


def test_a_few_calls_are_heard_at_once_and_many_at_a_pace() -> None:
    bell = WakeEvent(spare=3, pace=0.1)
    begun = time.monotonic()
    for _ in range(6):
        bell.wake()
        assert bell.wait(LONG) is False
    assert time.monotonic() - begun >= 0.29  # the fourth to the sixth wait their turn


def test_the_end_does_not_wait_for_the_pace() -> None:
    bell = WakeEvent(spare=1, pace=LONG)
    bell.wait(0)
    bell.wake()
    caller = threading.Timer(0.05, bell.set)
    caller.start()
    assert bell.wait(LONG)
    caller.join()


def test_a_worker_that_ends_by_itself_is_begun_again(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.queue_waker.RESTART_SECONDS", 0.01)
    thrice = threading.Semaphore(0)

    def falters(bell: WakeEvent) -> None:
        thrice.release()
        raise ValueError("cannot look")

    waker = QueueWaker(falters)
    waker.start()
    assert all(thrice.acquire(timeout=LONG) for _ in range(3))
    waker.stop()
    assert "cannot look" in caplog.text


def test_the_installed_worker_is_the_one_that_the_queue_waker_calls() -> None:
    assert is_known_worker(_queue.queue_worker_thread)


@pytest.mark.parametrize("other", [None, 7, lambda: None, lambda stop_event, dbos, queue, more: None])
def test_any_other_worker_is_not(other: Any) -> None:
    assert not is_known_worker(other)


def _nobody() -> None:
    """Is called, and does not call on."""


async def _carried_out(url: str, wakes: bool) -> None:
    """A run asked for in a transaction of the ledger is carried out."""
    await migrate(url)
    done: list[str] = []

    async def note(key: str) -> None:
        done.append(key)

    engine, sql = Engine(url, "one"), create_async_engine(url)
    await engine.start({"note": Job("cards", note)})
    try:
        ledger = SqlLedger(sql, engine.enqueue, b"key", wake=engine.wake if wakes else _nobody)
        for key in ("k1", "k2"):
            async with ledger.begin() as tx:
                tx.enqueue(Run("note", key, (key,)))
            await until(partial(done.__contains__, key))
    finally:
        await engine.drain(5)
        await sql.dispose()


@pytest.mark.slow
async def test_a_run_begins_when_its_transaction_has_committed_and_waits_for_no_poll(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.engine, "POLL", 3 * LONG)
    await _carried_out(database_url, wakes=True)


@pytest.mark.slow
async def test_a_run_that_a_process_without_workers_asks_for_begins_at_once(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bot.engine, "POLL", 3 * LONG)
    await migrate(postgres_url)
    done: list[str] = []

    async def note(key: str) -> None:
        done.append(key)

    jobs = {"note": Job("cards", note)}
    worker, web, sql = (
        Engine(postgres_url, "worker"),
        Engine(postgres_url, "web"),
        create_async_engine(postgres_url),
    )
    await worker.start(jobs)
    await web.start(jobs, work=False)
    try:
        ledger = SqlLedger(sql, web.enqueue, b"key", wake=web.wake)
        for key in ("k1", "k2"):
            async with ledger.begin() as tx:
                tx.enqueue(Run("note", key, (key,)))
            await until(partial(done.__contains__, key))
    finally:
        await web.drain(0)
        await worker.drain(5)
        await sql.dispose()


async def test_a_listener_whose_connection_is_lost_listens_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.queue_waker.RESTART_SECONDS", 0.01)
    await migrate(postgres_url)
    sql, heard = connect(postgres_url), threading.Event()
    listener = Listener(sql, heard.set)
    listener.start()

    def send(statement: sa.TextClause) -> int:
        with sql.begin() as connection:
            return connection.execute(statement).rowcount

    async def calls() -> None:
        heard.clear()
        for _ in range(200):
            await asyncio.to_thread(send, NOTIFY)
            if await asyncio.to_thread(heard.wait, 0.1):
                return
        raise AssertionError("nobody listens")

    mine = sa.text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND query LIKE 'LISTEN %'"
    )
    try:
        await calls()
        assert await asyncio.to_thread(send, mine) == 1
        await calls()
    finally:
        await asyncio.to_thread(listener.stop)
        sql.dispose()


@pytest.mark.slow
async def test_a_run_that_nobody_calls_for_is_found_by_the_poll(database_url: str) -> None:
    await _carried_out(database_url, wakes=False)


@pytest.mark.slow
async def test_without_the_worker_that_it_knows_dbos_looks_itself(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = _queue.queue_worker_thread

    def another(stop_event: Any, dbos: Any, queue: Any, news: Any = None) -> None:
        known(stop_event, dbos, queue)

    monkeypatch.setattr(_queue, "queue_worker_thread", another)
    with caplog.at_level(logging.WARNING, "bot.engine"):
        await _carried_out(sqlite_url, wakes=True)
    assert "another queue worker" in caplog.text
