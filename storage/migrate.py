"""Bring a database to the tables of this version."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine

from storage.engine import open_engine, parse, reading

LOCK = 7234811  # any number that is ours: replicas that migrate at once do so one after the other


async def migrate(url: str) -> None:
    """Apply the migrations that are missing, all or none. Makes the directory of a SQLite file.

    Raises BadDatabaseUrl, and SQLAlchemy's OperationalError when the database cannot be had.
    """
    address = parse(url)
    if address.get_backend_name() == "sqlite":
        Path(str(address.database)).parent.mkdir(parents=True, exist_ok=True)
    engine = open_engine(url)
    try:
        async with engine.begin() as connection:
            await connection.run_sync(upgrade)
    finally:
        await engine.dispose()


async def is_current(engine: AsyncEngine) -> bool:
    """Whether the database has the tables of this version: no more, no fewer."""
    async with reading(engine).connect() as connection:
        return await connection.run_sync(_is_current)


def _is_current(connection: Connection) -> bool:
    there = MigrationContext.configure(connection).get_current_heads()
    return set(there) == set(ScriptDirectory.from_config(_config(connection)).get_heads())


def upgrade(connection: Connection, to: str = "head") -> None:
    """Apply the migrations that are missing, in the transaction of this connection; up to one, in tests."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
    command.upgrade(_config(connection), to)


def _config(connection: Connection) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "storage:migrations")
    return config
