"""Memory and idle CPU of the bot while many actions wait for people, with their timers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from benchmarks.measure import Row, cpu_seconds, heading, line, median, resident_kb
from benchmarks.service import KEY, Bench, Bot, running
from benchmarks.slack import CHANNEL, PEOPLE, TEAM
from bot.settings import Settings
from bot.wiring import ALL
from gate.actions.action_versions import audit_entry
from gate.rules.action import Session
from storage.database import open_engine
from storage.ledger import SqlLedger
from tests.storage.samples import action

COUNTS = (0, 1_000, 10_000)
KB_GOAL, CPU_GOAL = 10.0, 3.0  # of memory for each; percent of one core
TTL = timedelta(hours=1)
BATCH = 100  # actions in one transaction
SETTLE = 5.0
TITLE = "waiting: actions that wait, each with its timer; memory and idle CPU of the bot's process"


@dataclass(frozen=True)
class Idle:
    """The memory of an idle process, and its CPU in percent of one core."""

    kilobytes: int
    cpu: float


async def run(bench: Bench, quick: bool) -> None:
    print(heading(TITLE))
    seconds, repeats = (4, 1) if quick else (20, 3)
    for database in bench.databases:
        lives = [await _idle(await bench.new_settings(database), seconds) for _ in range(repeats)]
        for place, count in enumerate(COUNTS):
            _show(f"{database}, {count:,}", count, [(life[0], life[place]) for life in lives])


def _show(what: str, count: int, found: list[tuple[Idle, Idle]]) -> None:
    """`found`: without any that wait, and with `count`, in each life."""
    if count:
        each = median([(now.kilobytes - none.kilobytes) / count for none, now in found])
        note = f"{median([now.kilobytes for _, now in found]) / 1024:.0f} MB in all"
        print(line(Row(f"{what}: memory for each", each, "KB", len(found), goal=KB_GOAL, note=note)))
    cpu = median([now.cpu for _, now in found])
    print(line(Row(f"{what}: idle CPU", cpu, "%", len(found), goal=CPU_GOAL if count else None)), flush=True)


async def _idle(settings: Settings, seconds: float) -> list[Idle]:
    """For each of the counts, in one life of one process."""
    found, there = [], 0
    async with running(settings, ALL) as (bot,), _ledger(settings) as ledger:
        for count in COUNTS:
            await _insert(ledger, range(there, count))
            there = count
            await asyncio.sleep(SETTLE)
            found.append(await _measured(bot, seconds))
    return found


async def _measured(bot: Bot, seconds: float) -> Idle:
    used = cpu_seconds(bot.pid)
    await asyncio.sleep(seconds)
    return Idle(resident_kb(bot.pid), (cpu_seconds(bot.pid) - used) / seconds * 100)


@asynccontextmanager
async def _ledger(settings: Settings) -> AsyncIterator[SqlLedger]:
    """The ledger, opened by the benchmark. It enqueues no workflows."""
    sql = open_engine(settings.database_url)
    try:
        yield SqlLedger(sql, lambda connection, run: None, KEY.encode())
    finally:
        await sql.dispose()


async def _insert(ledger: SqlLedger, numbers: range) -> None:
    """Stores prepared actions, with their audit entries, as the gate does."""
    for begin in range(numbers.start, numbers.stop, BATCH):
        now = await ledger.now()
        async with ledger.begin() as tx:
            for number in range(begin, min(begin + BATCH, numbers.stop)):
                person, thread = PEOPLE[number % len(PEOPLE)], f"{1_600_000_000 + number}.000100"
                session = Session(TEAM, CHANNEL, thread)
                made = action(f"w{number}", now, session=session, requester=person, expires_at=now + TTL)
                tx.audit(audit_entry("proposed", await tx.insert(made), person))
