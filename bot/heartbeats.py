"""Heartbeats of the replicas; the runs of a dead one are handed on. One thread, so a busy loop looks alive."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import sqlalchemy as sa

from storage.tables import replicas

ADOPT_LOCK = 7_301_001  # advisory locks of PostgreSQL are numbers
CREATE_LOCK = 7_301_002

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Running:
    """A run that a process has begun and not ended."""

    key: str
    executor: str
    name: str = ""
    about: str = ""  # its first argument
    owner: str = ""  # the person or token that it is done for


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a replica shows that it lives, when it counts as dead, how long ended runs are remembered."""

    beat: float = 5.0  # seconds
    dead: float = 30.0  # seconds without a beat
    steady: int = 3  # beats in a row before judging others: after an outage each must have had its chance
    keep: timedelta = timedelta(days=2)
    purge_every: int = 120  # beats


RHYTHM = Rhythm()


class Runs(Protocol):
    """What the janitor needs of the engine."""

    def running(self) -> list[Running]: ...
    def resume(self, lost: Collection[Running]) -> None: ...
    def forget(self, before: datetime) -> int: ...


class Janitor:
    """Beats for this replica, adopts the runs of the dead, forgets old runs.

    A SQLite file has one process, which resumes its own runs at start: there it only forgets.
    """

    def __init__(self, sql: sa.Engine, executor: str, runs: Runs, rhythm: Rhythm) -> None:
        self._sql = sql
        self._executor = executor
        self._runs = runs
        self._rhythm = rhythm
        self._alone = sql.dialect.name != "postgresql"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="janitor", daemon=True)

    def start(self) -> None:
        """Make the table where it is missing, beat once, begin. Raises what the database raises."""
        if not self._alone:
            with self._sql.begin() as conn:
                conn.execute(sa.select(sa.func.pg_advisory_xact_lock(CREATE_LOCK)))
                replicas.create(conn, checkfirst=True)
            self.beat()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def leave(self) -> None:
        """Say that this replica is gone, so that nobody waits before adopting what it left."""
        if not self._alone:
            with self._sql.begin() as conn:
                conn.execute(sa.delete(replicas).where(replicas.c.id == self._executor))

    def beat(self) -> None:
        """By the database's clock: those of the machines differ."""
        with self._sql.begin() as conn:
            changed = conn.execute(
                sa.update(replicas)
                .where(replicas.c.id == self._executor)
                .values(seen_at=sa.func.clock_timestamp())
            )
            if not changed.rowcount:
                conn.execute(sa.insert(replicas).values(id=self._executor, seen_at=sa.func.clock_timestamp()))

    def adopt(self) -> int:
        """Resume the runs of every executor without a fresh heartbeat; how many there were."""
        if self._alone:
            return 0
        with self._sql.begin() as conn:
            # One at a time: two would begin the same run twice.
            if not conn.scalar(sa.select(sa.func.pg_try_advisory_xact_lock(ADOPT_LOCK))):
                return 0
            running = self._runs.running()  # listed before the heartbeats: a replica beats before it runs
            recent = sa.func.clock_timestamp() - timedelta(seconds=self._rhythm.dead)
            living = set(conn.scalars(sa.select(replicas.c.id).where(replicas.c.seen_at > recent)))
            lost = [run for run in running if run.executor not in living]
            if lost:
                self._runs.resume(lost)
                log.warning("Resumed %d runs of %s.", len(lost), {run.executor for run in lost})
            conn.execute(sa.delete(replicas).where(replicas.c.seen_at <= recent))
            return len(lost)

    def _work(self) -> None:
        beats = steady = 0
        while True:
            try:
                if not self._alone:
                    self.beat()
                    steady += 1
                    if steady >= self._rhythm.steady:
                        self.adopt()
                if beats % self._rhythm.purge_every == 0:
                    self._runs.forget(datetime.now(UTC) - self._rhythm.keep)
                beats += 1
            except Exception:
                steady = 0
                log.warning("The janitor will try again in %s s.", self._rhythm.beat, exc_info=True)
            if self._stop.wait(self._rhythm.beat):
                return
