"""The durable engine: DBOS carries our short runs and timers, in the ledger's own database. Alone imports it."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NoReturn

import dbos
import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSConfig, DBOSPortableJSONSerializer, EnqueueOptions
from dbos._serialization import DefaultSerializer

from bot.concurrency import ConcurrencySlots
from bot.dbos_db import connect, shared
from bot.heartbeats import RHYTHM, Janitor, Rhythm, Running
from bot.queue_waker import NOTIFY, Listener, QueueWaker, is_known_worker
from gate.rules.jobs import OWNER, Run, for_owner, resume
from gate.rules.ports import Unavailable

APPLICATION = "countersign"
VERSION = "1"  # of the run names and their arguments: a run waits for a process of its own version
# One queue with a partition for each kind of work and each person, because every look at a queue costs 3 ms of CPU;
# no kind can take the places of another, nor one person those of the others. The numbers are in
# docs/decisions/engine-experiments.md.
QUEUE = "runs"
# Seconds between two looks. What is asked for is looked for at once, also where another process asks for it
# (bot/queue_waker.py): this finds what is left.
POLL = 1.0
# Workflows of one kind for one person at once in this process; the rest of theirs wait in the database. More than the
# requests that one person may have under way (gate.rules.ports.Limits): while all of them wait for a model, "stop" is
# heard.
MAX_WORKFLOWS_PER_OWNER = 24
# With more workflows of one person than this, what follows them waits in the queue: places stay free for what they say.
MAX_INLINE_WORKFLOWS = 18
KNOWN_SECONDS = 0.05  # seconds for which a run need not read anew what the one before it knew
MAX_RECOVERIES = 10  # how often a run may be found again after a crash before it is given up
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
ACTIVE_STATUSES = ["DELAYED", "ENQUEUED", "PENDING"]
FAILED_STATUSES = ["ERROR", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]
FINAL_STATUSES = ["SUCCESS", "CANCELLED", *FAILED_STATUSES]

log = logging.getLogger(__name__)


class RunFailed(Exception):
    """A run ended with an error, which has been logged; it is not tried again."""


@dataclass(frozen=True, slots=True)
class Job:
    """What runs of one name do. `kind` names the partitions that they wait in: events, plans, calls, cards, timers,
    hooks; there is one for each person.

    `work` gets the arguments of the run, on the loop that started the engine. It is called again after a
    crash and after a transient error, and has to bear that; any other exception ends the run.
    """

    kind: str
    work: Callable[..., Awaitable[None]]
    follows: bool = False  # may go on in the workflow that asked for it: see Engine.enqueue


# The runs that the job of this task has asked for and that go on in its workflow; None outside of workflows.
INLINE_RUNS: ContextVar[dict[str, Run] | None] = ContextVar("following", default=None)


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
        self._queue_waker: QueueWaker | None = None
        self._listener: Listener | None = None
        self._slots = ConcurrencySlots()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._under_way: Counter[str] = Counter()  # workflows of each person in this process
        self._reported: frozenset[str] = frozenset()  # runs that `given_up` has named
        self._client = DBOSClient(
            system_database_engine=self._sql,
            serializer=json_alone(),
            application_name=APPLICATION,
            lazy=True,
        )
        self._janitor = Janitor(self._sql, self._executor, self, rhythm)

    def enqueue(self, conn: sa.Connection, run: Run) -> bool:
        """Write the run in the transaction that is open on `conn`; to be called through `run_sync`. False where
        it is not in the queue.

        A run whose key is known already, finished runs of the last days included, is not written again. One whose
        job follows is not written where a workflow of this process asks for it: that workflow carries it out next,
        so that one cause is one workflow. If the process dies in between, the ledger says what to resume (`resume`
        in bot/job_routes.py), since nothing else does.
        Raises LookupError when no job has the run's name.
        """
        job = self._jobs.get(run.name)
        if job is None:
            raise LookupError(f"No job is registered for runs named {run.name!r}: name it in Engine.start.")
        following = INLINE_RUNS.get()
        crowded = self._under_way[run.owner] > MAX_INLINE_WORKFLOWS
        if job.follows and following is not None and run.delay <= 0 and not crowded:
            following.setdefault(run.key, run)
            return False
        options: EnqueueOptions = {
            "workflow_name": run.name,
            "workflow_id": run.key,
            "queue_name": QUEUE,
            "queue_partition_key": f"{job.kind}:{run.owner}" if run.owner else job.kind,
            "app_version": self._version,
        }
        if run.owner:
            options["authenticated_user"] = run.owner
        if run.delay > 0:
            options["delay_seconds"] = run.delay
        self._client.enqueue_in_transaction(conn, options, *run.args)
        if not self._works and run.delay <= 0 and shared(self._sql):
            conn.execute(NOTIFY)  # another process works: it is told with the commit
        return True

    def wake(self) -> None:
        """Look at once for what is due, instead of at the next look; to be called when a transaction with runs
        has been committed. Without it, they are found all the same."""
        if self._queue_waker:
            self._queue_waker.wake()

    async def start(self, jobs: Mapping[str, Job], *, work: bool = True) -> None:
        """Create DBOS's tables where they are missing, resume what a crash left behind, begin to work.

        Without `work` this process only asks for runs; another one carries them out.
        """
        logger = logging.getLogger("dbos")
        logger.addHandler(logging.NullHandler())  # else DBOS writes to the console in a format of its own
        logger.addFilter(_hide_logged_errors)
        self._jobs = dict(jobs)
        await asyncio.to_thread(self._prepare)
        self._works = work
        if not work:
            return
        launched = DBOS(config=self._config())
        for name, job in jobs.items():
            DBOS.workflow(name=name, max_recovery_attempts=MAX_RECOVERIES)(self._workflow(job))
        self._queue_waker = self._start_queue_waker(launched)
        left = [] if shared(self._sql) else await asyncio.to_thread(self.running)
        await asyncio.to_thread(self._resume_followers, left)  # before what tells of them is resumed and ends
        # On the loop's own thread: DBOS runs coroutines on the loop that it is launched from.
        DBOS.launch()
        if self._queue_waker:
            self._queue_waker.start()
            if shared(self._sql):
                self._listener = Listener(self._sql, self._queue_waker.wake)
                self._listener.start()

    async def drain(self, seconds: float) -> None:
        """Take in nothing more, let what runs finish for up to `seconds`, stop.

        What is not done by then is cancelled, and stays for the next process or another replica.
        """
        await asyncio.to_thread(self._janitor.stop)
        for looking in (self._listener, self._queue_waker):
            if looking:
                await asyncio.to_thread(looking.stop)
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
            workflow_ids=list(keys), status=ACTIVE_STATUSES, load_input=False, load_output=False
        )
        return frozenset(run.workflow_id for run in found)

    async def pending(self, key: str) -> bool:
        """Whether the run with this key waits, is delayed or runs."""
        return key in await self.alive([key])

    async def given_up(self, name: str, limit: int = 100) -> tuple[str, ...]:
        """The keys of the runs of this name that have failed, or were found again too often after crashes; the newest
        `limit`. None where this was answered before."""
        found = await self._client.list_workflows_async(
            name=name,
            status=FAILED_STATUSES,
            limit=limit,
            sort_desc=True,
            load_input=False,
            load_output=False,
        )
        keys = tuple(run.workflow_id for run in found)
        known, self._reported = self._reported, frozenset(keys)
        return () if self._reported <= known else keys

    async def purge(self, before: datetime) -> int:
        """Forget the runs that ended before this time; how many there were."""
        return await asyncio.to_thread(self.forget, before)

    def running(self) -> list[Running]:
        """For the janitor: every run that a process has begun and not ended."""
        found = self._client.list_workflows(status="PENDING", load_output=False)
        return [
            Running(
                run.workflow_id,
                run.executor_id or "",
                run.name,
                _first_argument(run),
                run.authenticated_user or "",
            )
            for run in found
        ]

    def resume(self, lost: Collection[Running]) -> None:
        """For the janitor: let runs that were begun be begun again, and what followed them in their process go on."""
        self._resume_followers(
            lost
        )  # first: once they are resumed, nothing tells any more that they were begun
        for run in lost:  # the client's own `resume_workflows` would forget how often each was found again
            self._client._sys_db.reenqueue_for_recovery(run.key, [run.executor], QUEUE)

    def _resume_followers(self, lost: Collection[Running]) -> None:
        """Ask the ledger what followed these runs: nothing else knows it (see `enqueue`)."""
        cause = f"{self._executor}:{time.time_ns()}"
        known = [run for run in lost if run.name in self._jobs and run.name != "resume"]
        asked = {(run.name, run.about, run.owner) for run in known}
        with self._sql.begin() as conn:
            for name, about, owner in sorted(asked) if "resume" in self._jobs else ():
                self.enqueue(conn, replace(resume(name, about, cause), owner=owner))

    def forget(self, before: datetime, batch: int = 500) -> int:
        """For the janitor: see `purge`. In batches, so that no transaction is long."""
        gone = 0
        while True:
            found = self._client.list_workflows(
                status=FINAL_STATUSES,
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
            "serializer": json_alone(),
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
            polling_interval_sec=POLL,
            partition_worker_concurrency=MAX_WORKFLOWS_PER_OWNER,
        )
        self._janitor.start()  # a replica that has not beaten counts as dead

    def _start_queue_waker(self, launched: DBOS) -> QueueWaker | None:
        """Look at our queue ourselves, where DBOS's worker is as we know it; else DBOS does, every POLL seconds."""
        worker: Any = getattr(getattr(dbos, "_queue", None), "queue_worker_thread", None)
        if not is_known_worker(worker):
            log.warning("This DBOS has another queue worker: runs begin later, each when it is looked for.")
            return None
        DBOS.listen_queues([])
        # Its settings are ours: no need to read them before each look
        self._queue.database_backed_queue = False
        return QueueWaker(worker, launched, self._queue)

    def _leave(self) -> None:
        self._janitor.leave()
        self._client.destroy()
        self._sql.dispose()

    def _workflow(self, job: Job) -> Callable[..., Awaitable[None]]:
        async def run(*args: str) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            owner = DBOS.authenticated_user or ""
            self._under_way[owner] += 1
            try:
                with for_owner(owner):
                    await self._run_all(await self._run_workflow(job, args, ()))
            except asyncio.CancelledError:
                if task.cancelling():
                    raise  # by `drain`: the run stays unfinished
                raise _failed("was cancelled from within") from None
            except Exception as error:
                raise _failed(str(error)) from None
            finally:
                self._tasks.discard(task)
                if self._under_way[owner] >= MAX_WORKFLOWS_PER_OWNER:
                    self.wake()  # for what waits for this place
                self._under_way -= Counter([owner])  # which forgets who has none

        return run

    async def _run_workflow(self, job: Job, args: Sequence[str], known: Sequence[object]) -> list[Run]:
        """Carry out one run; the runs that follow it. What goes wrong is raised once those have been carried out.
        `known`: records for it, unless they are old by the time that it begins."""
        following: dict[str, Run] = {}
        INLINE_RUNS.set(following)
        asked = time.monotonic()
        try:
            async with self._slots.slot(job.kind, OWNER.get()):
                fresh = time.monotonic() - asked < KNOWN_SECONDS
                await self._run_with_retries(job, args, known if fresh else ())
        except (Exception, asyncio.CancelledError):
            if not _cancelled():  # what was committed before still follows
                await self._run_all(list(following.values()))
            raise
        return list(following.values())

    async def _run_all(self, runs: list[Run]) -> None:
        """Carry out runs and all that follows them, several side by side. One that fails keeps none from going on."""
        while len(runs) == 1:
            runs = await self._run_inline(runs[0])
        if runs:
            await asyncio.gather(*(self._run_all([run]) for run in runs))

    async def _run_inline(self, run: Run) -> list[Run]:
        try:
            with for_owner(run.owner):
                return await self._run_workflow(self._jobs[run.name], run.args, run.known)
        except (Exception, asyncio.CancelledError):
            if _cancelled():
                raise
            log.exception("The run %s has failed and is not tried again.", run.key)
            return []

    async def _run_with_retries(self, job: Job, args: Sequence[str], known: Sequence[object]) -> None:
        for wait in self._retries:
            try:
                return await job.work(*args, *known)
            except TRANSIENT as error:
                known = ()
                log.warning("The run %s will be tried again in %s s: %s", DBOS.workflow_id, wait, error)
                await asyncio.sleep(wait)
        await job.work(*args)


