"""The race of REVIEW-31: fifty resumes at once with the same version, in two processes on PostgreSQL. One wins."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gate.rules.reviews import Phase
from storage.database import open_engine
from storage.ledger import SqlLedger
from tests.chaos.hammer_process import TEAM, Anvil
from tests.chaos.replicas import KEY, Process
from tests.chaos.review_race_process import nothing, run

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
RESUMES = 50


@pytest.mark.parametrize("rounds", [4, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
async def test_of_fifty_resumes_in_two_processes_one_wins_in_every_round(
    rounds: int,
    home: Path,
    new_postgres: Callable[[Path], str],
    redis_url: str,
    claim: Callable[[str], None],
) -> None:
    url = new_postgres(home)
    started = [Process.start(run, Anvil(url, redis_url, KEY, home / "struck")) for _ in range(2)]
    sql = open_engine(url)
    ledger = SqlLedger(sql, nothing, KEY.encode())
    try:
        for process in started:
            assert await process.hear() == "ready"
        for number in range(rounds):
            started[number % 2].line.send(("make", number, list(Phase)[number % 2]))
            paused = await started[number % 2].hear()
            for process in started:
                process.line.send(("resume", paused, RESUMES // 2))
            said = Counter([word for process in started for word in await process.hear()])
            assert said == {"won": 1, "conflict": RESUMES - 1}, (number, said)
            assert len(await ledger.reviews.of(TEAM, paused[0])) == 1
        claim(f"reviews: {rounds} rounds x {RESUMES} resumes over 2 processes on PostgreSQL: one winner each")
    finally:
        await sql.dispose()
        for process in started:
            await asyncio.to_thread(process.close)
