"""The turnstile: few at once, in their order, and whoever takes long or fails does not keep the others."""

from __future__ import annotations

import asyncio

import pytest

from bot.concurrency import FEW, Turnstile, step_aside
from tests.bot.test_engine_runs import until

LONG = 60.0  # seconds, that no test waits out


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def _inside(turnstile: Turnstile, kind: str, name: str, names: list[str], go: asyncio.Event) -> None:
    """A run of a person of its own."""
    async with turnstile.passed(kind, name):
        names.append(name)
        await go.wait()


async def test_only_so_many_of_a_kind_pass_at_once_and_in_their_order() -> None:
    turnstile, names, go = Turnstile(at_once=2, long=LONG), list[str](), asyncio.Event()
    runs = [asyncio.create_task(_inside(turnstile, "calls", name, names, go)) for name in "abcd"]
    await _settled()
    assert names == ["a", "b"]
    go.set()
    await asyncio.gather(*runs)
    assert names == ["a", "b", "c", "d"]


async def test_the_cards_of_one_person_are_drawn_one_after_the_other_beside_those_of_others() -> None:
    turnstile, names, go = Turnstile(at_once=2, long=LONG), list[str](), asyncio.Event()

    async def run(owner: str, name: str) -> None:
        async with turnstile.passed("cards", owner):
            names.append(name)
            await go.wait()

    drawn = [asyncio.create_task(run(*one)) for one in [("ann", "answer"), ("ann", "card"), ("ben", "his")]]
    await _settled()
    assert names == ["answer", "his"]
    go.set()
    await asyncio.gather(*drawn)
    assert names == ["answer", "his", "card"]


async def test_a_busy_person_leaves_a_place_in_which_another_one_begins_at_once() -> None:
    turnstile, names, go = Turnstile(at_once=2, long=LONG), list[str](), asyncio.Event()

    async def run(owner: str, name: str) -> None:
        async with turnstile.passed("events", owner):
            names.append(name)
            await go.wait()

    runs = [asyncio.create_task(run("ann", f"ann{n}")) for n in range(300)]
    await _settled()
    runs.append(asyncio.create_task(run("ben", "ben")))
    await _settled()
    assert names == ["ann0", "ben"]
    go.set()
    await asyncio.gather(*runs)


async def test_one_kind_does_not_wait_for_another() -> None:
    turnstile, names, go = Turnstile(at_once=1, long=LONG), list[str](), asyncio.Event()
    runs = [asyncio.create_task(_inside(turnstile, kind, kind, names, go)) for kind in ("timers", "calls")]
    await _settled()
    assert names == ["timers", "calls"]
    go.set()
    await asyncio.gather(*runs)


async def test_runs_of_another_person_do_not_wait_for_all_of_the_first_one_s() -> None:
    turnstile, names, go = Turnstile(at_once=1, long=LONG), list[str](), asyncio.Event()

    async def run(owner: str, name: str) -> None:
        async with turnstile.passed("events", owner):
            names.append(name)
            await go.wait()

    runs = [asyncio.create_task(run("ann", f"ann{n}")) for n in range(300)]
    await _settled()
    runs.append(asyncio.create_task(run("ben", "ben")))
    await _settled()
    go.set()
    await asyncio.gather(*runs)
    assert names.index("ben") <= 2


async def test_who_takes_long_does_not_keep_the_next_and_gives_its_place_back_once() -> None:
    turnstile, names, go = Turnstile(at_once=1, long=0.01), list[str](), asyncio.Event()
    first = asyncio.create_task(_inside(turnstile, "calls", "slow", names, go))
    second = asyncio.create_task(_inside(turnstile, "calls", "next", names, go))
    await until(lambda: len(names) == 2)
    go.set()
    await asyncio.gather(first, second)
    assert turnstile.free("calls") == 1


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
async def test_who_fails_or_is_cancelled_gives_its_place_back(error: type[BaseException]) -> None:
    turnstile = Turnstile(at_once=1, long=LONG)
    with pytest.raises(error):
        async with turnstile.passed("calls"):
            raise error
    assert turnstile.free("calls") == 1


