"""The API on SQLite, or on both databases, and a real Redis."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
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
    async with _api(migrated_sqlite, sqlite_url, redis_url) as found:
        yield found


@pytest.fixture
async def hasty(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Api]:
    """One that asks all the time whether a token still counts, and gives each two streams."""
    bounds = {"streams": 2, "recheck": 0.05, "heartbeat": 0.05, "slow": 0.5}
    async with _api(migrated_sqlite, sqlite_url, redis_url, **bounds) as found:
        yield found


@pytest.fixture
async def unhurried(migrated_sqlite: Path, sqlite_url: str, redis_url: str) -> AsyncIterator[Api]:
    """One in which no request takes so long that the next one of its token begins."""
    async with _api(migrated_sqlite, sqlite_url, redis_url, turn=600.0) as found:
        yield found


@asynccontextmanager
async def _api(migrated: Path, sqlite_url: str, redis_url: str, **bounds: float) -> AsyncIterator[Api]:
    shutil.copy(migrated, str(make_url(sqlite_url).database))
    async with staged(sqlite_url, redis_url) as gate:
        engine, redis = open_engine(sqlite_url), open_redis(redis_url)
        async with served(gate, engine, redis, **bounds) as found:
            yield found
        await redis.aclose()
        await engine.dispose()
