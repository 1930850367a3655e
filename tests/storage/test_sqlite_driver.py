"""SQLite's thread is gone to seldom, and everything is as it was with a trip for each step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from sqlalchemy import column, make_url, select, table, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.ext.asyncio import AsyncEngine

from storage.database import open_engine, reading
from storage.sqlite_driver import SLOW, SingleTripConnection, connect


@pytest.fixture
async def trips(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was waited for on the threads of SQLite, from now on."""
    made: list[str] = []
    execute = SingleTripConnection._execute

    async def noted(self: SingleTripConnection, function: Callable[..., Any], *args: Any) -> Any:
        made.append(next((arg for arg in args if isinstance(arg, str)), function.__name__).split()[0])
        return await execute(self, function, *args)

    monkeypatch.setattr(SingleTripConnection, "_execute", noted)
    return made


@pytest.fixture
async def sqlite(sqlite_url: str) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(sqlite_url)
    async with engine.begin() as line:  # the settings of this connection are made here
        await line.execute(text("CREATE TABLE kept (name TEXT PRIMARY KEY)"))
    async with reading(engine).connect():
        """And those of reading, on the same connection."""
    yield engine
    await engine.dispose()


async def kept(engine: AsyncEngine) -> list[str]:
    async with reading(engine).connect() as line:
        return list(await line.scalars(text("SELECT name FROM kept ORDER BY name")))


async def test_a_question_is_one_trip(sqlite: AsyncEngine, trips: list[str]) -> None:
    assert await kept(sqlite) == []
    assert trips == ["SELECT"]


async def test_nothing_that_holds_the_lock_goes_to_the_thread_but_to_get_it_to_clear_up_and_to_commit(
    sqlite: AsyncEngine, trips: list[str]
) -> None:
    async with sqlite.begin() as line:
        await line.execute(text("INSERT INTO kept VALUES (:name)"), [{"name": "a"}, {"name": "b"}])
        await line.execute(text("DELETE FROM kept WHERE name = 'b'"))
        assert await line.scalar(text("SELECT count(*) FROM kept")) == 1
    assert trips == ["BEGIN", "DELETE", "commit"]
    assert await kept(sqlite) == ["a"]


async def test_what_goes_over_much_goes_to_the_thread_also_where_it_holds_the_lock(
    sqlite: AsyncEngine, trips: list[str]
) -> None:
    async with sqlite.begin() as line:
        await line.execute(text("INSERT INTO kept VALUES ('a')"))
        names = select(column("name")).select_from(table("kept")).limit(5).suffix_with(SLOW)
        assert (await line.scalars(names)).all() == ["a"]
    assert trips == ["BEGIN", "SELECT", "commit"]


async def test_what_changes_the_tables_or_asks_about_them_does_not_hold_up_the_loop(
    sqlite: AsyncEngine, trips: list[str]
) -> None:
    async with sqlite.begin() as line:
        await line.execute(text("CREATE TABLE other (name TEXT)"))
        await line.execute(text("INSERT INTO other VALUES ('a')"))
        await line.execute(text("PRAGMA table_info(other)"))
        await line.execute(text("DROP TABLE other"))
    assert trips == ["BEGIN", "CREATE", "PRAGMA", "DROP", "commit"]


async def test_what_is_taken_back_is_gone_and_the_lock_is_free(sqlite: AsyncEngine, trips: list[str]) -> None:
    async with sqlite.connect() as line:
        await line.execute(text("INSERT INTO kept VALUES ('a')"))
        await line.rollback()
    assert trips == ["BEGIN", "rollback"]
    async with sqlite.execution_options(wait=0).begin() as line:
        await line.execute(text("INSERT INTO kept VALUES ('b')"))
    assert await kept(sqlite) == ["b"]


async def test_a_statement_that_fails_leaves_its_connection_usable(sqlite: AsyncEngine) -> None:
    for _ in range(2):
        async with sqlite.connect() as line:
            await line.execute(text("INSERT INTO kept VALUES ('a')"))
            with pytest.raises(OperationalError, match="no such table"):
                await line.execute(text("INSERT INTO elsewhere VALUES ('a')"))
    assert await kept(sqlite) == []


@pytest.mark.parametrize("seconds", [0.25, 3.0])
async def test_each_transaction_waits_for_a_lock_as_long_as_it_was_told(
    sqlite: AsyncEngine, seconds: float
) -> None:
    async with sqlite.execution_options(wait=seconds).begin() as line:
        told = await line.scalar(text("PRAGMA busy_timeout"))
        assert (seconds - 0.2) * 1000 < told <= seconds * 1000  # it has stood in line for a moment already
    async with reading(sqlite).connect() as line:
        assert await line.scalar(text("PRAGMA busy_timeout")) == 2000


async def test_a_reader_sees_one_moment_from_its_first_question_on(sqlite: AsyncEngine) -> None:
    async with reading(sqlite).connect() as reader:
        before = await reader.scalar(text("SELECT count(*) FROM kept"))
        async with sqlite.begin() as line:
            await line.execute(text("INSERT INTO kept VALUES ('a')"))
        assert await reader.scalar(text("SELECT count(*) FROM kept")) == before == 0
    assert await kept(sqlite) == ["a"]


async def test_the_end_of_a_connection_that_was_stopped_by_force_is_not_waited_for(sqlite_url: str) -> None:
    line = await connect(str(make_url(sqlite_url).database))
    closing = asyncio.create_task(line.close())
    await asyncio.sleep(0)
    line.stop()  # so SQLAlchemy does where whoever closes is called off
    line._thread.join()
    closing.cancel()  # and so the end of the loop does
    done, _ = await asyncio.wait([closing], timeout=5)
    assert done == {closing}
