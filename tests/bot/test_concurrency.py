"""The turnstile: few at once, in their order, and whoever takes long or fails does not keep the others."""

from __future__ import annotations

import asyncio

import pytest

from bot.concurrency import BUSY_OWNER_RUNS, ConcurrencySlots, release_slot
from tests.bot.test_engine_runs import until

LONG = 60.0  # seconds, that no test waits out


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def _inside(slots: ConcurrencySlots, kind: str, name: str, names: list[str], go: asyncio.Event) -> None:
    """A run of a person of its own."""
    async with slots.slot(kind, name):
        names.append(name)
        await go.wait()


async def test_only_so_many_of_a_kind_pass_at_once_and_in_their_order() -> None:
    slots, names, go = ConcurrencySlots(at_once=2, long=LONG), list[str](), asyncio.Event()
    runs = [asyncio.create_task(_inside(slots, "calls", name, names, go)) for name in "abcd"]
    await _settled()
    assert names == ["a", "b"]
    go.set()
    await asyncio.gather(*runs)
    assert names == ["a", "b", "c", "d"]


async def test_the_cards_of_one_person_are_drawn_one_after_the_other_beside_those_of_others() -> None:
    slots, names, go = ConcurrencySlots(at_once=2, long=LONG), list[str](), asyncio.Event()

    async def run(owner: str, name: str) -> None:
        async with slots.slot("cards", owner):
            names.append(name)
            await go.wait()

    drawn = [asyncio.create_task(run(*one)) for one in [("ann", "answer"), ("ann", "card"), ("ben", "his")]]
    await _settled()
    assert names == ["answer", "his"]
    go.set()
    await asyncio.gather(*drawn)
    assert names == ["answer", "his", "card"]


async def test_a_busy_person_leaves_a_place_in_which_another_one_begins_at_once() -> None:
    slots, names, go = ConcurrencySlots(at_once=2, long=LONG), list[str](), asyncio.Event()

    async def run(owner: str, name: str) -> None:
        async with slots.slot("events", owner):
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
    slots, names, go = ConcurrencySlots(at_once=1, long=LONG), list[str](), asyncio.Event()
    runs = [asyncio.create_task(_inside(slots, kind, kind, names, go)) for kind in ("timers", "calls")]
    await _settled()
    assert names == ["timers", "calls"]
    go.set()
    await asyncio.gather(*runs)


async def test_runs_of_another_person_do_not_wait_for_all_of_the_first_one_s() -> None:
    slots, names, go = ConcurrencySlots(at_once=1, long=LONG), list[str](), asyncio.Event()

    async def run(owner: str, name: str) -> None:
        async with slots.slot("events", owner):
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
    slots, names, go = ConcurrencySlots(at_once=1, long=0.01), list[str](), asyncio.Event()
    first = asyncio.create_task(_inside(slots, "calls", "slow", names, go))
    second = asyncio.create_task(_inside(slots, "calls", "next", names, go))
    await until(lambda: len(names) == 2)
    go.set()
    await asyncio.gather(first, second)
    assert slots.free("calls") == 1


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
async def test_who_fails_or_is_cancelled_gives_its_place_back(error: type[BaseException]) -> None:
    slots = ConcurrencySlots(at_once=1, long=LONG)
    with pytest.raises(error):
        async with slots.slot("calls"):
            raise error
    assert slots.free("calls") == 1


async def test_who_is_cancelled_while_it_waits_takes_no_place() -> None:
    slots, names, go = ConcurrencySlots(at_once=1, long=LONG), list[str](), asyncio.Event()
    first = asyncio.create_task(_inside(slots, "calls", "first", names, go))
    waits = asyncio.create_task(_inside(slots, "calls", "waits", names, go))
    await _settled()
    waits.cancel()
    await asyncio.gather(waits, return_exceptions=True)
    go.set()
    await first
    assert names == ["first"]
    assert slots.free("calls") == 1


async def _runs_of_ann(
    slots: ConcurrencySlots, names: list[str], go: asyncio.Event
) -> list[asyncio.Task[None]]:
    """FEW runs of one person, a kind of its own each, so that all of them pass; then as many more of such kinds."""

    async def run(kind: str) -> None:
        async with slots.slot(kind, "ann"):
            names.append(kind)
            await go.wait()

    runs = [asyncio.create_task(run(f"kind{n}")) for n in range(2 * BUSY_OWNER_RUNS)]
    await _settled()
    return runs


