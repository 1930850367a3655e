"""The line before a SQLite file: one at a time, who is waited for first, and nobody's turn is lost."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
import threading
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from bot.dbos_db import connect
from gate.rules.jobs import for_owner
from storage.database import open_engine
from storage.write_queue import FOR_THE_OTHERS, Line, QueuedConnection, Waiter, WriteQueue, write_queue_of

LONG = 60.0  # seconds, that no test waits out


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def note(line: WriteQueue, name: str, names: list[str], first: bool = False) -> None:
    await line.acquire(LONG, first)
    names.append(name)
    line.release()


async def test_who_is_waited_for_goes_first_and_else_each_in_their_order() -> None:
    line, names = WriteQueue(), list[str]()
    await line.acquire(LONG)
    waiting = [asyncio.create_task(note(line, name, names)) for name in "ab"]
    await settled()
    waiting += [asyncio.create_task(note(line, name, names, first=True)) for name in "cd"]
    await settled()
    assert names == []
    line.release()
    await asyncio.gather(*waiting)
    assert names == ["c", "d", "a", "b"]


async def test_people_take_turns_whatever_one_of_them_has_waiting_already() -> None:
    line, names = WriteQueue(), list[str]()
    await line.acquire(LONG)
    waiting = list[asyncio.Task[None]]()
    for owner, count in (("flood", 250), ("other", 2), ("", 1), ("flood", 1)):
        with for_owner(owner):
            waiting += [asyncio.create_task(note(line, owner, names, first=True)) for _ in range(count)]
            await settled()
    waiting[1].cancel()  # whoever gives up takes nobody else's turn along
    await settled()
    line.release()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert names[:6] == ["flood", "other", "", "other", "flood", "flood"]
    assert names.count("flood") == 250
    with for_owner("flood"):  # and nobody is held to what they had once
        await line.acquire(LONG)
        waiting = [asyncio.create_task(note(line, "flood again", names, first=True))]
        await settled()
    with for_owner("other"):
        waiting.append(asyncio.create_task(note(line, "other again", names, first=True)))
        await settled()
    line.release()
    await asyncio.gather(*waiting)
    assert names[-2:] == ["flood again", "other again"]


async def test_who_gives_up_often_waits_no_longer_for_it() -> None:
    line, names = WriteQueue(), list[str]()
    await line.acquire(LONG)
    with for_owner("one"):
        given_up = [asyncio.create_task(note(line, "never", names, first=True)) for _ in range(20)]
        await settled()
        for task in given_up:
            task.cancel()
        await asyncio.gather(*given_up, return_exceptions=True)
        waiting = [asyncio.create_task(note(line, "one", names, first=True))]
        await settled()
    with for_owner("other"):
        waiting += [asyncio.create_task(note(line, "other", names, first=True)) for _ in range(5)]
        await settled()
    line.release()
    await asyncio.gather(*waiting)
    assert names.index("one") == 0


async def test_a_flood_of_one_person_leaves_turns_to_the_engine_and_to_what_nobody_waits_for() -> None:
    line, names = WriteQueue(), list[str]()
    await line.acquire(LONG)
    with for_owner("flood"):
        waiting = [asyncio.create_task(note(line, "flood", names, first=True)) for _ in range(50)]
        await settled()
    with for_owner("other"):
        waiting.append(asyncio.create_task(note(line, "later", names)))
        await settled()

    def engine() -> None:
        line.acquire_blocking(LONG)
        names.append("engine")
        line.release()

    thread = asyncio.create_task(asyncio.to_thread(engine))
    while len(line._first._places) < 51:  # noqa: ASYNC110
        await asyncio.sleep(0)
    line.release()
    await asyncio.gather(*waiting, thread)
    assert max(names.index("engine"), names.index("later")) < FOR_THE_OTHERS


async def test_threads_and_tasks_take_turns_and_never_two_at_once() -> None:
    line, inside, most = WriteQueue(), 0, 0

    def step(by: int) -> None:
        nonlocal inside, most
        inside += by
        most = max(most, inside)

    def work() -> None:
        for _ in range(200):
            line.acquire_blocking(LONG)
            step(1)
            step(-1)
            line.release()

    async def do() -> None:
        for _ in range(200):
            await line.acquire(LONG)
            step(1)
            await asyncio.sleep(0)
            step(-1)
            line.release()

    await asyncio.gather(*(asyncio.to_thread(work) for _ in range(3)), *(do() for _ in range(3)))
    assert most == 1
    await line.acquire(0)  # and nobody is left in it


async def test_who_waits_in_vain_is_told_in_sqlites_words_and_loses_nobody_a_turn() -> None:
    line = WriteQueue()
    await line.acquire(LONG)
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        await line.acquire(0.01)
    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        line.acquire_blocking(0.01)
    line.release()
    await line.acquire(0)


@pytest.mark.parametrize("called", [False, True])
async def test_who_is_cancelled_even_when_just_called_passes_the_turn_on(called: bool) -> None:
    line, names = WriteQueue(), list[str]()
    await line.acquire(LONG)
    gone = asyncio.create_task(note(line, "gone", names))
    await settled()
    if called:
        line.release()  # it hears of that in the next round of the loop
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    if not called:
        line.release()
    await line.acquire(0)
    assert names == []


def test_who_waited_on_a_loop_that_is_gone_is_passed_over() -> None:
    line, loop = WriteQueue(), asyncio.new_event_loop()
    line.acquire_blocking(0)
    waits = loop.create_task(line.acquire(LONG))
    loop.run_until_complete(settled())
    loop.close()
    line.release()
    line.acquire_blocking(0)
    waits._log_destroy_pending = False  # type: ignore[attr-defined]


def test_a_file_has_one_line_whatever_it_is_called(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    line = write_queue_of(str(tmp_path / "a.db"))
    assert write_queue_of(str(tmp_path / "sub" / ".." / "a.db")) is line
    assert write_queue_of(str(tmp_path / "b.db")) is not line


async def test_the_engines_connections_wait_for_the_ledgers_and_draw_no_lots(sqlite_url: str) -> None:
    ledger = open_engine(sqlite_url)
    async with ledger.begin() as held:
        await held.execute(text("CREATE TABLE kept (name TEXT)"))
    ours = connect(sqlite_url)

    def write() -> None:
        with ours.begin() as connection:
            connection.execute(text("PRAGMA busy_timeout = 0"))  # without the line it would fail at once
            connection.execute(text("INSERT INTO kept VALUES ('engine')"))

    async with ledger.begin() as held:
        await held.execute(text("INSERT INTO kept VALUES ('ledger')"))
        writes = asyncio.create_task(asyncio.to_thread(write))
        await asyncio.sleep(0.1)
    await writes
    async with ledger.execution_options(wait=0).begin() as held:
        assert list(await held.scalars(text("SELECT name FROM kept"))) == ["ledger", "engine"]
    await ledger.dispose()
    ours.dispose()


@pytest.mark.parametrize("how", ["commit", "rollback", "close", "forget"])
def test_however_a_transaction_ends_the_next_has_its_turn(tmp_path: Path, how: str) -> None:
    path = str(tmp_path / "a.db")
    line = write_queue_of(path)
    connections = [QueuedConnection(path, isolation_level="IMMEDIATE")]
    connections[0].execute("CREATE TABLE kept (name TEXT)")
    line.acquire_blocking(0)  # that began no transaction
    line.release()
    connections[0].execute("INSERT INTO kept VALUES ('a')")
    with pytest.raises(sqlite3.OperationalError):
        line.acquire_blocking(0)
    if how == "forget":
        connections.clear()
        gc.collect()  # Python's sqlite3 makes a circle with each connection
    else:
        getattr(connections[0], how)()
    line.acquire_blocking(0)


class Collecting(Line):
    """The garbage collector may run between any two steps of Python, also while somebody joins the line."""

    def join(self, place: Waiter) -> None:
        gc.collect()
        super().join(place)
        gc.collect()


@pytest.mark.slow
def test_a_forgotten_connection_may_be_collected_while_somebody_joins_the_line(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    line = write_queue_of(path)
    line._first = Collecting()
    gc.disable()
    gc.freeze()  # what the tests before have left is not looked at
    try:
        connection = QueuedConnection(path, isolation_level="IMMEDIATE")
        connection.execute("CREATE TABLE kept (name TEXT)")
        connection.execute("INSERT INTO kept VALUES ('a')")
        del connection
        joins = threading.Thread(target=line.acquire_blocking, args=(LONG,), daemon=True)
        joins.start()
        joins.join(LONG / 10)
    finally:
        gc.unfreeze()
        gc.enable()
    assert not joins.is_alive()
    line.release()
    line.acquire_blocking(0)


def test_a_statement_that_begins_nothing_keeps_no_turn(tmp_path: Path) -> None:
    path = str(tmp_path / "a.db")
    connection = QueuedConnection(path, isolation_level="IMMEDIATE")
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        connection.execute("INSERT INTO nowhere VALUES ('a')")
    connection.rollback()
    write_queue_of(path).acquire_blocking(0)
    connection.close()


async def test_a_transaction_of_the_ledger_that_is_cancelled_anywhere_frees_the_line(sqlite_url: str) -> None:
    ledger = open_engine(sqlite_url)
    line = write_queue_of(str(make_url(sqlite_url).database))

    async def write() -> None:
        async with ledger.begin() as connection:
            await connection.execute(text("CREATE TABLE IF NOT EXISTS kept (name TEXT)"))
            await asyncio.sleep(0)

    for rounds in range(40):
        task = asyncio.create_task(write())
        for _ in range(rounds):
            await asyncio.sleep(0.0005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await line.acquire(LONG / 10)
        line.release()
    await ledger.dispose()
