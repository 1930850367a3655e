"""Looks at the queue of runs as soon as this process or another has put some there, not only when its time has come."""

from __future__ import annotations

import inspect
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

BURST_LOOKS = 4  # looks that may follow each other at once: a click's run, and those that it asks for
LOOK_SECONDS = 0.05  # seconds between looks in the long run: each costs CPU, and finds all that waits
# Seconds until DBOS's worker is begun again, should it end by itself; and until listening is
RESTART_SECONDS = 1.0
CHANNEL = "countersign_runs"
NOTIFY = sa.text(f"NOTIFY {CHANNEL}")  # in the transaction that puts a run into the queue
LISTEN_SECONDS = 0.5  # seconds after which a listener looks whether it is to end

log = logging.getLogger(__name__)


class WakeEvent:
    """Stands where DBOS's queue worker expects the threading.Event that ends it, and lets it be called earlier.

    `wait` returns after its time as it always did, or soon after `call`; only after `set` it says True. What was
    committed before `call` is seen by the look that follows. For any thread.
    """

    def __init__(self, spare: int = BURST_LOOKS, pace: float = LOOK_SECONDS) -> None:
        self._called, self._ended = threading.Event(), threading.Event()
        self._ahead, self._pace = (spare - 1) * pace, pace
        self._due = 0.0

    def wake(self) -> None:
        self._called.set()

    def set(self) -> None:
        self._ended.set()
        self._called.set()

    def is_set(self) -> bool:
        return self._ended.is_set()

    def wait(self, timeout: float) -> bool:
        """Up to `timeout` seconds; whether it is over."""
        if not self._ended.is_set() and self._called.wait(timeout):
            self._ended.wait(self._due - self._ahead - time.monotonic())
        self._called.clear()
        self._due = max(self._due, time.monotonic()) + self._pace
        return self._ended.is_set()


class QueueWaker:
    """DBOS's own queue worker on a thread of ours, with a WakeEvent.

    `worker` is private to DBOS, so it may be gone or another one day: `is_known_worker` says whether it is as expected.
    """

    def __init__(self, worker: Callable[..., Any], *args: Any) -> None:
        self._wake_event = WakeEvent()
        self._worker = worker
        self._args = args
        self._thread = threading.Thread(target=self._work, name="queue waker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """To be called when something that is due has been committed. Returns at once."""
        self._wake_event.wake()

    def stop(self) -> None:
        """Take in nothing more. Waits for the look that is going on, for 10 s at most."""
        self._wake_event.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _work(self) -> None:
        while not self._wake_event.is_set():
            try:
                self._worker(self._wake_event, *self._args)
            except Exception:
                log.warning(
                    "Looking at the queue has failed and begins again in %s s.",
                    RESTART_SECONDS,
                    exc_info=True,
                )
            self._wake_event.wait(RESTART_SECONDS)


class Listener:
    """Calls `heard` when another process has put runs into the queue of a PostgreSQL database (NOTIFY). While its
    connection is lost, the poll finds them."""

    def __init__(self, sql: sa.Engine, heard: Callable[[], None]) -> None:
        self._sql, self._on_notify = sql, heard
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits for its end, for 10 s at most."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _work(self) -> None:
        while not self._ended.is_set():
            try:
                self._listen()
            except Exception:
                log.warning(
                    "Listening for runs has failed and begins again in %s s.", RESTART_SECONDS, exc_info=True
                )
                self._ended.wait(RESTART_SECONDS)

    def _listen(self) -> None:
        with self._sql.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.detach()  # closed at the end: nobody else of the pool is to listen
            connection.exec_driver_sql(f"LISTEN {CHANNEL}")
            line: Any = connection.connection.dbapi_connection
            while not self._ended.is_set():
                for _ in line.notifies(timeout=LISTEN_SECONDS, stop_after=1):
                    self._on_notify()


def is_known_worker(worker: object) -> bool:
    """Whether this is a worker as QueueWaker calls it: with what ends it, with DBOS and with a queue."""
    return callable(worker) and list(inspect.signature(worker).parameters) == ["stop_event", "dbos", "queue"]
