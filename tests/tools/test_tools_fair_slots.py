"""FairSlots: owners take turns, each has a bound, and cancellation loses no slot."""

from __future__ import annotations

import asyncio
import random
from collections import Counter

import pytest

from tools.mcp.limits import FairSlots, QueueFull, Slot


async def _run_waiting_tasks() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def acquire_all(slots: FairSlots, owner: str, number: int, got: list[str]) -> list[asyncio.Task[None]]:
    """`number` requests of one owner; each appends its name once it has a slot, and keeps the slot."""

    async def one(name: str) -> None:
        await slots.acquire(owner)
        got.append(name)

    return [asyncio.create_task(one(f"{owner}{n}")) for n in range(number)]


async def test_a_late_owner_is_next_however_many_requests_of_another_one_wait() -> None:
    slots, got = FairSlots(2, 2), list[str]()
    tasks = acquire_all(slots, "ann", 300, got)
    await _run_waiting_tasks()
    tasks += acquire_all(slots, "ben", 1, got)
    await _run_waiting_tasks()
    assert got == ["ann0", "ann1"]
    for _ in range(2):
        slots.release("ann")
    await _run_waiting_tasks()
    assert got == ["ann0", "ann1", "ann2", "ben0"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_owners_take_turns_and_each_keeps_its_order() -> None:
    slots, got = FairSlots(1, 1), list[str]()
    await slots.acquire("first")
    tasks = [
        task
        for owner, number in (("a", 3), ("b", 2), ("c", 1))
        for task in acquire_all(slots, owner, number, got)
    ]
    await _run_waiting_tasks()
    slots.release("first")
    while len(got) < 6:
        await _run_waiting_tasks()
        slots.release(got[-1][0])
    await asyncio.gather(*tasks)
    assert got == ["a0", "b0", "c0", "a1", "b1", "a2"]


async def test_one_owner_has_no_more_slots_than_its_share() -> None:
    slots, got = FairSlots(8, 4), list[str]()
    tasks = acquire_all(slots, "ann", 40, got)
    await _run_waiting_tasks()
    assert len(got) == 4
    await asyncio.wait_for(slots.acquire("ben"), 5)
    assert slots.free == 3
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_person_and_their_agents_share_the_slots_of_one_person() -> None:
    """With two tokens for agents one person had all slots of a server."""
    slots, got = FairSlots(8, 4, by_person=True), list[str]()
    tasks = [one for name in ("ann:1", "ann:2", "ann:3") for one in acquire_all(slots, name, 8, got)]
    await _run_waiting_tasks()
    assert sorted(got) == ["ann:10", "ann:11", "ann:20", "ann:21"]
    tasks += acquire_all(slots, "ann", 1, got)
    await asyncio.wait_for(slots.acquire("ben"), 5)
    await _run_waiting_tasks()
    assert slots.waiting("ann") == 1
    slots.release("ann:1")
    await _run_waiting_tasks()
    assert len(got) == 5
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_one_agent_leaves_its_person_half_of_their_slots() -> None:
    slots, got = FairSlots(8, 4, by_person=True), list[str]()
    tasks = acquire_all(slots, "ann:1", 8, got)
    await _run_waiting_tasks()
    tasks += acquire_all(slots, "ann", 8, got)
    await _run_waiting_tasks()
    assert got == ["ann:10", "ann:11", "ann0", "ann1"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_people_take_turns_however_many_agents_they_have() -> None:
    slots, got = FairSlots(1, 1, by_person=True), list[str]()
    tasks = [one for name in ("ben:1", "ben:2", "ben:3", "ben") for one in acquire_all(slots, name, 2, got)]
    await _run_waiting_tasks()
    tasks += acquire_all(slots, "ann", 3, got)
    for _ in range(10):
        await _run_waiting_tasks()
        slots.release(got[-1][:-1])
    await asyncio.gather(*tasks, return_exceptions=True)
    assert got[1:6] == ["ben:11", "ann0", "ben:20", "ann1", "ben:30"]
    assert len(got) == 11


async def test_a_request_beyond_the_queue_of_an_owner_is_refused_and_other_owners_wait() -> None:
    slots, got = FairSlots(1, 1, max_waiting=2), list[str]()
    tasks = acquire_all(slots, "ann", 3, got)
    await _run_waiting_tasks()
    with pytest.raises(QueueFull):
        await slots.acquire("ann")
    tasks += acquire_all(slots, "ben", 1, got)
    await _run_waiting_tasks()
    assert slots.waiting("ben") == 1
    slots.release("ann")
    await _run_waiting_tasks()
    assert got == ["ann0", "ann1"]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    slots.release("ann")
    assert slots.free == 1


async def test_a_slot_assigned_to_a_cancelled_request_goes_to_the_next() -> None:
    slots, got = FairSlots(1, 1), list[str]()
    await slots.acquire("ann")
    [late] = acquire_all(slots, "ben", 1, got)
    [next_] = acquire_all(slots, "cat", 1, got)
    await _run_waiting_tasks()
    slots.release("ann")  # the slot is assigned to Ben,
    late.cancel()  # whose task has not run since
    await asyncio.gather(late, next_, return_exceptions=True)
    assert got == ["cat0"]


@pytest.mark.parametrize("seed", range(20))
async def test_no_slot_is_lost_or_duplicated_under_random_cancellation(seed: int) -> None:
    rng, slots, taken = random.Random(seed), FairSlots(3, 2, max_waiting=4), Counter[str]()

    async def one(owner: str) -> None:
        try:
            await slots.acquire(owner)
        except QueueFull:
            return
        taken[owner] += 1
        assert taken.total() <= 3
        assert taken[owner] <= 2
        try:
            for _ in range(rng.randrange(4)):
                await asyncio.sleep(0)
        finally:
            taken[owner] -= 1
            slots.release(owner)

    tasks = list[asyncio.Task[None]]()
    for _ in range(200):
        tasks.append(asyncio.create_task(one(rng.choice("abcd"))))
        if rng.random() < 0.3:
            rng.choice(tasks).cancel()
        if rng.random() < 0.5:
            await asyncio.sleep(0)
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert [one for one in done if isinstance(one, AssertionError)] == []
    assert slots.free == 3
    assert [slots.waiting(owner) for owner in "abcd"] == [0, 0, 0, 0]


async def test_a_slot_that_is_lent_is_used_by_others_and_waited_for_again() -> None:
    slots = FairSlots(1, 1)
    slot, other = Slot(slots, "ann"), Slot(slots, "ben")
    await slot.taken()
    slot.lend()
    slot.lend()
    await other.taken()
    await slot.back()
    back = asyncio.create_task(slot.back())
    await _run_waiting_tasks()
    assert not back.done()
    other.close()
    await back
    assert slots.free == 0
    slot.close()
    slot.close()
    assert slots.free == 1


async def test_a_slot_that_is_closed_while_it_is_waited_for_again_is_not_kept() -> None:
    slots = FairSlots(1, 1)
    slot, other = Slot(slots, "ann"), Slot(slots, "ben")
    await slot.taken()
    slot.lend()
    await other.taken()
    back = asyncio.create_task(slot.back())
    await _run_waiting_tasks()
    slot.close()
    other.close()
    await back
    assert slots.free == 1
    slot.lend()
    await slot.back()
    assert slots.free == 1, "it has ended"


async def test_a_call_whose_owner_has_too_much_waiting_goes_on_without_its_slot() -> None:
    slots = FairSlots(1, 1, max_waiting=0)
    slot, other = Slot(slots, "ann"), Slot(slots, "ben")
    await slot.taken()
    slot.lend()
    await other.taken()
    await slot.back()
    slot.close()
    other.close()
    assert slots.free == 1
