"""The audit table of the bot, read and never written: the connection itself is read-only, on both databases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mcp.server.mcpserver.exceptions import ToolError
from sqlalchemy import (
    URL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Engine,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
    case,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
)
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.types import TypeDecorator, TypeEngine

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
SECONDS = 5
_UNUSABLE = "{} is no database of the bot that can be read. Give the one that DATABASE_URL names."
_AWAY = "The log cannot be read now. Try again in a moment, and tell an operator when it stays so."
# What the bot writes for what a column cannot hold: ESC and four digits.
_ESCAPED = re.compile("\x1b([0-9a-f]{4})")


class Moment(TypeDecorator[datetime]):
    """As the bot writes it: on SQLite the microseconds since 1970."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return TIMESTAMP(timezone=True) if dialect.name == "postgresql" else BigInteger()

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return value if value is None or dialect.name == "postgresql" else (value - EPOCH) // MICROSECOND

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        if value is None or isinstance(value, datetime):
            return value and value.astimezone(UTC)
        return EPOCH + int(value) * MICROSECOND


class Said(TypeDecorator[str]):
    """Text, with signs that no column holds shown by their numbers."""

    impl = Text
    cache_ok = True

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        return value and _ESCAPED.sub(r"\\u\1", value)


_TEXTS = (
    "session_id tool_name arguments result result_status event actor action_id outcome reason prev mac team"
)
LOG = Table(
    "audit_log",
    MetaData(),
    Column("seq", BigInteger, primary_key=True),
    Column("timestamp", Moment),
    Column("user_confirmed", Boolean),
    Column("execution_time_ms", BigInteger),
    Column("version", Integer),
    *(Column(name, Said) for name in _TEXTS.split()),
)
Line = Row[Any]
ACTIONS = Table("actions", MetaData(), Column("id", Text, primary_key=True), Column("proposal", Text))
READ_ALONE = "read alone"  # the outcome of what is about a read that was for whoever asked alone


@dataclass(frozen=True)
class Audience:
    """Which entries are about what not everybody may know, by the ids of their actions."""

    everybody: frozenset[str] = frozenset()
    private: frozenset[str] = frozenset()

    def is_private(self, line: Line) -> bool:
        return line.action_id in self.private or line.outcome == READ_ALONE

    def may_see_result(self, line: Line) -> bool:
        """Whether what a call gave may be told: never of a read that nobody was asked about, since an earlier version
        of the bot has kept what private ones gave, and their entries are like all others."""
        return line.action_id in self.everybody


