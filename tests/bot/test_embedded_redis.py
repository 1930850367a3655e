"""The embedded Redis-compatible server: it comes up, keeps its data, and never outlives us."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis

from bot import embedded_redis as module
from bot.embedded_redis import EmbeddedRedis, EmbeddedRedisError, embedded_redis, find_server, launch

ROOT = Path(__file__).parents[2]
PARENT = """
import signal, sys, time
from pathlib import Path
from bot.embedded_redis import launch
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born deaf to it
server = launch(Path(sys.argv[1]))
print(server.url, flush=True)
time.sleep(60)
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedRedis]:
    running = launch(tmp_path / "redis")
    yield running
    running.stop()


def answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url) as client:
            return bool(client.ping())
    except redis.ConnectionError:
        return False


def wait_until(true: Callable[[], bool], seconds: float = 30.0) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def test_it_answers_on_a_private_socket_and_not_on_the_network(server: EmbeddedRedis) -> None:
    with redis.Redis.from_url(server.url, decode_responses=True) as client:
        assert client.ping()
        assert client.config_get("port") == {"port": "0"}
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    path = Path(server.url.removeprefix("unix://"))
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_data_and_deadlines_survive_a_restart(tmp_path: Path) -> None:
    first = launch(tmp_path)
    with redis.Redis.from_url(first.url) as client:
        client.set("confirmation:1", "lease", px=60_000)
    first.stop()
    second = launch(tmp_path)
    with redis.Redis.from_url(second.url) as client:
        assert client.get("confirmation:1") == b"lease"
        assert 0 < client.pttl("confirmation:1") <= 60_000
    second.stop()


def test_a_killed_server_has_kept_what_it_answered(tmp_path: Path) -> None:
    first = launch(tmp_path)
    with redis.Redis.from_url(first.url) as client:
        client.set("confirmation:1", "lease", px=60_000)
        os.kill(client.info("server")["process_id"], signal.SIGKILL)
    first.child.wait(10)
    first.stop()
    second = launch(tmp_path)
    with redis.Redis.from_url(second.url) as client:
        assert client.get("confirmation:1") == b"lease"
    second.stop()


def test_a_clean_stop_leaves_no_process_and_no_directory_and_can_be_repeated(tmp_path: Path) -> None:
    running = launch(tmp_path)
    run_dir = Path(running.url.removeprefix("unix://")).parent
    running.stop()
    running.stop()
    assert running.child.returncode == 0
    assert not run_dir.exists()
    assert not answers(running.url)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("deadly", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_it_dies_with_its_parent(tmp_path: Path, deadly: signal.Signals) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        assert answers(url)
        parent.send_signal(deadly)
    assert wait_until(lambda: not answers(url))
    assert wait_until(lambda: not Path(url.removeprefix("unix://")).parent.exists())


def test_a_second_server_on_the_same_data_is_refused_with_what_to_do(
    server: EmbeddedRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.05)
    with pytest.raises(EmbeddedRedisError, match=r"Another Countersign .* stop it, or set COUNTERSIGN_HOME"):
        launch(tmp_path / "redis")
    assert answers(server.url)


def test_without_any_server_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(EmbeddedRedisError, match=r"install one, or set REDIS_URL"):
        find_server()


def test_a_server_on_path_serves_when_none_is_bundled_unless_it_is_too_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, version in (("valkey-server", "6.0.16"), ("redis-server", "6.2.0")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=0'\n")
        (tmp_path / name).chmod(0o755)
    assert find_server() == str(tmp_path / "redis-server")


def test_data_that_cannot_be_read_is_reported_in_the_words_of_the_server(tmp_path: Path) -> None:
    kept = tmp_path / "appendonlydir"
    kept.mkdir()
    (kept / "appendonly.aof.manifest").write_text("file nonsense\n")
    with pytest.raises(EmbeddedRedisError, match=r"did not start.*\n(.*\n)*.*manifest"):
        launch(tmp_path)


async def test_the_event_loop_goes_on_while_it_starts_and_stops(tmp_path: Path) -> None:
    beats = 0

    async def heart() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.001)
            beats += 1

    beating = asyncio.create_task(heart())
    async with embedded_redis(tmp_path) as server:
        while_starting = beats
        assert await asyncio.to_thread(answers, server.url)
        before_stop = beats
    while_stopping = beats - before_stop
    beating.cancel()
    assert while_starting > 5  # blocking would leave none
    assert while_stopping > 5


def test_the_socket_path_stays_short_under_a_long_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = tmp_path / ("d" * 100)
    deep.mkdir()
    monkeypatch.setattr(module.tempfile, "tempdir", str(deep))
    running = launch(tmp_path / "redis")
    assert answers(running.url)
    running.stop()
