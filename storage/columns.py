"""How single values stand in columns, the same on SQLite and PostgreSQL; and the database's clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Dialect, Text, literal
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine

from gate.rules.action import Session
from storage.codec import dumps, loads, restored, storable

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


class Words(TypeDecorator[str]):
    """Any Python string, compared and sorted by code point."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return postgresql.TEXT(collation="C") if dialect.name == "postgresql" else Text()

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return value and storable(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value and restored(value)


class Time(TypeDecorator[datetime]):
    """An aware moment, read back in UTC. On SQLite the microseconds since 1970: exact, and sorted as numbers."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return postgresql.TIMESTAMP(timezone=True) if dialect.name == "postgresql" else BigInteger()

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        if value is None or dialect.name == "postgresql":
            return value
        return (value - EPOCH) // MICROSECOND

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC) if isinstance(value, datetime) else EPOCH + int(value) * MICROSECOND


class Stored(str):
    """JSON text exactly as it stands in a column, and the type of the value that it holds."""

    hint: Any


class Packed(TypeDecorator[Any]):
    """A value of the type `hint`, as JSON text. What is read is the text (`Stored`), since a MAC covers the text;
    `unpacked` gives the value, and a `Stored` text can be written back as it is."""

    impl = Text
    cache_ok = True

    def __init__(self, hint: Any) -> None:
        super().__init__()
        self.hint = hint

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return self.text(value)

    def text(self, value: Any) -> str:
        """What is written into the column."""
        return str(value) if isinstance(value, Stored) else dumps(self.hint, value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Stored:
        stored = Stored(value)
        stored.hint = self.hint
        return stored


def unpacked(value: Any) -> Any:
    """The value of a column that was read. Raises TypeError, ValueError or KeyError on a text that holds no value of
    its type."""
    return loads(value.hint, value) if isinstance(value, Stored) else value


class Choice(Words):
    """A member of one enumeration, by its value."""

    cache_ok = True

    def __init__(self, kind: type[StrEnum]) -> None:
        super().__init__()
        self.kind = kind

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else self.kind(value)


class SessionKey(Words):
    """A session, by its key."""

    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return super().process_bind_param(value.key, dialect)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return Session.of(super().process_result_value(value, dialect) or "")


class clock(FunctionElement[datetime]):
    """The database's clock at this very moment, plus an offset. Milliseconds on SQLite."""

    name = "clock"
    type = Time()
    inherit_cache = True

    def __init__(self, offset: timedelta) -> None:
        super().__init__(literal(offset // MICROSECOND, BigInteger))


@compiles(clock, "sqlite")
def _clock_of_sqlite(element: clock, compiler: SQLCompiler, **kw: Any) -> str:
    now = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000"
    return f"({now} + {compiler.process(element.clauses, **kw)})"


@compiles(clock, "postgresql")
def _clock_of_postgres(element: clock, compiler: SQLCompiler, **kw: Any) -> str:
    # Not now(): that stands still at the start of the transaction, before it waited for a lock.
    return f"(clock_timestamp() + {compiler.process(element.clauses, **kw)} * interval '1 microsecond')"