class Pickled(TypeError):
    """A row of the engine that is pickled, as none of ours is."""


def _refuse_pickle(*_: Any) -> NoReturn:
    raise Pickled("A run in the database is pickled, which no run of this program is: it is not read.")


def json_alone() -> DBOSPortableJSONSerializer:
    """The serializer for runs. DBOS unpickles a row that says so of itself, and has no setting for that: whoever can
    write to the database could run any code. From now on it pickles and unpickles nothing in this process."""
    DefaultSerializer.serialize = DefaultSerializer.deserialize = _refuse_pickle  # type: ignore[method-assign,assignment]
    return DBOSPortableJSONSerializer()


def _cancelled() -> bool:
    """Whether this task is being ended from outside, by `drain`."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _first_argument(run: dbos.WorkflowStatus) -> str:
    """The first argument of a run: what it is about."""
    # What DBOS cannot read it gives as the text that is stored.
    return str(run.input["args"][0]) if isinstance(run.input, dict) and run.input["args"] else ""


def _failed(why: str) -> RunFailed:
    log.exception("The run %s has failed and is not tried again.", DBOS.workflow_id)
    return RunFailed(why)


def _hide_logged_errors(record: logging.LogRecord) -> bool:
    """Keeps DBOS from logging a second time what `_failed` has logged."""
    return not (record.exc_info and isinstance(record.exc_info[1], RunFailed))