@dataclass(frozen=True)
class Log:
    """The log of one bot; of one Slack workspace when a team is named."""

    engine: Engine
    team: str

    @classmethod
    def at(cls, database: str, team: str) -> Log:
        """The log in this database, by URL or by the path of a SQLite file. Raises ValueError with a sentence."""
        try:
            log = cls(_engine(database), team)
            with log.engine.connect() as connection:
                there = inspect(connection).has_table(LOG.name)
        except (SQLAlchemyError, ImportError):
            there = False
        if not there:
            raise ValueError(_UNUSABLE.format(database.rpartition("@")[2])) from None
        return log

    def newest(self, where: Sequence[ColumnElement[bool]], limit: int) -> list[Line]:
        """The last entries that fit, the newest first."""
        asked = select(LOG).where(*self._mine(where)).order_by(LOG.c.seq.desc()).limit(limit)
        with self._reading() as connection:
            return list(connection.execute(asked))

    def page(self, where: Sequence[ColumnElement[bool]], offset: int, limit: int) -> list[Line]:
        """Some of the entries that fit, the oldest first."""
        asked = select(LOG).where(*self._mine(where)).order_by(LOG.c.seq).offset(offset).limit(limit)
        with self._reading() as connection:
            return list(connection.execute(asked))

    def audience(self, lines: Sequence[Line]) -> Audience:
        """Who may know what these entries are about, as the decisions on their actions say."""
        ids = {line.action_id for line in lines if line.action_id}
        asked = select(ACTIONS).where(ACTIONS.c.id.in_(ids))
        with self._reading() as connection:
            found = {row.id: _decision(row.proposal) for row in connection.execute(asked)} if ids else {}
        private = frozenset(key for key, one in found.items() if one.get("private", True))
        secret = frozenset(key for key, one in found.items() if one.get("secret", False))
        return Audience(frozenset(found) - private - secret, private)

    def count(self, where: Sequence[ColumnElement[bool]]) -> int:
        return int(self.span(where).entries)

    def span(self, where: Sequence[ColumnElement[bool]]) -> Line:
        """How many entries fit, and of the first and the last of them the number and the time."""
        low, high = func.min(LOG.c.seq), func.max(LOG.c.seq)
        ends = (func.min(LOG.c.timestamp, type_=Moment), func.max(LOG.c.timestamp, type_=Moment))
        named = (func.count().label("entries"), low.label("first"), high.label("last"))
        asked = select(*named, ends[0].label("first_at"), ends[1].label("last_at")).where(*self._mine(where))
        with self._reading() as connection:
            return connection.execute(asked).one()

    def actors(self, where: Sequence[ColumnElement[bool]]) -> list[str]:
        with self._reading() as connection:
            return sorted(connection.scalars(select(LOG.c.actor).where(*self._mine(where)).distinct()))

    def sums(self, where: Sequence[ColumnElement[bool]]) -> list[Line]:
        """For each tool, by name: how often it was called, and what became of it."""

        def number(of: ColumnElement[bool]) -> ColumnElement[int]:
            return func.sum(case((of, 1), else_=0))

        status = LOG.c.result_status
        asked = (
            select(
                LOG.c.tool_name.label("tool"),
                func.count().label("calls"),
                number(status == "success").label("success"),
                number(status == "error").label("error"),
                number(status == "rejected_by_user").label("rejected"),
                number(LOG.c.user_confirmed.is_(True)).label("confirmed"),
                func.coalesce(func.sum(LOG.c.execution_time_ms), 0).label("milliseconds"),
            )
            .where(*self._mine(where), LOG.c.tool_name != "", status.is_not(None), status != "")
            .group_by(LOG.c.tool_name)
            .order_by(LOG.c.tool_name)
        )
        with self._reading() as connection:
            return list(connection.execute(asked))

    def last(self) -> int:
        """The number of the newest entry, of whichever team; 0 when there is none."""
        with self._reading() as connection:
            return connection.scalar(select(func.max(LOG.c.seq))) or 0

    def unbroken(self, first: int, last: int) -> bool:
        """Whether no number is missing there and every entry names the one before. No more is known without the key."""
        links = select(LOG.c.seq, LOG.c.prev, LOG.c.mac).where(LOG.c.seq >= first, LOG.c.seq <= last)
        expected, before = first, None
        with self._reading() as connection:
            for seq, prev, mac in connection.execute(links.order_by(LOG.c.seq)):
                if seq != expected or before not in (None, prev):
                    return False
                expected, before = seq + 1, mac
        return expected == last + 1

    def _mine(self, where: Sequence[ColumnElement[bool]]) -> Sequence[ColumnElement[bool]]:
        return [*where, LOG.c.team == self.team] if self.team else where

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self.engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise ToolError(_AWAY) from error


def _decision(proposal: str) -> dict[str, Any]:
    """The decision in a stored proposal; nothing where it cannot be read, which counts as private."""
    try:
        return dict(json.loads(proposal, strict=False)["decision"])
    except (ValueError, KeyError, TypeError):
        return {}


def _engine(database: str) -> Engine:
    if "://" not in database:
        return _sqlite(database)
    try:
        url = make_url(database)
        if url.drivername.startswith("sqlite"):
            return _sqlite(url.database or "")
        if url.drivername.startswith("postgres"):
            return _postgres(url)
    except (ArgumentError, NoSuchModuleError, ValueError):
        pass
    raise ValueError(_UNUSABLE.format("The database"))


def _sqlite(path: str) -> Engine:
    # `mode=ro`: SQLite itself refuses to write, and makes no file where there is none.
    file = f"file:{quote(str(Path(path).absolute()))}"
    url = URL.create("sqlite", database=file, query={"mode": "ro", "uri": "true"})
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": SECONDS})
    event.listen(engine, "connect", lambda base, _: base.execute("PRAGMA query_only = ON").close())
    return engine


def _postgres(url: URL) -> Engine:
    limits = f"-c default_transaction_read_only=on -c statement_timeout={SECONDS * 1000}"
    reach = {"options": limits, "connect_timeout": SECONDS}
    engine = create_engine(url.set(drivername="postgresql+psycopg"), poolclass=NullPool, connect_args=reach)
    return engine.execution_options(postgresql_readonly=True)
