"""The durable engine: DBOS carries our short runs and timers, in the ledger's own database. Alone imports it."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import dbos
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions

from bot.janitor import RHYTHM, Janitor, Rhythm, Running
from bot.lines import connect, shared
from bot.lookout import Lookout, fits
from bot.turnstile import Turnstile
from gate.runs import Run
from gate.world import Unavailable

APPLICATION = "countersign"
VERSION = "1"  # of the run names and their arguments: a run waits for a process of its own version
# One queue with a partition for each kind of work, because every look at a queue costs 3 ms of CPU; no kind
# can take the places of another. The numbers are in docs/decisions/engine-experiments.md.
QUEUE = "runs"
# Seconds between two looks. What this process asks for itself is looked for at once (bot/lookout.py); on SQLite
# nobody else asks for anything.
POLL, POLL_ALONE = 0.15, 0.5
WORKERS = 32  # runs of one kind at once in this process
LIVES = 10  # how often a run may be found again after a crash before it is given up
# An hour, in seconds: the longest that a database or Slack may stay away without a run being lost.
RETRIES = (0.2, 0.5, 1.0, 2.0, 5.0, *[10.0] * 360)
TRANSIENT = (
    Unavailable,
    sa.exc.OperationalError,
    sa.exc.InterfaceError,
    sa.exc.TimeoutError,
    ConnectionError,
    TimeoutError,
)
ALIVE = ["DELAYED", "ENQUEUED", "PENDING"]
OVER = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]

log = logging.getLogger(__name__)


class RunFailed(Exception):
    """A run ended with an error, which has been logged; it is not tried again."""


@dataclass(frozen=True, slots=True)
class Job:
    """What runs of one name do. `kind` names the partition that they wait in: events, plans, calls, cards, timers,
    hooks.

    `work` gets the arguments of the run, on the loop that started the engine. It is called again after a
    crash and after a transient error, and has to bear that; any other exception ends the run.
    """

    kind: str
    work: Callable[..., Awaitable[None]]


class Engine:
    """Carries out runs at least once, each on one process at a time, for as long as one process lives.

    `url` is the SQLAlchemy URL of the ledger's database. `executor` names this process, uniquely. On SQLite
    the name is always `embedded`, so that the next process resumes what this one leaves. DBOS allows one
    engine per process.
    """

    def __init__(
        self,
        url: str,
        executor: str,
        *,
        version: str = VERSION,
        retries: Sequence[float] = RETRIES,
        rhythm: Rhythm = RHYTHM,
    ) -> None:
        self._sql = connect(url)
        self._executor = executor if shared(self._sql) else "embedded"
        self._version = version
        self._retries = retries
        self._jobs: Mapping[str, Job] = {}
        self._works = False
        self._lookout: Lookout | None = None
        self._turnstile = Turnstile()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._client = DBOSClient(
            system_database_engine=self._sql,
            serializer=DBOSPortableJSONSerializer(),
            application_name=APPLICATION,
            lazy=True,
        )
        self._janitor = Janitor(self._sql, self._executor, self, rhythm)

    def enqueue(self, conn: sa.Connection, run: Run) -> None:
        """Write the run in the transaction that is open on `conn`; to be called through `run_sync`.

        A run whose key is known already, finished runs of the last days included, is not written again.
        Raises LookupError when no job has the run's name.
        """
        job = self._jobs.get(run.name)
        if job is None:
            raise LookupError(f"No job is registered for runs named {run.name!r}: name it in Engine.start.")
        options: EnqueueOptions = {
            "workflow_name": run.name,
            "workflow_id": run.key,
            "queue_name": QUEUE,
            "queue_partition_key": job.kind,
            "app_version": self._version,
        }
        if run.delay > 0:
            options["delay_seconds"] = run.delay
        self._client.enqueue_in_transaction(conn, options, *run.args)

    def wake(self) -> None:
        """Look at once for what is due, instead of at the next look; to be called when a transaction with runs
        has been committed. Without it, they are found all the same."""
        if self._lookout:
            self._lookout.call()

    async def start(self, jobs: Mapping[str, Job], *, work: bool = True) -> None:
        """Create DBOS's tables where they are missing, resume what a crash left behind, begin to work.

        Without `work` this process only asks for runs; another one carries them out.
        """
        logger = logging.getLogger("dbos")
        logger.addHandler(logging.NullHandler())  # else DBOS writes to the console in a format of its own
        logger.addFilter(_unheard)
        self._jobs = dict(jobs)
        await asyncio.to_thread(self._prepare)
        self._works = work
        if not work:
            return
        launched = DBOS(config=self._config())
        for name, job in jobs.items():
            DBOS.workflow(name=name, max_recovery_attempts=LIVES)(self._workflow(job))
        self._lookout = self._own_lookout(launched)
        # On the loop's own thread: DBOS runs coroutines on the loop that it is launched from.
        DBOS.launch()
        if self._lookout:
            self._lookout.start()

    async def drain(self, seconds: float) -> None:
        """Take in nothing more, let what runs finish for up to `seconds`, stop.

        What is not done by then is cancelled, and stays for the next process or another replica.
        """
        await asyncio.to_thread(self._janitor.stop)
        if self._lookout:
            await asyncio.to_thread(self._lookout.stop)
        if self._works:
            # On the loop, it would wait for the very runs that it keeps from going on.
            await asyncio.to_thread(
                DBOS.destroy,
                destroy_registry=True,
                workflow_completion_timeout_sec=math.ceil(seconds) if self._tasks else 0,
            )
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await asyncio.to_thread(self._leave)

    async def alive(self, keys: Collection[str]) -> frozenset[str]:
        """Those of the keys whose run waits, is delayed or runs."""
        found = await self._client.list_workflows_async(
            workflow_ids=list(keys), status=ALIVE, load_input=False, load_output=False
        )
        return frozenset(run.workflow_id for run in found)

    async def pending(self, key: str) -> bool:
        """Whether the run with this key waits, is delayed or runs."""
        return key in await self.alive([key])

    async def hasten(self, key: str) -> None:
        """Make a delayed run due now; it starts within about a second. Nothing happens to other runs."""
        await self._client.set_workflow_delay_async(key, delay_seconds=0)

    async def purge(self, before: datetime) -> int:
        """Forget the runs that ended before this time; how many there were."""
        return await asyncio.to_thread(self.forget, before)

    def running(self) -> list[Running]:
        """For the janitor: every run that a process has begun and not ended."""
        found = self._client.list_workflows(status="PENDING", load_input=False, load_output=False)
        return [Running(run.workflow_id, run.executor_id or "") for run in found]

    def resume(self, keys: Collection[str]) -> None:
        """For the janitor: let runs that were begun be begun again."""
        self._client.resume_workflows(list(keys), queue_name=QUEUE)

    def forget(self, before: datetime, batch: int = 500) -> int:
        """For the janitor: see `purge`. In batches, so that no transaction is long."""
        gone = 0
        while True:
            found = self._client.list_workflows(
                status=OVER,
                completed_before=before.isoformat(),
                limit=batch,
                load_input=False,
                load_output=False,
            )
            if not found:
                return gone
            self._client.delete_workflows([run.workflow_id for run in found])
            gone += len(found)

    def _config(self) -> DBOSConfig:
        return {
            "name": APPLICATION,
            "system_database_engine": self._sql,
            "executor_id": self._executor,
            "application_version": self._version,
            "serializer": DBOSPortableJSONSerializer(),
            "max_executor_threads": 16,
            "run_migrations": False,
            "use_listen_notify": False,  # only for recv and events, which we do without;
            "notification_listener_polling_interval_sec": 0.1,  # the thread that waits for them delays the end
            "enable_otlp": False,
            "log_level": "WARNING",
        }

    def _prepare(self) -> None:
        DBOS.migrate(self._sql.url.render_as_string(hide_password=False))
        # Before the launch, which looks for queues once a second.
        self._queue = self._client.register_queue(
            QUEUE,
            polling_interval_sec=POLL if shared(self._sql) else POLL_ALONE,
            partition_worker_concurrency=WORKERS,
        )
        self._janitor.start()  # a replica that has not beaten counts as dead

    def _own_lookout(self, launched: DBOS) -> Lookout | None:
        """Look at our queue ourselves, where DBOS's worker is as we know it; else DBOS does, every POLL seconds."""
        worker: Any = getattr(getattr(dbos, "_queue", None), "queue_worker_thread", None)
        if not fits(worker):
            log.warning("This DBOS has another queue worker: runs begin later, each when it is looked for.")
            return None
        DBOS.listen_queues([])
        self._queue.database_backed_queue = (
            False  # its settings are ours: no need to read them before each look
        )
        return Lookout(worker, launched, self._queue)

    def _leave(self) -> None:
        self._janitor.leave()
        self._client.destroy()
        self._sql.dispose()

    def _workflow(self, job: Job) -> Callable[..., Awaitable[None]]:
        async def run(*args: str) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                async with self._turnstile.passed(job.kind):
                    await self._patiently(job, args)
            except asyncio.CancelledError:
                if task.cancelling():
                    raise  # by `drain`: the run stays unfinished
                raise _failed("was cancelled from within") from None
            except Exception as error:
                raise _failed(str(error)) from None
            finally:
                self._tasks.discard(task)

        return run

    async def _patiently(self, job: Job, args: Sequence[str]) -> None:
        for wait in self._retries:
            try:
                return await job.work(*args)
            except TRANSIENT as error:
                log.warning("The run %s will be tried again in %s s: %s", DBOS.workflow_id, wait, error)
                await asyncio.sleep(wait)
        await job.work(*args)


def _failed(why: str) -> RunFailed:
    log.exception("The run %s has failed and is not tried again.", DBOS.workflow_id)
    return RunFailed(why)


def _unheard(record: logging.LogRecord) -> bool:
    """Keeps DBOS from logging a second time what `_failed` has logged."""
    return not (record.exc_info and isinstance(record.exc_info[1], RunFailed))
