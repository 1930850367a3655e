"""The stall watchdog: what holds the loop up is told once, with where; what only waits is not."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time

import pytest

from bot.watchdog import FRAMES, Stall, Watchdog, _stack
from tests.product import running_product
from tests.stalls import in_product

pytestmark = pytest.mark.holds_up("it is what these tests are about")


async def watched(work: object, limit: float = 0.1) -> list[Stall]:
    found: list[Stall] = []
    dog = Watchdog(found.append, limit)
    with dog.watching(), dog.over(asyncio.get_running_loop()):
        await asyncio.sleep(0)
        await work  # type: ignore[misc]
        await asyncio.sleep(0)
    over = [stall for stall in found if stall.over]  # one that lasts is also told while it goes on
    assert dog.stalls == len(over)
    return over


async def blocks() -> None:
    time.sleep(0.3)  # noqa: ASYNC251


async def computes() -> None:
    for _ in range(4):
        re.match(r"(a*)*b", "a" * 23)  # holds the interpreter's lock: the watchdog can only look in between


async def waits() -> None:
    await asyncio.sleep(0.3)
    await asyncio.to_thread(time.sleep, 0.3)


@pytest.mark.slow
@pytest.mark.parametrize("work", [blocks, computes])
async def test_a_loop_that_is_held_up_is_told_with_its_stack(work: object) -> None:
    (stall,) = await watched(work())  # type: ignore[operator]
    assert stall.seconds > 0.1
    assert any(frame.name == work.__name__ for frame in stall.stack)  # type: ignore[attr-defined]
    assert (stall.cpu > 0.1) == (work is computes)
    assert f"in {work.__name__}" in str(stall)  # type: ignore[attr-defined]


async def test_waiting_is_no_stall() -> None:
    assert await watched(waits(), 0.25) == []


async def test_two_turns_are_two_stalls_and_short_ones_none() -> None:
    async def work() -> None:
        for seconds in (0.2, 0.0, 0.2):
            time.sleep(seconds)  # noqa: ASYNC251
            await asyncio.sleep(0)

    assert len(await watched(work())) == 2


async def test_a_stall_without_end_is_told_while_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.watchdog.ENDLESS", 0.2)
    found: list[Stall] = []
    told = threading.Event()

    def tell(stall: Stall) -> None:
        found.append(stall)
        told.set()

    dog = Watchdog(tell)
    with dog.watching(), dog.over(asyncio.get_running_loop()):
        await asyncio.sleep(0)
        assert told.wait(10)
        assert not found[0].over
        await asyncio.sleep(0)
    assert [stall.over for stall in found] == [False, True]
    assert dog.stalls == 1


@pytest.mark.slow
async def test_a_stall_is_a_log_record_and_a_counter(
    tmp_path: object, caplog: pytest.LogCaptureFixture
) -> None:
    from aiohttp.test_utils import TestClient, TestServer

    async with running_product(tmp_path) as all_of_it:  # type: ignore[arg-type]
        async with TestClient(TestServer(all_of_it.parts.web)) as http:
            before = await (await http.get("/metrics")).text()
            with caplog.at_level(logging.WARNING, "bot.watchdog"):
                time.sleep(0.3)  # noqa: ASYNC251
                async with asyncio.timeout(10):
                    while "was held up" not in caplog.text:  # noqa: ASYNC110 - told by another thread
                        await asyncio.sleep(0.01)
            after = await (await http.get("/metrics")).text()
    assert counted(after) > counted(before)
    assert "test_a_stall_is_a_log_record_and_a_counter" in caplog.text


def counted(metrics: str) -> int:
    found = re.search(r"^countersign_loop_stalls_total (\d+)$", metrics, re.M)
    assert found
    return int(found[1])


async def test_what_a_test_does_itself_is_not_the_product_s() -> None:
    (stall,) = await watched(blocks())
    assert not in_product(stall)


def test_two_watch_one_loop_and_the_one_that_goes_first_leaves_the_other() -> None:
    loop, found = asyncio.new_event_loop(), list[Stall]()
    one, other = Watchdog(found.append), Watchdog(found.append)
    with one.over(loop):
        loop.run_until_complete(asyncio.sleep(0))
        watching = other.over(loop)
        watching.__enter__()
    loop.run_until_complete(asyncio.sleep(0.3))  # one that was left behind would take the wait for a turn
    watching.__exit__(None, None, None)
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert found == []


@pytest.mark.slow
def test_the_stack_of_a_thread_is_read_while_it_runs_on() -> None:
    ends = threading.Event()

    def climbs(height: int) -> None:
        if height:
            climbs(height - 1)

    def runs() -> None:
        while not ends.is_set():
            climbs(50)

    thread = threading.Thread(target=runs)
    thread.start()
    assert thread.ident is not None
    try:
        stacks = [_stack(thread.ident) for _ in range(300)]
    finally:
        ends.set()
        thread.join()
    assert all(len(stack) <= FRAMES for stack in stacks)
    names = {frame.name for stack in stacks for frame in stack}
    assert names & {"climbs", "runs"}
    assert {frame.filename for stack in stacks for frame in stack if frame.name == "climbs"} <= {__file__}
    assert not _stack(thread.ident)
