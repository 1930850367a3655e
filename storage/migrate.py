"""Bring a database to the tables of this version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from storage import file_modes
from storage.database import connected, open_engine, parse, reading, transaction

LOCK = 7234811  # any number that is ours: replicas that migrate at once do so one after the other


async def migrate(url: str) -> bool:
    """Apply the migrations that are missing, all or none, and say whether any was. Makes a SQLite file, for its owner
    alone, and its directory.

    Raises BadDatabaseUrl, and SQLAlchemy's OperationalError when the database cannot be had.
    """
    address = parse(url)
    if address.get_backend_name() == "sqlite":
        file_modes.file(Path(str(address.database)))  # those that SQLite puts beside it get its rights
    engine = open_engine(url)
    try:
        async with transaction(engine) as connection:
            current = await connection.run_sync(_is_current)
            await connection.run_sync(upgrade)  # looks again: replicas may migrate at once
    finally:
        await engine.dispose()
    return not current


async def is_current(engine: AsyncEngine) -> bool:
    """Whether the database has the tables of this version: no more, no fewer."""
    async with connected(reading(engine)) as connection:
        return await connection.run_sync(_is_current)


def _is_current(connection: Connection) -> bool:
    there = MigrationContext.configure(connection).get_current_heads()
    return set(there) == set(ScriptDirectory.from_config(_config(connection)).get_heads())


async def is_older(engine: AsyncEngine) -> bool:
    """Whether `migrate` can bring the database to this version: it has no tables yet, or those of a version before."""
    async with connected(reading(engine)) as connection:
        return await connection.run_sync(_is_older)


def _is_older(connection: Connection) -> bool:
    there = MigrationContext.configure(connection).get_current_heads()
    known = {one.revision for one in ScriptDirectory.from_config(_config(connection)).walk_revisions()}
    return set(there) <= known


def upgrade(connection: Connection, to: str = "head") -> None:
    """Apply the migrations that are missing, in the transaction of this connection; up to one, in tests."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    command.upgrade(_config(connection), to)


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "storage:migrations")
    return config
