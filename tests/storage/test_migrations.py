"""Migrations make from nothing what the tables say, on both databases."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    inspect,
    text,
)
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import (
    EARLIER,
    Action,
    CallClass,
    Claim,
    Fact,
    Inverse,
    Json,
    Outcome,
    Preview,
    ResultDecision,
    Risk,
    Verdict,
)
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from storage.codec import dumps, loads
from storage.columns import Choice, Packed, SessionKey, Time, Words
from storage.database import BadDatabaseUrl, open_engine
from storage.ledger import SqlLedger
from storage.migrate import migrate, upgrade
from storage.schema import metadata
from tests.actions import action_of
from tests.storage.samples import THREAD, TTL, action


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


@pytest.mark.slow
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


# What `actions` had until r012: a column for each field.
FLAT = Table(
    "actions",
    MetaData(),
    *(
        Column(name, Words)
        for name in (
            "id requester server tool reason rule policy definition receipt phrase turn task step group undoes renews "
            "decided_by decision edited_by grant review proposed held team mac"
        ).split()
    ),
    *(Column(name, Integer) for name in ("version", "revision", "call", "tries")),
    *(Column(name, Boolean) for name in ("always_gated", "undo_open", "private", "checkable")),
    *(
        Column(name, Choice(kind))
        for name, kind in {"cls": CallClass, "risk": Risk, "verdict": Verdict}.items()
    ),
    *(Column(name, Time) for name in ("created_at", "expires_at")),
    *(
        Column(name, Packed(hint))
        for name, hint in {
            "approvers": Approvers,
            "capture": Mapping[str, Json],
            "preview": Mapping[str, Json],
            "claim": Claim | None,
            "outcome": Outcome | None,
            "inverse": Inverse | None,
            "judged": ResultDecision | None,
        }.items()
    ),
    Column("args", LargeBinary),
    Column("state", Choice(State)),
    Column("session", SessionKey),
)
ODD = "“it”\x00 is\x1b odd \ud800"


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("mac", ["", "00" * 32])
async def test_the_columns_of_an_action_become_its_parts(
    new_url: str, new_engine: AsyncEngine, mac: str
) -> None:
    now = datetime(2026, 1, 1, 12, 30, 15, 250_001, tzinfo=UTC)
    full = action_of(
        id="full", version=3, revision=9, state=State.SUCCEEDED, session=THREAD, requester=ODD, server="s", tool=ODD,
        args=b'{"a":"\\ud800"}', cls=CallClass.DESTRUCTIVE, risk=Risk.HIGH, verdict=Verdict.TYPED, reason=ODD, rule="r",
        policy="p", definition="d", approvers=Approvers(frozenset({"U2"}), frozenset(), 2), always_gated=True,
        private=True, preview=Preview(ODD, "Delete", (Fact("a", ODD),), notes=(ODD,)), capture={"x": {"text": ODD}},
        receipt="r1", phrase="delete 7F3K", created_at=now, expires_at=now + TTL, turn="t", call=2, task="k", step="s1",
        group="g", undoes="u", renews="o", decided_by="U2", decision=ODD, claim=Claim("c", "e", now),
        outcome=Outcome("success", ODD, {"a": [1, ODD]}, 12, now), inverse=Inverse("s", "back", b"{}", until=now),
        undo_open=True, tries=1, edited_by="U3", grant="g1", review="look", proposed='{"a":1}',
        held="check", judged=ResultDecision("U4", True, {"a": ODD}, ODD), prose=ODD,
    )  # fmt: skip
    plain = [action(f"plain{number:03}", now) for number in range(501)]  # more than are read at once
    async with new_engine.begin() as connection:
        await connection.run_sync(upgrade, "r012")
        await connection.execute(FLAT.insert(), [_flat(one, mac) for one in (full, *plain)])
    await migrate(new_url)
    ledger = SqlLedger(new_engine, lambda _, run: None, b"k" * 32)
    for one in (full, *plain[::250]):
        found = await ledger.action(one.id)
        assert found == one
        assert found.flaw == EARLIER, "its receipt covers less than all of its proposal"


def _flat(one: Action, mac: str) -> dict[str, Any]:
    preview = loads(Mapping[str, Json], dumps(Preview, one.preview)) | {"prose": one.prose}
    own = {"team": one.session.team, "mac": mac, "preview": preview, "policy": one.proposal.policy}
    own |= {"rule": one.proposal.decision.rule, "held": one.under_review}
    return {column.name: own.get(column.name, getattr(one, column.name, None)) for column in FLAT.c}
