"""The connection to the database, SQLite or PostgreSQL, with the settings under which it keeps its word."""

from __future__ import annotations

import asyncio
import fcntl
import select
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import IO, Any
from weakref import WeakSet

from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from gate.rules.ports import Unavailable
from storage import file_modes
from storage.sqlite_driver import WRITE, SingleTripConnection, connect

DRIVERS = {
    "sqlite": "sqlite+aiosqlite",
    "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
WRITE_SECONDS = 15.0  # to wait for a lock where the caller sets no limit
READ_SECONDS = 2.0  # in all: people wait three seconds for an answer to a click
AWAY = "The database does not answer, or is locked. Nothing was changed: try again in a moment."
# A process that was stopped in the middle of a transaction must not hold everybody's locks.
NO_IDLE_TRANSACTION = "SET idle_in_transaction_session_timeout = '10s'"
POSTGRES_LIMITS = (NO_IDLE_TRANSACTION, "SET lock_timeout = '15s'")
POSTGRES_REACH = {"connect_timeout": 5, "keepalives_idle": 15, "tcp_user_timeout": 10_000}


def sound_resets(version: tuple[int, ...]) -> bool:
    """Whether this SQLite may checkpoint a WAL while others write: older ones can lose what was committed when
    both happen at the same instant (https://www.sqlite.org/wal.html#walresetbug)."""
    return version >= (3, 51, 3) or (3, 44, 6) <= version < (3, 45) or (3, 50, 7) <= version < (3, 51)


# WAL, because with any other journal readers wait for writers and each commit costs several syncs. Where the SQLite
# has the bug no connection checkpoints by itself: the ledger does, while it holds the write lock.
CHECKPOINTS = "" if sound_resets(sqlite3.sqlite_version_info) else "PRAGMA wal_autocheckpoint = 0"
SQLITE_SETTINGS = tuple(
    filter(
        None,
        (
            "PRAGMA journal_mode = WAL",
            CHECKPOINTS,
            "PRAGMA synchronous = FULL",
            "PRAGMA foreign_keys = ON",
        ),
    )
)


class BadDatabaseUrl(ValueError):
    """DATABASE_URL names nothing we can use; the message says what to write."""


class DatabaseInUse(RuntimeError):
    """Another process serves from this SQLite file; the message says what to do."""


class ClosingConnection(sqlite3.Connection):
    """Ends its statements when it rolls back or closes. Python leaves that to the garbage collector, and a
    cursor that lives on in the traceback of a cancelled task would keep the file locked for everybody."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._cursors: WeakSet[sqlite3.Cursor] = WeakSet()

    def cursor(self, *args: Any) -> Any:
        cursor = super().cursor(*args)
        self._cursors.add(cursor)
        return cursor

    def rollback(self) -> None:
        self._end_statements()
        super().rollback()

    def close(self) -> None:
        self._end_statements()
        super().close()

    def _end_statements(self) -> None:
        for cursor in list(self._cursors):
            cursor.close()


SQLITE_REACH = {"factory": ClosingConnection, "async_creator_fn": connect}


def open_engine(url: str, *, connections: int = 20) -> AsyncEngine:
    """The engine for a database URL. Opens nothing yet; `await engine.dispose()` ends it.

    Raises BadDatabaseUrl. Transactions on SQLite take the write lock as they begin; `reading` gives the
    engine for reads, which does not.
    """
    address = parse(url)
    if address.get_backend_name() == "sqlite":
        engine = create_async_engine(address, connect_args=SQLITE_REACH, pool_size=connections)
        event.listen(engine.sync_engine, "connect", _connect_sqlite)
        event.listen(engine.sync_engine, "begin", _begin_sqlite)
    else:
        engine = create_async_engine(
            address, connect_args=POSTGRES_REACH, pool_size=connections, max_overflow=0
        )
        event.listen(engine.sync_engine, "connect", _settle_postgres)
        event.listen(engine.sync_engine, "checkout", _replace_closed)
    return engine


def reading(engine: AsyncEngine) -> AsyncEngine:
    """The same engine for statements that only read: no write lock, and no round trips for a transaction."""
    if engine.dialect.name == "sqlite":
        return engine.execution_options(reads=True, wait=READ_SECONDS)
    return engine.execution_options(isolation_level="AUTOCOMMIT")


def parse(url: str) -> URL:
    """The URL with the driver that we use. Raises BadDatabaseUrl."""
    wanted = "Write sqlite:///path/to/file.db or postgresql://user:password@host/database into DATABASE_URL"
    try:
        address = make_url(url)
        address = address.set(drivername=DRIVERS[address.drivername])
    except (ArgumentError, KeyError):
        raise BadDatabaseUrl(f"{wanted}: the one given is of another kind.") from None
    if address.get_backend_name() == "sqlite" and address.database in (None, "", ":memory:"):
        raise BadDatabaseUrl(f"{wanted}: a database in memory would forget what was approved.")
    return address


def serve_alone(url: str) -> IO[bytes] | None:
    """Hold a SQLite file for this process, until the returned file is closed; None for PostgreSQL.

    Two processes on one file would each count on being the only one. Raises DatabaseInUse.
    """
    address = parse(url)
    if address.get_backend_name() != "sqlite":
        return None
    path = Path(f"{address.database}.lock")
    file = file_modes.file(path).open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise DatabaseInUse(
            f"Another Countersign is serving from {address.database}: stop it, or set DATABASE_URL to "
            "PostgreSQL, where several may serve."
        ) from None
    return file


@contextmanager
def reached(limit: asyncio.Timeout | None = None) -> Iterator[None]:
    """Turn every sign that the database cannot be had into Unavailable: gone, locked, full, all lines taken,
    and the end of `limit`. What else is raised inside passes."""
    try:
        yield
    except Exception as error:
        late = isinstance(error, TimeoutError) and limit is not None and limit.expired()
        away = isinstance(error, OperationalError | InterfaceError | PoolTimeout)
        if late or away or (isinstance(error, DBAPIError) and error.connection_invalidated):
            raise Unavailable(AWAY) from error
        raise


@asynccontextmanager
async def connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection, which is given back by the task itself unless something fails. `engine.connect()` has a task of its
    own do that, which takes three more turns of the event loop; and where the loop ends before it has begun, it is
    cancelled with all others, and the connection is left to the garbage collector."""
    async with AsyncExitStack() as failed:
        connection = await failed.enter_async_context(engine.connect())
        yield connection
        failed.pop_all()
        await connection.close()


@asynccontextmanager
async def transaction(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """As `engine.begin()`, on such a connection. After a commit it is given back without waiting for anything."""
    async with connected(engine) as connection, connection.begin():
        yield connection


async def ask(engine: AsyncEngine, question: Any) -> list[Any]:
    """What one question finds, outside of transactions. Raises Unavailable."""
    with reached():
        async with connected(reading(engine)) as connection:
            return list((await connection.execute(question)).all())


async def carry(engine: AsyncEngine, statement: Any) -> int:
    """Carry out one statement in a transaction of its own; how many rows it changed. Raises Unavailable."""
    with reached():
        async with transaction(engine) as connection:
            return int((await connection.execute(statement)).rowcount)


def _connect_sqlite(connection: Any, _: Any) -> None:
    # Python's sqlite3 would begin transactions by its own rules, too late to keep a read and a write together.
    connection.isolation_level = None
    connection.driver_connection.settings = SQLITE_SETTINGS


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    line = connection.connection.driver_connection
    assert isinstance(line, SingleTripConnection)
    line.wait, line.first = round(options.get("wait", WRITE_SECONDS) * 1000), options.get("first", False)
    if options.get("reads"):
        line.begins = True
    else:
        connection.exec_driver_sql(WRITE)


def _settle_postgres(connection: Any, _: Any) -> None:
    cursor = connection.cursor()
    for limit in POSTGRES_LIMITS:
        cursor.execute(limit)
    cursor.close()
    connection.commit()


def _replace_closed(connection: Any, *_: Any) -> None:
    """Let the pool replace a connection that the server has closed: there is something to read, its end. To ask
    by a statement, as pool_pre_ping does, was every other transaction that PostgreSQL was sent."""
    line = connection.driver_connection
    if line.closed:
        raise DisconnectionError
    unasked = select.poll()
    unasked.register(line.fileno(), select.POLLIN)
    if unasked.poll(0):
        raise DisconnectionError
