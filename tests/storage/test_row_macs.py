"""A row's MAC is over what stands in its columns: it stays right whatever the dataclasses of the code look like."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Column, Integer, MetaData, Table, select, text, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import ALTERED, Preview, Undo
from gate.rules.task import Assessment, Plan, Task, Usage
from storage.columns import Packed, Stored, Words
from storage.ledger import SqlLedger
from storage.tables import actions
from storage.task_tables import tasks
from tests.storage.conftest import SEALS
from tests.storage.samples import action
from tests.storage.test_ledger_tasks import FULL
from tests.tasks import having

Json = dict[str, Any]


async def raw(engine: AsyncEngine, table: Table, column: str, key: str) -> Any:
    """The JSON in a column, read past the column's type."""
    async with engine.begin() as connection:
        found = await connection.scalars(text(f"SELECT {column} FROM {table.name} WHERE id = '{key}'"))
        return json.loads(found.one())


async def stored_by_another_version(
    engine: AsyncEngine, table: Table, column: str, key: str, change: Callable[[Json], object]
) -> None:
    """Let the row be as a version sealed it whose dataclass had other fields: `change` changes the JSON."""
    body = await raw(engine, table, column, key)
    change(body)
    other = Stored(json.dumps(body))
    async with engine.begin() as connection:
        row = (await connection.execute(select(table).where(table.c.id == key))).one()
        sealed = SEALS.sealed(table, {**row._mapping, column: other})
        await connection.execute(update(table).where(table.c.id == key).values(sealed))


@pytest.mark.parametrize(
    "change",
    [lambda proposal: proposal["preview"].pop("recoverable"), lambda proposal: proposal.update(colour="red")],
    ids=["one field fewer", "one field more"],
)
async def test_an_action_of_a_version_with_other_fields_verifies_and_is_read(
    ledger: SqlLedger, engine: AsyncEngine, change: Callable[[Json], object]
) -> None:
    new = action("a1", await ledger.now(), preview=Preview("Move a.md", "Move", ()))
    async with ledger.begin() as tx:
        await tx.insert(new)
    await stored_by_another_version(engine, actions, "proposal", "a1", change)
    found = await ledger.action("a1")
    assert found == new
    assert found.flaw == ""
    async with ledger.begin() as tx:
        assert (await tx.update_action(found, undo=Undo(open=True))).flaw == ""


def fewer(task: Json) -> None:
    for step in task["steps"]:
        del step["origin"], step["look"]


def more(task: Json) -> None:
    task["steps"][0]["weather"] = {"sun": True}


@pytest.mark.parametrize(
    ("column", "change"),
    [
        ("plan", fewer),
        ("plan", more),
        ("assessment", lambda body: body.update(clear=False)),
        ("usage", lambda body: body.pop("output_tokens")),
    ],
)
async def test_a_task_of_a_version_with_other_fields_verifies_and_is_read(
    ledger: SqlLedger, engine: AsyncEngine, column: str, change: Callable[[Json], object]
) -> None:
    full: Task = FULL if column != "usage" else having(FULL, usage=Usage(1, 2))
    async with ledger.begin() as tx:
        await tx.open_task(full)
    await stored_by_another_version(engine, tasks, column, "full", change)
    assert await ledger.task("full") == full
    async with ledger.begin() as tx:
        kept = await tx.update_task(full, reason="it goes on")
    assert await ledger.task("full") == kept


async def test_json_written_differently_is_not_what_was_sealed(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    """Its value is the same: a MAC over values would not tell."""
    async with ledger.begin() as tx:
        await tx.open_task(FULL)
        await tx.insert(action("a1", await tx.now()))
    for table, column, key in [(tasks, "plan", "full"), (actions, "proposal", "a1")]:
        spaced = json.dumps(await raw(engine, table, column, key), indent=1)
        async with engine.begin() as connection:
            await connection.execute(
                text(f"UPDATE {table.name} SET {column} = :spaced WHERE id = :key"),
                {"spaced": spaced, "key": key},
            )
    assert await ledger.task("full") is None
    found = await ledger.action("a1")
    assert found is not None
    assert found.flaw == ALTERED


async def test_a_text_that_holds_no_value_is_not_decoded_before_its_mac_is_checked(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    async with ledger.begin() as tx:
        await tx.open_task(FULL)
    async with engine.begin() as connection:
        await connection.execute(text("UPDATE tasks SET plan = 'no JSON at all'"))
    assert await ledger.task("full") is None
    assert await ledger.tasks_of(FULL.session) == ()


def columns(*more: Column[Any]) -> Table:
    return Table("t", MetaData(), Column("id", Words, nullable=False), Column("mac", Words), *more)


def test_a_column_added_later_leaves_the_mac_right_while_it_is_blank() -> None:
    row = {"id": "a"}
    before = SEALS.mac(columns(), row)
    for column, blank, other in [
        (Column("new", Words, nullable=False), "", "null"),
        (Column("new", Words), None, ""),
        (Column("new", Integer, nullable=False), 0, 1),
        (Column("new", Packed(Plan | None), nullable=False), None, Plan(1, ())),
        (Column("new", Packed(Assessment | None), nullable=False), Stored("null"), Stored('"null"')),
    ]:
        table = columns(column)
        assert SEALS.mac(table, {**row, "new": blank}) == before
        assert SEALS.mac(table, {**row, "new": other}) != before
