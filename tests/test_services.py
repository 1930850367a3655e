"""The servers that tests lean on are real, fresh for each test, and gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
import redis.asyncio
from sqlalchemy import text
from sqlalchemy.ext.asyncio import create_async_engine

from tests.services import Postgres, unavailable

ROOT = Path(__file__).parents[1]
PARENT = """
import time
from tests.services import find_postgres, start_postgres
print(start_postgres(find_postgres()).home, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("turn", [1, 2])
async def test_each_test_gets_an_empty_database(database_url: str, turn: int) -> None:
    engine = create_async_engine(database_url)
    async with engine.begin() as connection:
        await connection.execute(text("CREATE TABLE left_over (id INTEGER)"))
        assert (await connection.execute(text("SELECT 40 + 2"))).scalar() == 42
    await engine.dispose()


@pytest.mark.parametrize("turn", [1, 2])
async def test_each_test_gets_an_empty_redis(redis_url: str, turn: int) -> None:
    async with redis.asyncio.Redis.from_url(redis_url) as client:
        assert await client.dbsize() == 0
        assert await client.set("left", "over")


def test_a_fresh_database_is_a_copy_of_the_template_named(postgres: Postgres) -> None:
    template = postgres.create()
    with psycopg.connect(host=str(postgres.home), dbname=template, user="app") as line:
        line.execute("CREATE TABLE kept AS SELECT 7 AS value")
    copy = postgres.create(template)
    with psycopg.connect(host=str(postgres.home), dbname=copy, user="app") as line:
        assert line.execute("SELECT value FROM kept").fetchone() == (7,)
    postgres.drop(copy)
    postgres.drop(template)


def test_postgres_listens_on_no_network(postgres: Postgres) -> None:
    with psycopg.connect(host=str(postgres.home), dbname="postgres", user="app") as line:
        assert line.execute("SHOW listen_addresses").fetchone() == ("",)


@pytest.mark.slow
def test_postgres_dies_with_the_tests_and_leaves_nothing(postgres: Postgres) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        home = Path(parent.stdout.readline().strip())
        server = int((home / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(server, 0)
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 30
    while home.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not home.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)


def test_what_is_missing_is_skipped_with_its_reason_or_fails_where_it_is_required(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("REQUIRE_POSTGRES", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no programs"):
        unavailable("no programs", "REQUIRE_POSTGRES")
    monkeypatch.setenv("REQUIRE_POSTGRES", "1")
    with pytest.raises(pytest.fail.Exception, match="REQUIRE_POSTGRES=1, but no programs"):
        unavailable("no programs", "REQUIRE_POSTGRES")
