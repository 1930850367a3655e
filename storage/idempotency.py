"""Answers kept by idempotency key, so that a repeated request gets the answer of the first."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import and_, delete, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.idempotency import StoredAnswer
from storage.api_tables import answers
from storage.columns import clock
from storage.database import carry, reached
from storage.rows import insert

RESERVATION_SECONDS = timedelta(
    seconds=120
)  # longer than any request takes: by then whoever holds the key is dead


class AnswerStore:
    """Methods raise Unavailable when the database cannot be had. `offset`: added to its clock (tests)."""

    def __init__(self, engine: AsyncEngine, offset: timedelta = timedelta(0)) -> None:
        self._engine = engine
        self.offset = offset

    async def begin(self, token: str, key: str, digest: str, holder: str) -> StoredAnswer | None:
        """Reserve the key for this request, or what is there under it. A holder that died is outlived."""
        now = clock(self.offset)
        row = {
            "token": token,
            "key": key,
            "digest": digest,
            "holder": holder,
            "status": 0,
            "body": "",
            "at": now,
        }
        new = insert(answers, self._engine.dialect.name).values(row)
        dead = and_(
            answers.c.status == 0,
            answers.c.digest == new.excluded.digest,
            answers.c.at < clock(self.offset - RESERVATION_SECONDS),
        )
        taken = new.on_conflict_do_update(
            index_elements=["token", "key"], set_={"holder": holder, "at": now}, where=dead
        ).returning(answers.c.holder)
        there = select(answers).where(answers.c.token == token, answers.c.key == key)
        with reached():
            async with self._engine.begin() as connection:
                if (await connection.execute(taken)).first() is not None:
                    return None
                found = (await connection.execute(there)).one_or_none()
        return StoredAnswer(found.digest, found.status, found.body) if found else StoredAnswer(digest, 0, "")

    async def keep(self, token: str, key: str, holder: str, status: int, body: str) -> None:
        await carry(
            self._engine,
            update(answers).where(*_reserved(token, key, holder)).values(status=status, body=body),
        )

    async def drop(self, token: str, key: str, holder: str) -> None:
        """Give the reservation up: the same request may be tried again."""
        await carry(self._engine, delete(answers).where(*_reserved(token, key, holder)))


def _reserved(token: str, key: str, holder: str) -> tuple[Any, ...]:
    own = (answers.c.token == token, answers.c.key == key, answers.c.holder == holder)
    return (*own, answers.c.status == 0)
