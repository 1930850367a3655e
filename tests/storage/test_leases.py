"""Leases end by themselves, and never stand in the way when Redis is gone."""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from redis.asyncio import Redis

from bot.embedded_redis import launch
from gate.rules.ports import Lease, Unavailable
from storage.leases import RedisLeases, open_redis
from tests.storage.samples import any_of

LEASE = Lease(
    "a1", 1, "r1", "U1", "T1:C1:1.1", "fs.move", "low", "Move a.md", datetime(2026, 1, 1, tzinfo=UTC)
)
OTHER = replace(LEASE, action="a2", session="T1:C1:2.2")


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[Redis]:
    client = open_redis(redis_url)
    yield client
    await client.aclose()


@pytest.fixture
def leases(redis: Redis) -> RedisLeases:
    return RedisLeases(redis)


async def gone(leases: RedisLeases, action: str) -> float:
    """Wait for a lease to end; the seconds that took."""
    started = time.monotonic()
    while await leases.get(action):
        assert time.monotonic() - started < 5
        await asyncio.sleep(0.01)
    return time.monotonic() - started


# promise: VERB-06
async def test_a_lease_is_there_under_its_name_until_it_is_dropped(leases: RedisLeases, redis: Redis) -> None:
    await leases.put(LEASE, 60)
    assert await leases.get("a1") == LEASE
    assert 59_000 < await redis.pttl("confirmation:a1") <= 60_000
    await leases.drop("a1")
    await leases.drop("a1")
    assert await leases.get("a1") is None
    assert await redis.keys() == []


@given(lease=any_of(Lease))
@settings(max_examples=20, suppress_health_check=list(HealthCheck))
def test_every_lease_comes_back(redis_url: str, lease: Lease) -> None:
    one = replace(lease, action="a1", session=LEASE.session)

    async def story() -> None:
        async with open_redis(redis_url) as client:
            leases = RedisLeases(client)
            await leases.drop("a1")
            await leases.put(one, 60)
            assert await leases.get("a1") == one

    asyncio.run(story())


async def test_a_lease_ends_by_itself_and_leaves_no_trace(leases: RedisLeases, redis: Redis) -> None:
    await leases.put(LEASE, 0.3)
    assert 0.1 < await gone(leases, "a1") < 1
    assert await redis.keys() == []


async def test_a_newer_version_replaces_an_older_and_never_the_other_way_round(leases: RedisLeases) -> None:
    newer = replace(LEASE, version=2, receipt="r2")
    await leases.put(LEASE, 0.2)
    await leases.put(newer, 60)
    await leases.put(LEASE, 60)
    assert await leases.get("a1") == newer
    refreshed = replace(newer, preview="Move it")
    await leases.put(refreshed, 60)
    assert await leases.get("a1") == refreshed


async def test_namespaces_do_not_see_each_other(redis: Redis, leases: RedisLeases) -> None:
    elsewhere = RedisLeases(redis, "staging")
    await leases.put(LEASE, 60)
    assert await elsewhere.get("a1") is None


async def test_scripts_that_the_server_forgot_are_loaded_again(leases: RedisLeases, redis: Redis) -> None:
    await leases.put(LEASE, 60)
    await redis.script_flush()
    await leases.put(OTHER, 60)
    assert await leases.get("a2") == OTHER


async def refused(leases: RedisLeases) -> None:
    """Every method says in a sentence that Redis is away."""
    for answer in (leases.put(LEASE, 60), leases.get("a1"), leases.drop("a1")):
        with pytest.raises(Unavailable, match=r"does not answer.*try again"):
            await answer


@pytest.mark.slow
async def test_without_redis_it_is_unavailable_and_when_it_is_back_all_is_well(tmp_path: Path) -> None:
    address = Path(tempfile.mkdtemp(dir="/tmp")) / "s"  # the same before and after, unlike the servers' own
    server = await asyncio.to_thread(launch, tmp_path)
    address.symlink_to(server.url.removeprefix("unix://"))
    async with open_redis(f"unix://{address}") as client:
        leases = RedisLeases(client)
        await asyncio.gather(*(leases.put(replace(LEASE, action=f"b{n}"), 60) for n in range(5)))
        await asyncio.to_thread(server.stop)
        await refused(leases)
        server = await asyncio.to_thread(launch, tmp_path)
        address.unlink()
        address.symlink_to(server.url.removeprefix("unix://"))
        await leases.put(LEASE, 60)
        assert await leases.get("a1") == LEASE
        assert await leases.get("b4") is not None  # what was there before is there again
        await asyncio.to_thread(server.stop)
    shutil.rmtree(address.parent)


@pytest.mark.slow
async def test_a_restart_between_two_questions_goes_unseen(tmp_path: Path) -> None:
    address = Path(tempfile.mkdtemp(dir="/tmp")) / "s"
    async with open_redis(f"unix://{address}") as client:
        leases = RedisLeases(client)
        for number in range(3):
            server = await asyncio.to_thread(launch, tmp_path)
            address.unlink(missing_ok=True)
            address.symlink_to(server.url.removeprefix("unix://"))
            await leases.put(replace(LEASE, version=number), 60)
            await asyncio.to_thread(server.stop)
    shutil.rmtree(address.parent)


async def test_a_redis_that_hangs_is_unavailable_after_a_second() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        writer.close()

    home = Path(tempfile.mkdtemp(dir="/tmp"))
    server = await asyncio.start_unix_server(silent, home / "s")
    async with open_redis(f"unix://{home / 's'}") as client:
        started = time.monotonic()
        with pytest.raises(Unavailable):
            await RedisLeases(client).get("a1")
        assert 0.9 < time.monotonic() - started < 2
    server.close()
    await server.wait_closed()
    shutil.rmtree(home)


async def test_cancelled_questions_do_not_get_each_others_answers(leases: RedisLeases) -> None:
    names = [f"b{number}" for number in range(20)]
    await asyncio.gather(*(leases.put(replace(LEASE, action=name), 60) for name in names))
    loop, chance = asyncio.get_running_loop(), random.Random(3)
    for _ in range(10):
        tasks = [asyncio.create_task(leases.get(name)) for name in names]
        for task in tasks[::2]:
            loop.call_later(chance.random() * 0.01, task.cancel)
        await asyncio.wait(tasks)
        for name, task in zip(names, tasks, strict=True):
            assert task.cancelled() or task.result() == replace(LEASE, action=name)


async def test_a_record_that_is_none_of_ours_stands_in_nobodys_way(leases: RedisLeases, redis: Redis) -> None:
    for record in ("not ours", "[1]", '{"version": "x"}', "12", "null"):
        await redis.set("confirmation:a1", record)
        assert await leases.get("a1") is None
        await leases.put(LEASE, 60)
        assert await leases.get("a1") == LEASE
