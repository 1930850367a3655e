"""Replicas die by kill -9 at twenty named points: nothing is lost, nothing happens twice, and the cards tell the truth."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gate.rules.action_states import State
from tests.chaos.action_scenario import Stage, assert_nothing_is_left, staged
from tests.chaos.failpoints import POINTS
from tests.chaos.replicas import until

pytestmark = pytest.mark.timeout(600)
AT_ONCE = 2  # stories side by side: each starts a process or two, and where these get no time a claim lapses
# Between the claim and the record nobody can tell whether the tool ran.
UNKNOWN = {
    "after claim": 0,
    "before tool called": 0,
    "after tool called": 1,
    "before tool answered": 1,
    "after tool answered": 1,
    "before result commit": 1,
}
# The bell takes its time, so that its caller dies before it sounds, or before its answer is on its way.
SLOW = {"after tool called": {"before": 0.5}, "before tool answered": {"after": 0.5}}
# In the suite half of the points, each on one of the databases; in the soak all on both, 20 times.
OFTEN = pytest.param(POINTS * 20, marks=[pytest.mark.soak, pytest.mark.timeout(0)])
New = Callable[[Path], str]
Claim = Callable[[str], None]


async def replaced(stage: Stage) -> None:
    """Once somebody has died of the fuse: deliver to who lives, or start another where nobody does."""
    (dead,) = await until(lambda: [r for r in stage.fleet.replicas if not r.alive], "the death of a replica")
    assert dead.process.exitcode == -9
    assert stage.fleet.spent.exists()
    if not stage.fleet.urls:
        await stage.fleet.start()
    await stage.reach()


async def killed(home: Path, url: str, redis_url: str, point: str, replicas: int) -> None:
    """One story in which the first replica that comes to `point` dies there."""
    async with staged(home, url, redis_url, point) as stage:
        await asyncio.gather(*(stage.fleet.start() for _ in range(replicas)))
        await stage.reach()
        keeper = asyncio.create_task(replaced(stage))
        story = await stage.ask("m1", **SLOW.get(point, {}))
        await story.confirm()
        await keeper
        action = await story.end()
        await assert_nothing_is_left(stage)
        assert action.state is (State.UNKNOWN if point in UNKNOWN else State.SUCCEEDED), action.outcome
        await story.assert_struck(UNKNOWN.get(point, 1))
        await story.assert_shown(action)
        assert (await story.events()).count("confirmed") == 1


async def all_killed(home: Path, new: New, redis_url: str, replicas: int, points: Sequence[str]) -> str:
    """A story for each point; how many there were."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: str) -> None:
        async with room:
            place = home / f"{number}-{point.replace(' ', '-')}"
            place.mkdir()
            await killed(place, new(place), redis_url, point, replicas)

    async with asyncio.TaskGroup() as stories:
        for number, point in enumerate(points):
            stories.create_task(one(number, point))
    return f"n={len(points)} kills at {len(set(points))} points, 0 lost, 0 double"


@pytest.mark.parametrize("points", [POINTS[::4], OFTEN], ids=["once", "often"])
async def test_a_process_that_starts_again_on_sqlite_goes_on_where_the_killed_one_was(
    points: Sequence[str], home: Path, new_sqlite: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_sqlite, redis_url, 1, points)
    claim(f"kill -9, SQLite with restart: {n}")


@pytest.mark.slow
@pytest.mark.parametrize("points", [POINTS[2::4], OFTEN], ids=["once", "often"])
async def test_another_replica_takes_over_on_postgresql(
    points: Sequence[str], home: Path, new_postgres: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_postgres, redis_url, 2, points)
    claim(f"kill -9, PostgreSQL with two replicas: {n}")
