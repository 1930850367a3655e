"""Migrations make from nothing what the tables say, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from storage.engine import BadDatabaseUrl, open_engine
from storage.migrate import migrate
from storage.schema import metadata


@pytest.fixture(params=["sqlite_url", "new_postgres_url"])
def new_url(request: pytest.FixtureRequest) -> str:
    """The URL of a database without any table."""
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
async def new_engine(new_url: str) -> AsyncIterator[AsyncEngine]:
    engine = open_engine(new_url)
    yield engine
    await engine.dispose()


def _differences(connection: Connection) -> list[object]:
    return compare_metadata(MigrationContext.configure(connection), metadata)


def _shape(connection: Connection) -> dict[str, object]:
    """All that the database knows of each table; alembic's comparison leaves out some of it."""
    found = inspect(connection)
    return {
        name: (
            found.get_pk_constraint(name),
            sorted(str(key) for key in found.get_foreign_keys(name)),
            sorted(str(key) for key in found.get_unique_constraints(name)),
            sorted(
                (index["name"], index["column_names"], _where(index)) for index in found.get_indexes(name)
            ),
            sorted(
                (column["name"], str(column["type"]), column["nullable"])
                for column in found.get_columns(name)
            ),
        )
        for name in metadata.tables
    }


def _where(index: object) -> list[str]:
    return [str(value) for value in index.get("dialect_options", {}).values()]  # type: ignore[attr-defined]


async def test_an_upgrade_from_nothing_equals_the_tables(new_url: str, new_engine: AsyncEngine) -> None:
    await migrate(new_url)
    async with new_engine.begin() as connection:
        assert await connection.run_sync(_differences) == []
        migrated = await connection.run_sync(_shape)
        await connection.run_sync(metadata.drop_all)
        await connection.run_sync(metadata.create_all)
        assert await connection.run_sync(_shape) == migrated


async def test_migrating_again_and_at_once_changes_nothing(new_url: str, new_engine: AsyncEngine) -> None:
    await asyncio.gather(*(migrate(new_url) for _ in range(3)))
    await migrate(new_url)
    async with new_engine.connect() as connection:
        assert (await connection.execute(text("SELECT id, seq FROM audit_head"))).all() == [(1, 0)]


@pytest.mark.parametrize("url", ["mysql://host/db", "nonsense", "sqlite://", "sqlite:///:memory:"])
async def test_a_url_of_another_kind_is_answered_with_what_to_write(url: str) -> None:
    with pytest.raises(BadDatabaseUrl, match=r"Write sqlite:///path/to/file\.db or postgresql://"):
        await migrate(url)
