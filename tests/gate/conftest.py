"""A scene on SQLite, or on both databases, and a real Redis."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url

from gate.rules.jobs import Run
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.migrate import migrate
from storage.redis_reviews import RedisPending
from tests.engines import engine_for
from tests.gate.gate_setup import Scene, scene
from tests.services import Postgres


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    """A migrated database to copy: some ten times faster than migrating for each test."""
    name = postgres.create()
    asyncio.run(migrate(postgres.url(name)))
    return name


@pytest.fixture
async def stage(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Scene]:
    shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
    async with staged(sqlite_url, redis_url) as found:
        yield found


@pytest.fixture
async def both(migrated_sqlite: Path, database_url: str, redis_url: str) -> AsyncIterator[Scene]:
    """The scene once on each database: for what a race, a clock or the form of a row decides. The ledger itself is tried
    on both in tests/storage."""
    if database_url.startswith("sqlite"):
        shutil.copy(migrated_sqlite, str(make_url(database_url).database))
    async with staged(database_url, redis_url) as found:
        yield found


@asynccontextmanager
async def staged(url: str, redis_url: str) -> AsyncIterator[Scene]:
    engine, redis = engine_for(url), open_redis(redis_url)
    runs: list[Run] = []

    def enqueue(connection: Connection, run: Run) -> None:
        if run.key not in {known.key for known in runs}:
            runs.append(run)

    yield scene(SqlLedger(engine, enqueue, b"key"), RedisLeases(redis), runs, RedisPending(redis))
    await redis.aclose()
    await engine.dispose()
