"""Requests of one token take turns; those of others begin at once."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from handlers.api.request_turns import FLOOD, Turns, release_slot
from tests.api.api_server import Api
from tests.bot.test_engine_runs import until
from tests.tools.test_tools_fair_slots import _run_waiting_tasks


class Work:
    """Requests that work until they are told to end."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}

    def start(self, token: str, number: int) -> asyncio.Task[None]:
        return asyncio.create_task(self._one(token, f"{token}{number}"))

    async def _one(self, token: str, name: str) -> None:
        self._ends[name] = asyncio.Event()
        async with self._turns.taken(token):
            self.began.append(name)
            await self._ends[name].wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await _run_waiting_tasks()


async def test_requests_of_one_token_work_one_after_the_other_and_those_of_another_at_once() -> None:
    work = Work(Turns(long=600))
    tasks = [work.start("a", number) for number in range(3)]
    tasks.append(work.start("b", 0))
    await _run_waiting_tasks()
    assert work.began == ["a0", "b0"]
    await work.end("a0")
    assert work.began == ["a0", "b0", "a1"]
    for name in ("a1", "a2", "b0"):
        await work.end(name)
    await asyncio.gather(*tasks)


async def test_a_request_that_waits_lets_the_next_one_begin() -> None:
    turns, began = Turns(long=600), asyncio.Event()

    async def waits() -> None:
        async with turns.taken("a"):
            release_slot()
            await began.wait()

    async def works() -> None:
        async with turns.taken("a"):
            began.set()

    async with asyncio.timeout(10):
        await asyncio.gather(waits(), works())


async def test_a_request_that_takes_long_lets_the_next_one_begin() -> None:
    work = Work(Turns(long=0.01))
    tasks = [work.start("a", number) for number in range(3)]
    await until(lambda: len(work.began) == 3)
    for name in list(work.began):
        await work.end(name)
    await asyncio.gather(*tasks)


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_a_cancelled_request_takes_no_turn_along(cancelled: int) -> None:
    turns = Turns(long=600)
    work = Work(turns)
    tasks = [work.start("a", number) for number in range(4)]
    await _run_waiting_tasks()
    tasks[cancelled].cancel()
    await _run_waiting_tasks()
    for number in range(4):
        await work.end(f"a{number}")
    await asyncio.gather(*tasks, return_exceptions=True)
    assert work.began == [f"a{n}" for n in range(4) if n != cancelled or n == 0]
    assert turns._queues == {}


async def test_a_request_that_is_cancelled_as_its_turn_comes_hands_it_on() -> None:
    work = Work(Turns(long=600))
    first, second, third = (work.start("a", number) for number in range(3))
    await _run_waiting_tasks()
    first.cancel()
    await asyncio.sleep(0)  # the turn is given to the second one, which has not run since
    second.cancel()
    await _run_waiting_tasks()
    assert work.began[-1] == "a2"
    await work.end("a2")
    await asyncio.gather(first, second, third, return_exceptions=True)


async def test_a_flood_of_one_token_is_worked_one_by_one_and_another_token_is_answered_meanwhile(
    unhurried: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    flooder, other = await unhurried.agent(), await unhurried.agent()
    at_work = most = 0
    pages: Any = unhurried.services.pages
    real = pages.actions

    async def slow(token: Any, **asked: Any) -> Any:
        nonlocal at_work, most
        if token.id != flooder.token.id:
            return await real(token, **asked)
        at_work += 1
        most = max(most, at_work)
        for _ in range(5):
            await asyncio.sleep(0)
        at_work -= 1
        return await real(token, **asked)

    monkeypatch.setattr(pages, "actions", slow)
    flood = [asyncio.create_task(flooder.get("/actions?state=all")) for _ in range(30)]
    await other.get("/actions?state=all")
    await asyncio.gather(*flood)
    assert most == 1


async def test_of_a_flood_of_one_token_one_request_at_a_time_is_admitted_also_where_it_is_refused(
    unhurried: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    flooder, other = await unhurried.agent(), await unhurried.agent()
    looking = most = 0
    tokens: Any = unhurried.services.tokens
    real = tokens.find

    async def slow(written: Any) -> Any:
        nonlocal looking, most
        if written.id != flooder.token.id:
            return await real(written)
        looking += 1
        most = max(most, looking)
        try:
            return await real(written)
        finally:
            looking -= 1

    monkeypatch.setattr(tokens, "find", slow)
    flood = [asyncio.create_task(flooder.get("/actions?state=all")) for _ in range(60)]
    await other.get("/actions?state=all")
    await asyncio.gather(*flood)
    assert most == 1


async def test_a_flood_of_one_token_leaves_most_of_the_time_to_others() -> None:
    turns, loop, times = Turns(long=600), asyncio.get_running_loop(), list[tuple[float, float]]()

    async def work() -> None:
        async with turns.taken("a"):
            began = loop.time()
            await asyncio.sleep(0.01)
            times.append((began, loop.time()))

    async with asyncio.timeout(10):
        await asyncio.gather(*(work() for _ in range(FLOOD + 4)))
    rests = [after[0] - before[1] for before, after in itertools.pairwise(times)]
    assert min(rests[:3]) >= 0.018
