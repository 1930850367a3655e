"""What Slack said about people, and when: so that a click need not wait for Slack."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import Person
from storage.columns import unpacked
from storage.database import ask, carry
from storage.row_macs import RowMacs
from storage.rows import insert
from storage.tables import people


@dataclass(frozen=True, slots=True)
class StoredPerson:
    """A person as Slack described them at `at`."""

    person: Person
    at: datetime


class PeopleStore:
    """Kept in SQL; a row that is not as it was written counts as none. Methods raise Unavailable when the database
    cannot be had."""

    def __init__(self, engine: AsyncEngine, seals: RowMacs) -> None:
        self._engine, self._seals = engine, seals

    async def get(self, team: str, user: str) -> StoredPerson | None:
        wanted = select(people).where(people.c.team == team, people.c.user == user)
        for row in await ask(self._engine, wanted):
            if self._seals.holds(people, row):
                return StoredPerson(unpacked(row.facts), row.at)
        return None

    async def put(self, person: Person, at: datetime) -> None:
        """Remember what was said at `at`; what was said later than that stays."""
        who = {"team": person.team, "user": person.id}
        row = self._seals.sealed(people, {**who, "facts": person, "at": at})
        new = insert(people, self._engine.dialect.name).values(row)
        newer = new.excluded.at >= people.c.at
        await carry(
            self._engine, new.on_conflict_do_update(index_elements=["team", "user"], set_=row, where=newer)
        )
