"""Replicas die by kill -9 around the result of a call that is held for its review: it is held, or nobody knows of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from aiohttp import ClientSession

from gate.rules.action_states import State
from gate.rules.reviews import Phase, version_after
from tests.chaos.action_scenario import TEAM, Stage, Told, assert_nothing_is_left, staged
from tests.chaos.review_scenarios import AWAY, line, policy, resume
from tests.chaos.test_chaos_kill import replaced
from tests.chaos.test_chaos_review_kills import AT_ONCE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
New = Callable[[Path], str]
Claim = Callable[[str], None]
HOLDING = ("before pause commit", "after pause commit")  # the commit of the result, which is held
RELEASING = ("before review commit", "after review commit")
POINTS = (*HOLDING, *RELEASING)
OFTEN = pytest.param(POINTS * 5, marks=[pytest.mark.soak, pytest.mark.timeout(0)])


async def killed(home: Path, url: str, redis_url: str, replicas: int, point: str) -> None:
    """One call whose result is reviewed, and whose first replica that comes to the point dies there."""
    rules = policy(home, Phase.AFTER, "*")
    async with staged(home, url, redis_url, point, policy=rules) as stage, AsyncExitStack() as stack:
        await asyncio.gather(*(stage.fleet.start() for _ in range(replicas)))
        await stage.reach()
        keeper = asyncio.create_task(replaced(stage))
        story = await stage.ask("m1")
        await story.confirm()
        if point in HOLDING:
            await keeper
        lost = point == "before pause commit"  # it ran, and nobody has written down what it gave
        if not lost:
            await released(stage, story, await line(stage, stack), point)
        await keeper
        action = await story.end()
        await assert_nothing_is_left(stage)
        assert action.state is (State.UNKNOWN if lost else State.SUCCEEDED)
        assert (action.under_review, action.judged is None) == ("", lost)
        assert len(await stage.ledger.reviews.of(TEAM, story.id)) == (0 if lost else 1)
        await story.assert_struck(1)
        await story.assert_shown(action)


async def released(stage: Stage, story: Told, session: ClientSession, point: str) -> None:
    """It is held with what it gave, and of many who release it one is told so: at most one, where its process died
    before it could say so."""
    action = await story.end(State.SUCCEEDED)
    assert (action.under_review, action.judged) == ("chaos", None)
    said = await resume(stage, session, (action.id, action.id), version_after(action))
    assert said[200] == 1 or (point in RELEASING and not said[200]), said
    assert set(said) <= {200, 409, 503, AWAY}, said


async def all_killed(home: Path, new: New, redis_url: str, replicas: int, points: Sequence[str]) -> int:
    """A call for each point; how many there were."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, point: str) -> None:
        async with room:
            place = home / f"{number}-{point.replace(' ', '-')}"
            place.mkdir()
            await killed(place, new(place), redis_url, replicas, point)

    async with asyncio.TaskGroup() as calls:
        for number, point in enumerate(points):
            calls.create_task(one(number, point))
    return len(points)


@pytest.mark.parametrize("points", [[HOLDING[1]], OFTEN], ids=["once", "often"])
async def test_a_result_is_still_held_in_a_process_that_starts_again_on_sqlite(
    points: Sequence[str], home: Path, new_sqlite: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_sqlite, redis_url, 1, points)
    claim(f"kill -9 around held results, SQLite with restart: n={n} kills, 0 let out unseen, 0 calls twice")


@pytest.mark.parametrize("points", [OFTEN], ids=["often"])
async def test_another_replica_keeps_a_result_held_on_postgresql(
    points: Sequence[str], home: Path, new_postgres: New, redis_url: str, claim: Claim
) -> None:
    n = await all_killed(home, new_postgres, redis_url, 2, points)
    claim(f"kill -9 around held results, PostgreSQL with two replicas: n={n} kills, 0 let out unseen")
