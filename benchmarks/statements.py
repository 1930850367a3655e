"""The number of SQL statements, transactions, workflows and Slack calls per story."""

from __future__ import annotations

import asyncio
import logging
import re
import statistics
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from aiohttp import ClientSession
from sqlalchemy.engine.interfaces import CacheStats

from benchmarks.measure import heading, shown
from benchmarks.service import SPAWN, Bench, end_with_parent, free_port, reachable, started
from benchmarks.slack import SECONDS, Slack, mention, press, send
from bot.cli.serve import serve_as
from bot.settings import Settings
from bot.wiring import ALL

STORIES = 3  # of each kind; the first of them warms caches
QUIET = 1.0  # seconds in which no workflow begins, after which a story is over
IDLE = 8.0  # seconds over which the idle rate is counted
UNCOUNTED = re.compile(r"BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|SET ", re.IGNORECASE)
ENQUEUED = re.compile(r'INSERT INTO "?(\w+"?\."?)?workflow_status', re.IGNORECASE)
# Threads that look for work at fixed intervals and do none: what they send is no part of a story. Told apart by their
# threads, it need not be estimated from how long the story lasted, which a loaded machine changes.
POLLING = re.compile(
    r"dbos-background-jobs|queue-worker-_dbos_internal_queue|janitor|.*\((queue_thread|dynamic_scheduler_loop)\)"
)
IDLE_SECOND = "idle, per second"
KINDS = 4  # statements, transactions, workflows and those compiled anew
TITLE = (
    "statements: what one story costs, the median of three; what the idle bot sends meanwhile is taken off"
)


@dataclass(frozen=True)
class Counts:
    """Totals, or the difference that one story made."""

    statements: float
    transactions: float
    workflows: float
    compiled: float  # of the statements, those that SQLAlchemy had to compile anew
    slack: float

    def __sub__(self, other: Counts) -> Counts:
        return Counts(*(mine - its for mine, its in zip(self.all, other.all, strict=True)))

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + its for mine, its in zip(self.all, other.all, strict=True)))

    def __truediv__(self, seconds: float) -> Counts:
        return Counts(*(total / seconds for total in self.all))

    @property
    def all(self) -> tuple[float, ...]:
        return self.statements, self.transactions, self.workflows, self.compiled, self.slack


@dataclass
class Driver:
    """One person who uses a bot whose statements are counted."""

    slack: Slack
    session: ClientSession
    url: str
    totals: Any  # what `count_into` counts: an array that the bot's process adds to
    numbers: Iterator[int]

    def counts(self) -> Counts:
        """All but what the polling threads sent."""
        return Counts(*self.totals[:KINDS], self.slack.calls.total())

    def polled(self) -> Counts:
        return Counts(*self.totals[KINDS:], 0)

    async def say(self, text: str) -> tuple[int, str]:
        """Sends a mention that starts a thread; returns its number and the thread_ts."""
        number = next(self.numbers)
        thread, payload = mention(number, text)
        await send(self.session, self.url, "events_api", payload)
        return number, thread

    async def press(self, number: int, thread: str, action_id: str) -> None:
        """Clicks the button as soon as a message of the thread has it."""
        ts, value = await self._found(lambda: self.slack.button(thread, action_id))
        await self.quiet()  # the record of where the card stands is written after it is posted
        await send(self.session, self.url, "interactive", press(number, thread, ts, action_id, value))

    async def reads(self, thread: str, words: str) -> None:
        """Waits for a message of the thread that contains these words."""
        await self._found(
            lambda: [t for in_, t, _ in self.slack.messages.values() if in_ == thread and words in t]
        )

    async def quiet(self) -> None:
        """Waits until no workflow has started for QUIET seconds."""
        async with asyncio.timeout(SECONDS):
            before = None
            while before != (before := (self.totals[2], self.slack.calls.total())):  # noqa: ASYNC110 another process counts
                await asyncio.sleep(QUIET)

    async def _found(self, look: Callable[[], Any]) -> Any:
        async with asyncio.timeout(SECONDS):
            while not (found := look()):  # noqa: ASYNC110 another process answers
                await asyncio.sleep(0.02)
            return found


async def write(driver: Driver) -> None:
    number, thread = await driver.say(f"write 'a text' to note{time.monotonic_ns()}.md")
    await driver.press(number, thread, "confirm")
    await driver.reads(thread, "Wrote")


async def read(driver: Driver) -> None:
    _, thread = await driver.say("list all files")
    await driver.reads(thread, "List all files")


