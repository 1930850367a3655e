"""Replicas die by kill -9 while an execution is paused for review, or around its resume: it comes back in its review."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gate.rules.reviews import Phase
from gate.rules.task_states import TaskState
from tests.chaos.action_scenario import Stage, assert_nothing_is_left, staged
from tests.chaos.failpoints import PAUSING, RESUMING, SHOWN
from tests.chaos.review_scenarios import AWAY, Paused, Reviewed, policy
from tests.chaos.test_chaos_kill import replaced
from views import task_buttons as buttons

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
New = Callable[[Path], str]
Claim = Callable[[str], None]
Kill = tuple[Phase, str]
WHILE = ""  # while nothing happens: the process is killed from outside


def kills(phase: Phase) -> list[Kill]:
    """While it is paused, and before and after each point on the way into the pause and out of it."""
    posted, redrawn = SHOWN[phase]
    names = (*PAUSING, posted, *RESUMING, redrawn)
    return [(phase, WHILE), *((phase, f"{when} {name}") for name in names for when in ("before", "after"))]


BEFORE, AFTER = kills(Phase.BEFORE), kills(Phase.AFTER)
POINTS = [*BEFORE, *AFTER]
# In the suite one kill on the way into a review, one inside, one on the way out; in the soak all on both databases, 5 times.
ON_SQLITE = [(Phase.AFTER, "after pause commit"), (Phase.BEFORE, WHILE)]
ON_POSTGRES = [(Phase.AFTER, "before look redrawn")]
# Stories side by side, with up to three replicas each: more only wait for each other on two cores
AT_ONCE = 2
OFTEN = pytest.param(POINTS * 5, marks=[pytest.mark.soak, pytest.mark.timeout(0)])


async def killed(home: Path, url: str, redis_url: str, replicas: int, kill: Kill) -> None:
    """One plan whose first step is reviewed, and whose first replica that comes to the point dies there."""
    phase, point = kill
    rules = policy(home, phase)
    async with staged(home, url, redis_url, point, policy=rules) as stage, AsyncExitStack() as stack:
        await asyncio.gather(*(stage.fleet.start() for _ in range(replicas)))
        await stage.reach()
        keeper = asyncio.create_task(replaced(stage)) if point else None
        it = await Reviewed.begin(stage, phase, stack)
        seen = await it.paused()
        if keeper is None:
            await dies(stage)
        elif not is_on_the_way_out(phase, point):
            await keeper
        await resumed(it, seen, point)
        if keeper is not None:
            await keeper
        if await is_unknown(it, is_on_the_way_out(phase, point)):
            await assert_nothing_is_left(stage)
            return
        await it.walk.press(buttons.SATISFIED, lambda task: task.state is TaskState.DONE)
        await assert_nothing_is_left(stage)
        await it.assert_decided(seen)


def is_on_the_way_out(phase: Phase, point: str) -> bool:
    """Whether a replica dies there once the review is decided."""
    return point.endswith((*RESUMING, SHOWN[phase][1]))


async def is_unknown(it: Reviewed, decided: bool) -> bool:
    """At the end of the plan. Once the review is decided, a step may be running as the replica dies beside it: then nobody
    knows what became of its call, it is not made again, and the task pauses and says so."""
    states = [TaskState.SATISFACTION, *([TaskState.PAUSED] if decided else [])]
    while (task := await it.walk.until(*states)).state is TaskState.PAUSED:
        if "may have run or not" in task.reason:
            assert max(it.rang()) <= 1
            return True
    return False


async def dies(stage: Stage) -> None:
    """One replica is killed while all of it waits for a person; another is started where nobody is left."""
    stage.fleet.replicas[0].signal(signal.SIGKILL)
    assert await stage.fleet.replicas[0].ended() == -signal.SIGKILL
    if not stage.fleet.urls:
        await stage.fleet.start()
    await stage.reach()


async def resumed(it: Reviewed, seen: Paused, point: str) -> None:
    """It is paused as it was, nothing has run meanwhile, and of many resumes one is told that it won: at most one,
    where the winner's process died before it could say so."""
    assert await it.paused() == seen
    assert it.rang() == ([0, 0, 0] if seen.phase is Phase.BEFORE else [1, 0, 0])
    await it.assert_listed(seen)
    said = await it.resume(seen)
    silent = is_on_the_way_out(seen.phase, point)
    assert said[200] == 1 or (silent and not said[200]), said
    assert set(said) <= {200, 409, 503, AWAY}, said


async def all_killed(home: Path, new: New, redis_url: str, replicas: int, points: Sequence[Kill]) -> int:
    """A plan for each point; how many there were."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, kill: Kill) -> None:
        async with room:
            place = home / f"{number}-{kill[0].name}-{kill[1].replace(' ', '-') or 'while'}"
            place.mkdir()
            await killed(place, new(place), redis_url, replicas, kill)

    async with asyncio.TaskGroup() as plans:
        for number, kill in enumerate(points):
            plans.create_task(one(number, kill))
    return len(points)


# promise: REVIEW-04, REVIEW-29
@pytest.mark.parametrize("points", [ON_SQLITE, OFTEN], ids=["once", "often"])
async def test_an_execution_is_still_in_its_review_in_a_process_that_starts_again_on_sqlite(
    points: Sequence[Kill], home: Path, new_sqlite: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_sqlite, redis_url, 1, points)
    claim(f"kill -9 in reviews, SQLite with restart: n={n} kills, 0 lost, 0 steps twice, one record each")


# promise: REVIEW-04, REVIEW-29
@pytest.mark.parametrize("points", [ON_POSTGRES, OFTEN], ids=["once", "often"])
async def test_another_replica_takes_a_review_over_on_postgresql(
    points: Sequence[Kill], home: Path, new_postgres: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_postgres, redis_url, 2, points)
    claim(
        f"kill -9 in reviews, PostgreSQL with two replicas: n={n} kills, 0 lost, 0 steps twice, one record each"
    )
