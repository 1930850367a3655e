"""The API on SQLite, or on both databases, and a real Redis."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from storage.database import open_engine
from storage.leases import open_redis
from tests.api.api_server import Api, served
from tests.gate.conftest import postgres_template, staged

__all__ = ["postgres_template"]


@pytest.fixture
async def api(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Api]:
    shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
    async with staged(sqlite_url, redis_url) as gate:
        engine, redis = open_engine(sqlite_url), open_redis(redis_url)
        async with served(gate, engine, redis) as found:
            yield found
        await redis.aclose()
        await engine.dispose()


@pytest.fixture
async def hasty(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Api]:
    """One that asks all the time whether a token still counts, and gives each two streams."""
    shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
    async with staged(sqlite_url, redis_url) as gate:
        engine, redis = open_engine(sqlite_url), open_redis(redis_url)
        async with served(gate, engine, redis, streams=2, recheck=0.05, heartbeat=0.05, slow=0.5) as found:
            yield found
        await redis.aclose()
        await engine.dispose()