async def test_who_is_cancelled_while_it_waits_takes_no_place() -> None:
    turnstile, names, go = Turnstile(at_once=1, long=LONG), list[str](), asyncio.Event()
    first = asyncio.create_task(_inside(turnstile, "calls", "first", names, go))
    waits = asyncio.create_task(_inside(turnstile, "calls", "waits", names, go))
    await _settled()
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    go.set()
    await first
    assert names == ["first"]
    assert turnstile.free("calls") == 1


async def _runs_of_ann(turnstile: Turnstile, names: list[str], go: asyncio.Event) -> list[asyncio.Task[None]]:
    """FEW runs of one person, a kind of its own each, so that all of them pass; then as many more of such kinds."""

    async def run(kind: str) -> None:
        async with turnstile.passed(kind, "ann"):
            names.append(kind)
            await go.wait()

    runs = [asyncio.create_task(run(f"kind{n}")) for n in range(2 * FEW)]
    await _settled()
    return runs


async def test_of_a_person_with_many_runs_one_passes_at_once_whatever_its_kind() -> None:
    turnstile, names, go = Turnstile(long=LONG), list[str](), asyncio.Event()
    runs = await _runs_of_ann(turnstile, names, go)
    assert len(names) == FEW  # the next one lets them go first for a moment
    await until(lambda: len(names) > FEW)
    await _settled()
    assert len(names) == FEW + 1
    go.set()
    await asyncio.gather(*runs)
    assert len(names) == 2 * FEW


async def test_a_run_of_a_crowd_begins_as_soon_as_nobody_else_s_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.concurrency.YIELDING", LONG)
    turnstile, names, go, others = Turnstile(long=LONG), list[str](), asyncio.Event(), asyncio.Event()
    ben = asyncio.create_task(_inside(turnstile, "events", "ben", names, others))
    await _settled()
    runs = await _runs_of_ann(turnstile, names, go)
    go.set()
    await _settled()
    assert len(names) == 1 + FEW
    others.set()
    await asyncio.gather(ben, *runs)
    assert len(names) == 1 + 2 * FEW


async def test_a_crowd_goes_on_though_others_never_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.concurrency.YIELDING", 0.001)
    turnstile, names, go, others = Turnstile(long=LONG), list[str](), asyncio.Event(), asyncio.Event()
    ben = asyncio.create_task(_inside(turnstile, "events", "ben", names, others))
    await _settled()
    runs = await _runs_of_ann(turnstile, names, go)
    go.set()
    await asyncio.gather(*runs)
    assert not ben.done()
    others.set()
    await ben


async def test_a_run_of_a_crowd_that_waits_for_something_outside_lets_the_next_begin() -> None:
    turnstile, names, go = Turnstile(long=LONG), list[str](), asyncio.Event()

    async def run(number: int) -> None:
        async with turnstile.passed(f"kind{number}", "ann"):
            names.append("ann")
            if number % 2:
                step_aside()  # the others are taken to wait after a while
            await go.wait()

    runs = [asyncio.create_task(run(n)) for n in range(3 * FEW)]
    await until(lambda: len(names) == 3 * FEW)
    go.set()
    await asyncio.gather(*runs)
    assert [turnstile.free(f"kind{n}") for n in range(3 * FEW)] == [2] * 3 * FEW


async def test_the_service_s_own_runs_are_no_crowd() -> None:
    turnstile, names, go = Turnstile(long=LONG), list[str](), asyncio.Event()

    async def run(kind: str) -> None:
        async with turnstile.passed(kind):
            names.append(kind)
            await go.wait()

    runs = [asyncio.create_task(run(f"kind{n}")) for n in range(3 * FEW)]
    await _settled()
    assert len(names) == 3 * FEW
    go.set()
    await asyncio.gather(*runs)
