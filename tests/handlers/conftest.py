"""The edge in both modes, or in one where the mode does not matter."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.slack_app import AGES, HASTY, Edge, joined


@pytest.fixture
def ready_url(migrated_sqlite: Path, sqlite_url: str) -> str:
    """A database with all its tables."""
    shutil.copy(migrated_sqlite, str(make_url(sqlite_url).database))
    return sqlite_url


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing gives up because the machine is busy."""
    for limit in ("handlers.slack.listener.TIMEOUT_SECONDS", "handlers.slack.events.TIMEOUT_SECONDS"):
        monkeypatch.setattr(limit, AGES)


@pytest.fixture(params=["socket", "http"])
async def both_modes(
    request: pytest.FixtureRequest, ready_url: str, redis_url: str, unhurried: None
) -> AsyncIterator[Edge]:
    """Each test in both modes: for what the way in may change (answers to forms, commands, forged requests)."""
    async with joined(request.param, ready_url, redis_url) as running:
        yield running


@pytest.fixture
def edge(http: Edge) -> Edge:
    """For what happens behind the way in, which is the same for both modes."""
    return http


@pytest.fixture
async def http(ready_url: str, redis_url: str, unhurried: None) -> AsyncIterator[Edge]:
    async with joined("http", ready_url, redis_url) as running:
        yield running


@pytest.fixture(params=["socket", "http"])
async def hasty(
    request: pytest.FixtureRequest, ready_url: str, redis_url: str, unhurried: None
) -> AsyncIterator[Edge]:
    """A Slack that sends again soon, and an app that gives Slack half a second."""
    async with joined(request.param, ready_url, redis_url, HASTY, seconds=0.5) as running:
        yield running


@pytest.fixture
async def hasty_http(ready_url: str, redis_url: str, unhurried: None) -> AsyncIterator[Edge]:
    async with joined("http", ready_url, redis_url, seconds=0.5) as running:
        yield running


@pytest.fixture
def no_traceback(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What is expected to go wrong is told in one line."""
    yield
    assert [r.getMessage() for r in caplog.get_records("call") if r.exc_info] == []
