"""The definitions of tools as they were first seen, and who has read them: a changed tool is noticed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import ALTERED
from gate.rules.audit import Entry
from gate.rules.tool import Pin
from storage.audit_log import Chain, append
from storage.database import ask, carry, connected, reached, reading, transaction
from storage.row_macs import RowMacs
from storage.rows import insert, plain
from storage.tables import tool_pins

MOST_PINS = 5_000  # of one server: ten listings of new names


class PinStore:
    """Kept in SQL. Methods raise Unavailable when the database cannot be had."""

    def __init__(self, engine: AsyncEngine, seals: RowMacs) -> None:
        self._engine, self._seals = engine, seals

    async def all(self) -> tuple[Pin, ...]:
        rows = await ask(self._engine, select(tool_pins).order_by(tool_pins.c.server, tool_pins.c.tool))
        return tuple(map(self._pin, rows))

    def _pin(self, row: Any) -> Pin:
        """A row that is not as it was written pins the tool to a definition that it cannot have: it has changed."""
        if not self._seals.holds(tool_pins, row):
            return Pin(row.server, row.tool, ALTERED, None, row.at)
        return Pin(row.server, row.tool, row.definition, row.reviewed_by, row.at)

    async def of(self, server: str, tools: Collection[str]) -> tuple[Pin, ...]:
        """What is pinned of these tools of one server. Of one that has offered more names than are kept the others
        count as changed: it could have its first definition forgotten otherwise."""
        own = tool_pins.c.server == server
        many = select(func.count()).select_from(tool_pins).where(own)
        with reached():
            async with connected(reading(self._engine)) as connection:
                rows = await connection.execute(
                    select(tool_pins).where(own, tool_pins.c.tool.in_(sorted(tools)))
                )
                found = tuple(map(self._pin, rows))
                full = (await connection.execute(many)).scalar_one() >= MOST_PINS
        if not full:
            return found
        left = sorted({*tools} - {pin.tool for pin in found})
        return (*found, *(Pin(server, tool, ALTERED) for tool in left))

    async def first_seen(self, server: str, definitions: Mapping[str, str], at: datetime) -> None:
        """Remember the definitions of these tools, unread. A tool that is pinned already stays as it is, also to
        another definition: only a person's review replaces a pin."""
        pins = [Pin(server, tool, text, None, at) for tool, text in definitions.items()]
        rows = [self._seals.sealed(tool_pins, plain(pin)) for pin in pins]
        if not rows:
            return
        new = insert(tool_pins, self._engine.dialect.name).values(rows)
        await carry(self._engine, new.on_conflict_do_nothing(index_elements=["server", "tool"]))

    async def review(self, pins: Sequence[Pin], audit_key: bytes) -> None:
        """Note that somebody has read these very definitions: they take the place of whatever was pinned, each with an
        entry in the audit log, all or none."""
        rows = [self._seals.sealed(tool_pins, plain(pin)) for pin in pins]
        new = insert(tool_pins, self._engine.dialect.name)
        read = new.on_conflict_do_update(
            index_elements=["server", "tool"],
            set_={column.name: new.excluded[column.name] for column in tool_pins.c},
        )
        with reached():
            async with transaction(self._engine) as connection:
                await connection.execute(read, rows)
                await append(connection, Chain(audit_key), [_reviewed(pin) for pin in pins], timedelta())


def _reviewed(pin: Pin) -> Entry:
    """The entry on a definition that somebody has read: `outcome` is its hash."""
    return Entry(
        event="tool_reviewed",
        session="",
        actor=pin.reviewed_by or "",
        tool=f"{pin.server}.{pin.tool}",
        outcome=pin.definition,
        user_confirmed=True,
    )
