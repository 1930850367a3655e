"""The definitions of tools as they were first seen, and who has read them: a changed tool is noticed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from storage.engine import reached, reading
from storage.rows import insert, plain
from storage.tables import tool_pins


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool's definition, by its hash. `reviewed_by`: who has read this very definition, if anybody."""

    server: str
    tool: str
    definition: str
    reviewed_by: str | None
    at: datetime


class PinStore:
    """Kept in SQL. Methods raise Unavailable when the database cannot be had."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def all(self) -> tuple[Pin, ...]:
        with reached():
            async with reading(self._engine).connect() as connection:
                rows = await connection.execute(
                    select(tool_pins).order_by(tool_pins.c.server, tool_pins.c.tool)
                )
                return tuple(Pin(**row._mapping) for row in rows)

    async def pin(self, server: str, tool: str, definition: str, at: datetime) -> None:
        """Remember this definition, unread; the same one again changes nothing."""
        row = plain(Pin(server, tool, definition, None, at))
        new = insert(tool_pins, self._engine.dialect.name).values(row)
        changed = tool_pins.c.definition != definition
        with reached():
            async with self._engine.begin() as connection:
                await connection.execute(
                    new.on_conflict_do_update(index_elements=["server", "tool"], set_=row, where=changed)
                )

    async def review(self, server: str, tool: str, definition: str, by: str, at: datetime) -> bool:
        """Note that `by` has read this definition; False when the tool is pinned to another one by now."""
        this = (tool_pins.c.server == server, tool_pins.c.tool == tool, tool_pins.c.definition == definition)
        with reached():
            async with self._engine.begin() as connection:
                done = await connection.execute(update(tool_pins).where(*this).values(reviewed_by=by, at=at))
                return done.rowcount == 1
