"""A scene on SQLite and a real Redis."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, make_url

from gate.runs import Run
from storage.engine import open_engine
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from tests.flows.scene import Scene, scene


@pytest.fixture
async def stage(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Scene]:
    shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
    engine, redis = open_engine(sqlite_url), open_redis(redis_url)
    runs: list[Run] = []

    def enqueue(connection: Connection, run: Run) -> None:
        if run.key not in {known.key for known in runs}:
            runs.append(run)

    yield scene(SqlLedger(engine, enqueue, b"key"), RedisLeases(redis), runs)
    await redis.aclose()
    await engine.dispose()
