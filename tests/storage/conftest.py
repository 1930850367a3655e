"""A migrated ledger on each database, and values to put into it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.jobs import Run
from storage.ledger import SqlLedger
from storage.migrate import migrate
from storage.row_macs import row_macs_of
from tests.engines import engine_for
from tests.services import Postgres

KEY = b"the key of the tests"
SEALS = row_macs_of(KEY)


def enqueue(connection: Connection, run: Run) -> None:
    """Puts runs into a table of the same database, as the engine does."""
    connection.exec_driver_sql(f"INSERT INTO ran (key) VALUES ('{run.key}')")


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """A migrated database to copy: some ten times faster than migrating for each test."""
    name = postgres.create()
    asyncio.run(migrate(postgres.url(name)))
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("sqlite") / "template.db"
    asyncio.run(migrate(f"sqlite:///{path}"))
    return path


@pytest.fixture
def new_postgres_url(postgres: Postgres) -> str:
    """An empty PostgreSQL database."""
    return postgres.url(postgres.create())


@pytest.fixture
async def engine(database_url: str, sqlite_template: Path) -> AsyncIterator[AsyncEngine]:
    """An engine on a migrated database, which also has the table of the fake engine's runs."""
    engine = engine_for(database_url)
    if engine.dialect.name == "sqlite":
        shutil.copy(sqlite_template, str(make_url(database_url).database))
    async with engine.begin() as connection:
        await connection.exec_driver_sql("CREATE TABLE ran (key TEXT PRIMARY KEY)")
    yield engine
    await engine.dispose()


@pytest.fixture
def open_ledger(engine: AsyncEngine) -> Callable[[], SqlLedger]:
    """Makes one ledger more on the same database, with a clock and a line of writers of its own."""
    return lambda: SqlLedger(engine, enqueue, KEY)


@pytest.fixture
def ledger(open_ledger: Callable[[], SqlLedger]) -> SqlLedger:
    return open_ledger()


@pytest.fixture
def other(open_ledger: Callable[[], SqlLedger]) -> SqlLedger:
    """As of a second process."""
    return open_ledger()
