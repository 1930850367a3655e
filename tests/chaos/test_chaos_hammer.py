"""The hammer: every action confirmed twelve times at once, by the right, the wrong and the outdated. One runs it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.rules.action import Ref
from storage.audit_log import entries, verify
from storage.database import open_engine
from tests.chaos.hammer_process import GUEST, LEFT, ROBOT, STRANGER, Anvil, Shown, run
from tests.chaos.replicas import KEY, Process, until

pytestmark = pytest.mark.timeout(900)
BATCH = 6  # actions under the hammer at once: 72 presses
New = Callable[[Path], str]


def twelve(versions: list[Shown], other: Shown) -> list[tuple[str, Ref]]:
    """Five good presses, four by the wrong people, three for what nobody was shown or sees no more."""
    now, old = versions[-1], versions[0]
    who, ref = now.requester, now.ref
    stale = old.ref if len(versions) > 1 else Ref(ref.id, ref.version + 1, ref.receipt)
    outdated = [stale, Ref(ref.id, ref.version, other.ref.receipt), Ref(ref.id, 0, ref.receipt)]
    wrong = [other.requester, *random.sample([GUEST, STRANGER, ROBOT, LEFT], 3)]
    return [*[(who, ref)] * 5, *[(user, ref) for user in wrong], *[(who, each) for each in outdated]]


async def hammered(
    processes: list[Process], numbers: range
) -> tuple[list[Shown], Counter[tuple[str, str, str]]]:
    """One batch: prepared by one process, pressed in all of them. What stood last, and what was said."""
    processes[0].line.send(("prepare", [f"a{number}" for number in numbers]))
    prepared: list[list[Shown]] = await processes[0].hear()
    others = [prepared[-1][-1], *(versions[-1] for versions in prepared)]
    presses = [p for versions, other in zip(prepared, others, strict=False) for p in twelve(versions, other)]
    random.shuffle(presses)
    for place, process in enumerate(processes):
        process.line.send(("press", presses[place :: len(processes)]))
    said: Counter[tuple[str, str, str]] = Counter()
    for process in processes:
        said += await process.hear()
    return [versions[-1] for versions in prepared], said


async def hammer(home: Path, url: str, redis_url: str, count: int, processes: int) -> str:
    """The whole test; what it has shown."""
    log = home / "struck"
    started = [Process.start(run, Anvil(url, redis_url, KEY, log)) for _ in range(processes)]
    sql = open_engine(url)
    try:
        for process in started:
            assert await process.hear() == "ready"
        shown: list[Shown] = []
        said: Counter[tuple[str, str, str]] = Counter()
        for first in range(0, count, BATCH):
            batch, heard = await hammered(started, range(first, min(first + BATCH, count)))
            shown += batch
            said += heard
        await until(lambda: len(log.read_bytes().splitlines()) >= count, f"{count} strikes", 120)
        for process in started:
            process.line.send(None)
            await process.hear()  # drained: what runs has ended
        assert sorted(log.read_bytes().splitlines()) == sorted(one.args for one in shown)
        right = {one.ref.id: one.requester for one in shown}
        winners = Counter({key: n for key, n in said.items() if key[2] == "confirmed"})
        assert winners == Counter((action, user, "confirmed") for action, user in right.items())
        turned_away = sum(n for (_, _, code), n in said.items() if code == "not_allowed")
        assert turned_away == 4 * count
        assert said.total() == 12 * count
        lines = [line.entry async for line in entries(sql)]
        confirmed = {e.action: (e.actor, e.arguments.encode()) for e in lines if e.event == "confirmed"}
        assert confirmed == {one.ref.id: (one.requester, one.args) for one in shown}
        for event, times in {"confirmed": 1, "started": 1, "succeeded": 1, "turned_away": 4}.items():
            assert Counter(e.action for e in lines if e.event == event) == dict.fromkeys(right, times)
        assert (await verify(sql, KEY.encode())).broken_at is None
        return (
            f"n={count} actions x 12 confirms over {processes} process(es): {count} executions, "
            f"0 double, 0 by the wrong person ({turned_away} turned away), 0 with other bytes than shown"
        )
    finally:
        await sql.dispose()
        for process in started:
            await asyncio.to_thread(process.close)


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
async def test_two_replicas_on_postgresql_run_each_action_once(
    count: int, home: Path, new_postgres: New, redis_url: str, claim: Callable[[str], None]
) -> None:
    claim("hammer, PostgreSQL: " + await hammer(home, new_postgres(home), redis_url, count, 2))


@pytest.mark.parametrize("count", [30, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
async def test_one_process_on_sqlite_runs_each_action_once(
    count: int, home: Path, new_sqlite: New, redis_url: str, claim: Callable[[str], None]
) -> None:
    claim("hammer, SQLite: " + await hammer(home, new_sqlite(home), redis_url, count, 1))
