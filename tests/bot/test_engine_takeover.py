"""What a process leaves behind when it is killed or frozen is carried out by another one, or by the next."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from bot.dbos_db import connect

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]


@contextmanager
def replica(url: str, name: str, log: Path, *mode: str) -> Iterator[subprocess.Popen[bytes]]:
    script = Path(__file__).with_name("engine_replica.py")
    process = subprocess.Popen(
        [sys.executable, script, url, name, log, *mode], env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until(true: Callable[[], object], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def ask(url: str, question: str) -> list[sa.Row[Any]]:
    engine = sa.create_engine(url.replace("+aiosqlite", ""))
    with engine.connect() as conn:
        rows = list(conn.execute(sa.text(question)))
    engine.dispose()
    return rows


def statuses(url: str) -> list[str]:
    schema = "" if "sqlite" in url else "dbos."
    return [row[0] for row in ask(url, f"SELECT status FROM {schema}workflow_status")]


def heartbeats(url: str) -> dict[str, float]:
    """When each replica was last seen; nothing as long as there is no table of them."""
    if not ask(url, "SELECT 1 FROM pg_tables WHERE tablename = 'replicas'"):
        return {}
    return {row[0]: float(row[1]) for row in ask(url, "SELECT id, extract(epoch FROM seen_at) FROM replicas")}


def test_the_run_of_a_killed_replica_is_resumed_by_another(postgres_url: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with replica(postgres_url, "a", log, "hang") as dead:
        until(lambda: lines(log) == ["a begin"])
        dead.kill()
        with replica(postgres_url, "b", log):
            until(lambda: statuses(postgres_url) == ["SUCCESS"])
    assert lines(log) == ["a begin", "b begin", "b end"]


def test_a_living_replica_keeps_its_run_however_long_it_takes(postgres_url: str, tmp_path: Path) -> None:
    log, other = tmp_path / "log", tmp_path / "other"
    with replica(postgres_url, "a", log, "hang"), replica(postgres_url, "b", other, "hang"):
        until(lambda: len(heartbeats(postgres_url)) == 2 and lines(log) + lines(other))
        beats = heartbeats(postgres_url)
        until(lambda: all(heartbeats(postgres_url)[name] - beats[name] > 3.0 for name in "ab"))  # dead: 1.5
        assert len(lines(log) + lines(other)) == 1


def test_a_frozen_replica_loses_its_run_and_does_no_harm_when_it_thaws(
    postgres_url: str, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with replica(postgres_url, "a", log, "hang") as frozen:
        until(lambda: lines(log) == ["a begin"])
        frozen.send_signal(signal.SIGSTOP)
        with replica(postgres_url, "b", log):
            until(lambda: statuses(postgres_url) == ["SUCCESS"])
            frozen.send_signal(signal.SIGCONT)
            until(lambda: len(heartbeats(postgres_url)) == 2)  # it beats again
    assert lines(log) == ["a begin", "b begin", "b end"]
    assert statuses(postgres_url) == ["SUCCESS"]


def test_a_transaction_that_a_frozen_engine_left_open_holds_no_other_up_for_long(postgres_url: str) -> None:
    engine = connect(postgres_url)
    with engine.connect() as connection:
        assert connection.scalar(sa.text("SHOW idle_in_transaction_session_timeout")) == "10s"
    engine.dispose()


@pytest.mark.parametrize("kills", [1, 2])
def test_a_run_that_a_killed_process_had_begun_is_resumed_at_the_next_start_on_sqlite(
    sqlite_url: str, tmp_path: Path, kills: int
) -> None:
    log = tmp_path / "log"
    for times in range(1, kills + 1):
        with replica(sqlite_url, "a", log, "hang"):
            until(lambda times=times: lines(log) == ["a begin"] * times)
    with replica(sqlite_url, "b", log):
        until(lambda: statuses(sqlite_url) == ["SUCCESS"])
    assert lines(log) == ["a begin"] * kills + ["b begin", "b end"]