async def plan(driver: Driver) -> None:
    name = f"plan{time.monotonic_ns()}"
    steps = f"write 'one' to {name}a.md then write 'two' to {name}b.md then write 'three' to {name}c.md"
    number, thread = await driver.say(steps)
    await driver.press(number, thread, "plan_approve")
    await driver.reads(thread, "3 of 3")


STORY: dict[str, Callable[[Driver], Awaitable[None]]] = {"write": write, "read": read, "plan of 3": plan}


async def run(bench: Bench, quick: bool) -> None:
    print(heading(TITLE))
    for database in bench.databases:
        for name, stories in (await measured(bench, database)).items():
            words = ("statements", "transactions", "workflows", "compiled anew", "Slack calls")
            said = ", ".join(
                f"{shown(round(n, 1))} {word}" for n, word in zip(middle(stories).all, words, strict=True)
            )
            print(f"{database}, {name}: {said}", flush=True)


async def measured(bench: Bench, database: str) -> dict[str, list[Counts]]:
    """The counts of each story, by its kind, and those of an idle second."""
    found: dict[str, list[Counts]] = {}
    async with driving(bench, await bench.new_settings(database)) as driver:
        await write(driver)
        await driver.quiet()
        idle, polled = await _rates(driver)
        found[IDLE_SECOND] = [idle + polled]
        for name, story in STORY.items():
            found[name] = [await _story(driver, story, idle) for _ in range(STORIES)]
        found["undo"] = [await _undone(driver, idle) for _ in range(STORIES)]
    return found


async def _rates(driver: Driver) -> tuple[Counts, Counts]:
    """What an idle second costs: without the polling threads, and these alone."""
    before, polled = driver.counts(), driver.polled()
    await asyncio.sleep(IDLE)
    return (driver.counts() - before) / IDLE, (driver.polled() - polled) / IDLE


async def _story(driver: Driver, story: Callable[[Driver], Awaitable[None]], idle: Counts) -> Counts:
    before, begun = driver.counts(), time.monotonic()
    await story(driver)
    await driver.quiet()
    lasted = time.monotonic() - begun
    spent = driver.counts() - before
    return Counts(*(total - rate * lasted for total, rate in zip(spent.all, idle.all, strict=True)))


async def _undone(driver: Driver, idle: Counts) -> Counts:
    number, thread = await driver.say(f"write 'a text' to note{time.monotonic_ns()}.md")
    await driver.press(number, thread, "confirm")
    await driver.reads(thread, "Wrote")

    async def take_back(driver: Driver) -> None:
        await driver.press(number, thread, "undo")
        await driver.reads(thread, "Undone")

    return await _story(driver, take_back, idle)


def middle(found: list[Counts]) -> Counts:
    """The median of each of the counts."""
    return Counts(*(statistics.median(column) for column in zip(*(one.all for one in found), strict=True)))


@asynccontextmanager
async def driving(bench: Bench, settings: Settings) -> AsyncIterator[Driver]:
    """A bot, in its own process, that counts its database statements."""
    totals, port = SPAWN.Array("q", 2 * KINDS), free_port()
    with started(port, _serve, replace(settings, port=port), totals) as bot:
        await reachable(bot)
        async with ClientSession() as session:
            yield Driver(bench.slack, session, bot.url, totals, bench.numbers)


def _serve(settings: Settings, totals: Any) -> None:
    end_with_parent()
    logging.basicConfig(filename=settings.home / "bot.log", level=logging.WARNING)
    count_into(totals)
    asyncio.run(serve_as(settings, ALL))


def count_into(totals: Any) -> None:
    """Counts every statement, commit, enqueued workflow and compilation of this process, of all engines.

    The first KINDS totals are of the threads that work, the rest of those that poll.
    """
    lock = threading.Lock()

    def kind(number: int) -> int:
        return number + KINDS * bool(POLLING.fullmatch(threading.current_thread().name))

    def statement(_conn: Any, _cursor: Any, text: str, _values: Any, context: Any, _many: bool) -> None:
        if not UNCOUNTED.match(text):
            with lock:
                totals[kind(0)] += 1
                totals[kind(2)] += bool(ENQUEUED.match(text))
                totals[kind(3)] += bool(context.compiled) and context.cache_hit is not CacheStats.CACHE_HIT

    def commit(_conn: Any) -> None:
        with lock:
            totals[kind(1)] += 1

    sa.event.listen(sa.Engine, "before_cursor_execute", statement)
    sa.event.listen(sa.Engine, "commit", commit)
