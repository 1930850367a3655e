"""What all tables share: their metadata, how keys and indexes are named, and short ways to write columns."""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, ColumnElement, Index, Integer, MetaData

from storage.columns import Words

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)
Counted = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up in INTEGER columns only


def text(name: str) -> Column[str]:
    return Column(name, Words, nullable=False)


def partial(name: str, where: ColumnElement[bool], *columns: Column[Any]) -> None:
    """An index of those rows only that a question is about: it stays small whatever the table holds."""
    Index(name, *columns, sqlite_where=where, postgresql_where=where)
