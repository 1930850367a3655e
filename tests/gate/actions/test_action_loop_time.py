"""Whoever has used much of the event loop's time waits before their next call, and nobody else does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gate.actions import edit
from gate.actions.button_press import PressResult
from gate.actions.loop_time import counted, own_turn
from gate.rules.action import CallClass
from gate.rules.jobs import for_owner
from gate.rules.judging_turns import BURST, FREE, MOST_PEOPLE, SHARE, JudgingTurns
from gate.rules.policy import Rule
from tests.gate.gate_setup import ANN, BEN, FixedClock, Scene


class HandClock:
    """Time passes where work takes it, and while somebody sleeps."""

    def __init__(self) -> None:
        self.at = self.slept = 0.0

    def uptime(self) -> float:
        return self.at

    def _pass(self, seconds: float) -> None:
        self.at += seconds
        self.slept += seconds

    async def sleep(self, seconds: float) -> None:
        asyncio.get_running_loop().call_soon(self._pass, seconds)  # in a turn of its own
        await asyncio.sleep(0)


@pytest.fixture
def world() -> Any:
    return SimpleNamespace(clock=HandClock(), judging=JudgingTurns())


@counted
async def call(world: Any, seconds: float, turns: int = 1) -> str:
    async with own_turn(world):
        world.clock.at += seconds
    for _ in range(turns - 1):
        await asyncio.sleep(0)
        world.clock.at += seconds
    return "done"


async def called(world: Any, whose: str, seconds: float, count: int, turns: int = 1) -> float:
    """How long this many calls of one person after another wait, in seconds."""
    before = world.clock.slept
    with for_owner(whose):
        for _ in range(count):
            assert await call(world, seconds, turns) == "done"
    return float(world.clock.slept - before)


async def test_heavy_calls_of_one_person_take_their_share_of_the_loop_and_no_more(world: Any) -> None:
    await called(world, "ben", 0.3, 50)
    taken = 50 * 0.3
    assert taken / (world.clock.at + BURST / SHARE) <= SHARE * 1.05
    assert await called(world, "ann", 0.3, 1) == 0
    await world.clock.sleep(60)
    assert await called(world, "ben", 0.3, 1) == 0


async def test_agents_of_one_person_share_what_the_person_has(world: Any) -> None:
    await called(world, "ben:one", 0.3, 3)
    assert await called(world, "ben:two", 0.3, 1) > 0


async def test_each_turn_of_the_loop_counts_and_what_happens_between_them_does_not(world: Any) -> None:
    await called(world, "ben", 0.1, 1, turns=20)
    assert await called(world, "ben", 0.1, 1) > 0

    @counted
    async def waits(world: Any) -> None:
        await world.clock.sleep(30)

    with for_owner("eve"):
        await waits(world)
    assert await called(world, "eve", 0.3, 1) == 0


async def test_usual_calls_wait_for_nothing_however_many_they_are(world: Any) -> None:
    assert await called(world, "ben", FREE * 0.9, 2000) == 0
    assert await called(world, "", 0.3, 100) == 0  # the service itself


async def test_counted_work_fails_and_is_cancelled_as_other_work_is(world: Any) -> None:
    ended = list[str]()

    @counted
    async def failing(world: Any) -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append("ended")

    task = asyncio.create_task(failing(world))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == ["ended"]

    @counted
    async def caught(world: Any) -> str:
        try:
            await asyncio.wait_for(asyncio.Event().wait(), 0)
        except TimeoutError:
            return "caught"
        raise KeyError("x")

    assert await caught(world) == "caught"


async def test_calls_of_one_person_at_once_wait_for_each_other(world: Any) -> None:
    await asyncio.gather(*(called(world, "ben", 0.3, 1) for _ in range(30)))
    assert 30 * 0.3 / (world.clock.at + BURST / SHARE) <= SHARE * 1.1


def test_the_time_of_a_limited_number_of_people_is_kept() -> None:
    turns = JudgingTurns()
    for number in range(2 * MOST_PEOPLE):
        turns.charge(f"u{number}", 0.0, 10.0)
    assert turns.rest("u0", 0.0) == 0
    assert turns.rest(f"u{2 * MOST_PEOPLE - 1}", 0.0) > 0
    assert len(turns._paid) == MOST_PEOPLE


async def test_the_time_of_an_edit_counts_for_whoever_makes_it(stage: Scene) -> None:
    """A form of Slack is submitted in nobody's name."""
    clock, now = SlowClock(), stage.world.clock.uptime
    stage.world = replace(stage.world, clock=clock)
    action = await stage.prepare(path="a.md", content="hello")
    before = stage.world.judging.rest(ANN, now())
    clock.slow = True
    changed = {"path": "a.md", "content": "goodbye"}
    said = await edit.submit(stage.world, stage.press(action), changed)
    assert isinstance(said, PressResult)
    assert (before, said.code) == (0, "edited")
    assert stage.world.judging.rest(ANN, now()) > 0
    assert stage.world.judging.rest(BEN, now()) == 0


class SlowClock(FixedClock):
    """Each look at it is a second after the one before."""

    slow = False

    def __init__(self) -> None:
        self.looks = 0

    def uptime(self) -> float:
        self.looks += self.slow
        return super().uptime() + self.looks


class WorkClock(FixedClock):
    """Its seconds are steps of work: 1 where a rule is held against arguments, 10 where these are held against the
    tool's own schema, 1,000 where a card is measured."""

    def __init__(self) -> None:
        self.done = 0

    def uptime(self) -> float:
        return float(self.done)


class KeptTurns(JudgingTurns):
    """Keeps what each turn of the loop counted for."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = list[float]()

    def charge(self, whose: str, now: float, seconds: float) -> None:
        self.kept += [seconds] if seconds else []


async def test_no_turn_of_an_edit_judges_and_draws_it_or_judges_it_twice(stage: Scene) -> None:
    """64 KB of small values took 0.5 s in one turn."""
    action = await stage.prepare(path="a.md", content="hello")
    clock, turns, schema = WorkClock(), KeptTurns(), {"required": ["content"]}

    def working(deed: Callable[..., Any], work: Callable[..., int]) -> Callable[..., Any]:
        def done(*given: Any) -> Any:
            clock.done += work(*given)
            return deed(*given)

        return done

    stage.rule(Rule("asks", ("desk.*",), schema=schema, cls=CallClass.WRITE))
    stage.desk.problems = working(stage.desk.problems, lambda held, _: 1 if held == schema else 10)  # type: ignore[method-assign]
    fits = working(stage.world.fits, lambda _: 1000)
    stage.world = replace(stage.world, clock=clock, judging=turns, fits=fits)
    said = await edit.submit(stage.world, stage.press(action), {"path": "a.md", "content": "goodbye"})
    assert isinstance(said, PressResult)
    assert (said.code, turns.kept) == ("edited", [10, 2, 1000])
    turns.kept.clear()
    with for_owner(ANN):
        await stage.play()
    assert turns.kept == [
        11,
        1,
        1,
        1000,
    ]  # its look, the call with what that found, whether such a look is private
