"""Replicas die by kill -9 in every state of a task: it goes on, on the same replica or another, no step run twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.chaos.action_scenario import assert_nothing_is_left, staged
from tests.chaos.task_scenarios import POINTS, Story
from tests.chaos.test_chaos_kill import AT_ONCE, replaced

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
New = Callable[[Path], str]
Claim = Callable[[str], None]
# In the suite a few changes, before or after their commit; in the soak all of both, on both databases.
EARLY, LATE = (
    [p for p in POINTS if p[1].startswith("before")],
    [p for p in POINTS if p[1].startswith("after")],
)


async def killed(home: Path, url: str, redis_url: str, replicas: int, story: Story, point: str) -> None:
    """One task whose first replica that comes to `point` dies there."""
    async with staged(home, url, redis_url, point) as stage:
        await asyncio.gather(*(stage.fleet.start() for _ in range(replicas)))
        await stage.reach()
        keeper = asyncio.create_task(replaced(stage))
        walk = await story(stage)
        await keeper
        await assert_nothing_is_left(stage)
        await walk.assert_tolled()


async def all_killed(
    home: Path, new: New, redis_url: str, replicas: int, points: Sequence[tuple[Story, str]]
) -> int:
    """A task for each point; how many there were."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, story: Story, point: str) -> None:
        async with room:
            place = home / f"{number}-{point.replace(' ', '-')}"
            place.mkdir()
            await killed(place, new(place), redis_url, replicas, story, point)

    async with asyncio.TaskGroup() as tasks:
        for number, (story, point) in enumerate(points):
            tasks.create_task(one(number, story, point))
    return len(points)


@pytest.mark.parametrize(
    "points", [EARLY[::3], pytest.param(POINTS * 5, marks=pytest.mark.soak)], ids=["once", "often"]
)
async def test_a_task_goes_on_in_a_process_that_starts_again_on_sqlite(
    points: list[tuple[Story, str]], home: Path, new_sqlite: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_sqlite, redis_url, 1, points)
    claim(f"kill -9 in tasks, SQLite with restart: n={n} kills, 0 lost, 0 steps twice")


@pytest.mark.parametrize(
    "points", [LATE[::4], pytest.param(POINTS * 5, marks=pytest.mark.soak)], ids=["once", "often"]
)
async def test_another_replica_takes_a_task_over_on_postgresql(
    points: list[tuple[Story, str]], home: Path, new_postgres: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_postgres, redis_url, 2, points)
    claim(f"kill -9 in tasks, PostgreSQL with two replicas: n={n} kills, 0 lost, 0 steps twice")
