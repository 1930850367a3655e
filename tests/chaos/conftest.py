"""Databases with every table, ours and the engine's, to copy: each chaos test has one of its own."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.engine import Engine
from storage.migrate import migrate
from tests.services import Postgres


async def _with_tables(url: str) -> None:
    await migrate(url)
    engine = Engine(url, "template")
    await engine.start({}, work=False)
    await engine.drain(0)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A directory in memory, where there is one: kill -9 takes nothing from it, and no test waits for the disk."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    path = Path(tempfile.mkdtemp(prefix="chaos-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "countersign.db"
    asyncio.run(_with_tables(f"sqlite+aiosqlite:///{path}"))
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: Postgres) -> str:
    name = postgres.create()
    asyncio.run(_with_tables(postgres.url(name)))
    return name


@pytest.fixture
def new_sqlite(sqlite_template: Path) -> Callable[[Path], str]:
    """Makes a database in a directory; its URL."""

    def make(home: Path) -> str:
        shutil.copy(sqlite_template, home / "countersign.db")
        return f"sqlite+aiosqlite:///{home / 'countersign.db'}"

    return make


@pytest.fixture
def new_postgres(postgres: Postgres, postgres_template: str) -> Callable[[Path], str]:
    """Makes a database; its URL. They go when the server goes: dropping takes longer than making."""
    return lambda home: postgres.url(postgres.create(postgres_template))
