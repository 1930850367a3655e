"""SQLite with as few trips to its thread as can be: SQLAlchemy would make four of them for each statement."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import Any, Self

import aiosqlite

from storage.write_queue import WriteQueue, write_queue_of

WRITE = "BEGIN IMMEDIATE"
# Statements that are done in well under a millisecond. Others (a DELETE of very many old rows, DDL, PRAGMA) are not
# carried out on the loop's own thread.
FAST_STATEMENTS = ("SELECT", "INSERT", "UPDATE", "WITH")
SLOW = "/* slow */"  # at the end of a statement that begins like those and goes over much


class SingleTripCursor:
    """What SQLAlchemy's adapter asks of a cursor. A statement is carried out, read to its end and closed at once, so
    nothing of it is left open where the task that waits for it is cancelled."""

    arraysize = 1

    def __init__(self, connection: SingleTripConnection) -> None:
        self._connection = connection
        self._rows: list[Any] = []
        self.description: Any = None
        self.rowcount = -1
        self.lastrowid: int | None = None

    async def __aenter__(self) -> Self:
        return self

    async def execute(self, statement: str, parameters: Any = ()) -> None:
        if statement == WRITE:
            await self._connection.acquire_write()
        try:
            await self._done(sqlite3.Cursor.execute, statement, parameters)
        except BaseException:
            if statement == WRITE:
                self._connection.release_write()
            raise

    async def executemany(self, statement: str, parameters: Any) -> None:
        await self._done(sqlite3.Cursor.executemany, statement, parameters)

    async def _done(self, how: Callable[..., Any], statement: str, parameters: Any) -> None:
        fast = statement.lstrip().startswith(FAST_STATEMENTS) and not statement.rstrip().endswith(SLOW)
        if self._connection.writes and fast:
            # Nothing can make it wait now, and each trip would let others wait for the write lock longer.
            self._carry_out(how, statement, parameters)
        else:
            trip: Any = self._connection._execute  # which is not typed
            await trip(self._carry_out, how, statement, parameters)

    def _carry_out(self, how: Callable[..., Any], statement: str, parameters: Any) -> None:
        cursor = self._connection._conn.cursor()
        try:
            self._connection.prepare(cursor)
            how(cursor, statement, parameters)
            self._connection.writes = self._connection.writes or statement == WRITE
            self.description = cursor.description
            self._rows = cursor.fetchall() if cursor.description else []
            self.rowcount, self.lastrowid = cursor.rowcount, cursor.lastrowid
        finally:
            cursor.close()

    async def fetchall(self) -> list[Any]:
        rows, self._rows = self._rows, []
        return rows

    async def close(self) -> None:
        """It is closed already."""


class SingleTripConnection(aiosqlite.Connection):
    """aiosqlite's, with other cursors, and a rollback that nobody waits for where there is nothing to take back."""

    begins = False  # a transaction that reads is to begin, with its first statement and in the same trip
    writes = False  # it holds the write lock
    wait = 0  # milliseconds for which it may wait for the lock
    first = False  # somebody waits for what it will write
    line: WriteQueue  # of its file
    # To carry out before its first statement, not as it opens: they may wait for a lock.
    settings: tuple[str, ...] = ()
    _waits = -1  # as SQLite was told last
    _inside = False  # it is its turn

    def cursor(self) -> Any:
        return SingleTripCursor(self)

    def prepare(self, cursor: sqlite3.Cursor) -> None:
        """On its thread, before a statement: what was put off until then."""
        if self._waits != self.wait:
            self._waits = self.wait
            cursor.execute(f"PRAGMA busy_timeout = {self.wait}")
        if self.settings:
            _settle(cursor, self.settings, time.monotonic() + self.wait / 1000)
            self.settings = ()
        if self.begins:
            self.begins = False
            cursor.execute("BEGIN")

    async def acquire_write(self) -> None:
        """Wait for one's turn to write; what is left of the time is for SQLite's own lock, which another process may
        have. Raises sqlite3.OperationalError."""
        begun = time.monotonic()
        await self.line.acquire(self.wait / 1000, self.first)
        self._inside = True
        self.wait = max(0, self.wait - round((time.monotonic() - begun) * 1000))

    def release_write(self) -> None:
        self.writes = False
        if self._inside:
            self._inside = False
            self.line.release()

    async def commit(self) -> None:
        self.begins = False
        await super().commit()
        self.release_write()

    async def rollback(self) -> None:
        self.begins = False
        if self.writes:
            await super().rollback()
            self.release_write()
        else:
            self._tx.put_nowait((None, self._conn.rollback))

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            self.release_write()

    def stop(self) -> asyncio.Future[Any] | None:
        """By force, and by the garbage collector. Of a second time its thread, which has ended, would never tell."""
        self.release_write()
        return super().stop() if self._running else None


def connect(database: str, **options: Any) -> SingleTripConnection:
    """For SQLAlchemy's `async_creator_fn`: a connection to be awaited, whose thread ends with the process."""
    connection = SingleTripConnection(lambda: sqlite3.connect(database, **options), iter_chunk_size=64)
    connection.line = write_queue_of(database)
    connection._thread.daemon = True
    return connection


def _settle(cursor: sqlite3.Cursor, settings: tuple[str, ...], until: float) -> None:
    """Carry out the settings of a connection, on its thread. Raises sqlite3.OperationalError after `until`."""
    for setting in settings:
        # Two connections that change a new file to WAL at once would wait for each other, so SQLite tells one of them
        # at once that the file is locked (https://www.sqlite.org/c3ref/busy_handler.html).
        while not _carried_out(cursor, setting, time.monotonic() < until):
            time.sleep(0.005)


def _carried_out(cursor: sqlite3.Cursor, setting: str, again: bool) -> bool:
    try:
        cursor.execute(setting).fetchall()
    except sqlite3.OperationalError as error:
        if again and error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            return False
        raise
    return True