async def test_of_a_person_with_many_runs_one_passes_at_once_whatever_its_kind() -> None:
    slots, names, go = ConcurrencySlots(long=LONG), list[str](), asyncio.Event()
    runs = await _runs_of_ann(slots, names, go)
    assert len(names) == BUSY_OWNER_RUNS  # the next one lets them go first for a moment
    await until(lambda: len(names) > BUSY_OWNER_RUNS)
    await _settled()
    assert len(names) == BUSY_OWNER_RUNS + 1
    go.set()
    await asyncio.gather(*runs)
    assert len(names) == 2 * BUSY_OWNER_RUNS


async def test_a_run_of_a_crowd_begins_as_soon_as_nobody_else_s_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("bot.concurrency.YIELD_SECONDS", LONG)
    slots, names, go, others = ConcurrencySlots(long=LONG), list[str](), asyncio.Event(), asyncio.Event()
    ben = asyncio.create_task(_inside(slots, "events", "ben", names, others))
    await _settled()
    runs = await _runs_of_ann(slots, names, go)
    go.set()
    await _settled()
    assert len(names) == 1 + BUSY_OWNER_RUNS
    others.set()
    await asyncio.gather(ben, *runs)
    assert len(names) == 1 + 2 * BUSY_OWNER_RUNS


async def test_a_crowd_goes_on_though_others_never_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.concurrency.YIELD_SECONDS", 0.001)
    slots, names, go, others = ConcurrencySlots(long=LONG), list[str](), asyncio.Event(), asyncio.Event()
    ben = asyncio.create_task(_inside(slots, "events", "ben", names, others))
    await _settled()
    runs = await _runs_of_ann(slots, names, go)
    go.set()
    await asyncio.gather(*runs)
    assert not ben.done()
    others.set()
    await ben


@pytest.mark.slow(but=2)
@pytest.mark.parametrize(("other", "rests"), [("ben", True), ("", False), ("ann", False)])
async def test_a_crowd_rests_between_its_runs_while_somebody_else_asks(
    other: str, rests: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.concurrency.RECENT_SECONDS", LONG)
    monkeypatch.setattr("bot.concurrency.REST", LONG / 0.001)
    slots, names, go = ConcurrencySlots(long=LONG), list[str](), asyncio.Event()
    async with slots.slot("events", other):
        pass
    runs = await _runs_of_ann(slots, names, go)
    await until(lambda: len(names) > BUSY_OWNER_RUNS)
    await asyncio.sleep(0.002)
    go.set()
    if rests:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await asyncio.gather(*runs)
    await asyncio.gather(*runs, return_exceptions=True)
    assert len(names) == BUSY_OWNER_RUNS + 1 if rests else 2 * BUSY_OWNER_RUNS


async def test_a_run_of_a_crowd_that_waits_for_something_outside_lets_the_next_begin() -> None:
    slots, names, go = ConcurrencySlots(long=LONG), list[str](), asyncio.Event()

    async def run(number: int) -> None:
        async with slots.slot(f"kind{number}", "ann"):
            names.append("ann")
            if number % 2:
                release_slot()  # the others are taken to wait after a while
            await go.wait()

    runs = [asyncio.create_task(run(n)) for n in range(3 * BUSY_OWNER_RUNS)]
    await until(lambda: len(names) == 3 * BUSY_OWNER_RUNS)
    go.set()
    await asyncio.gather(*runs)
    assert [slots.free(f"kind{n}") for n in range(3 * BUSY_OWNER_RUNS)] == [2] * 3 * BUSY_OWNER_RUNS


async def test_the_service_s_own_runs_are_no_crowd() -> None:
    slots, names, go = ConcurrencySlots(long=LONG), list[str](), asyncio.Event()

    async def run(kind: str) -> None:
        async with slots.slot(kind):
            names.append(kind)
            await go.wait()

    runs = [asyncio.create_task(run(f"kind{n}")) for n in range(3 * BUSY_OWNER_RUNS)]
    await _settled()
    assert len(names) == 3 * BUSY_OWNER_RUNS
    go.set()
    await asyncio.gather(*runs)
