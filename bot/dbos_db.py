"""The durable engine's own connections to the ledger's database: synchronous, as DBOS wants them."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from storage.database import CHECKPOINTS, NO_IDLE_TRANSACTION
from storage.write_queue import QueuedConnection


def shared(sql: sa.Engine) -> bool:
    """Whether several processes may serve from this database."""
    return sql.dialect.name == "postgresql"


def connect(url: str) -> sa.Engine:
    """The engine's own connections, synchronous as DBOS wants them, with the ledger's settings."""
    target = sa.make_url(url)
    if target.get_backend_name() == "sqlite":
        orderly = {"factory": QueuedConnection}
        sql = sa.create_engine(target.set(drivername="sqlite"), pool_size=8, connect_args=orderly)
        sa.event.listen(sql, "connect", _set_up_sqlite)
        return sql
    sql = sa.create_engine(
        target.set(drivername="postgresql+psycopg"), pool_size=12, connect_args={"connect_timeout": 5}
    )
    sa.event.listen(sql, "connect", _set_up_postgres)
    return sql


def _set_up_sqlite(line: Any, _: object) -> None:
    # DBOS reads much and guards its writes itself: the lock is taken by the first write, not by each BEGIN.
    line.isolation_level = "IMMEDIATE"
    line.execute("PRAGMA busy_timeout=30000")
    line.execute("PRAGMA foreign_keys=ON")
    line.execute("PRAGMA synchronous=FULL")
    # WAL is the ledger's decision, and kept in the file; who may checkpoint belongs to each connection.
    if CHECKPOINTS:
        line.execute(CHECKPOINTS)


def _set_up_postgres(line: Any, _: object) -> None:
    with line.cursor() as cursor:  # a frozen process must not hold its locks for ever
        cursor.execute(NO_IDLE_TRANSACTION)
    line.commit()  # else the pool rolls the setting back
