"""Answers kept by idempotency key, so that a repeated request gets the answer of the first."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from sqlalchemy import and_, delete, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.idempotency import StoredAnswer
from storage.api_tables import answers
from storage.columns import clock
from storage.database import carry, reached, transaction
from storage.rows import insert

RESERVATION_SECONDS = timedelta(
    seconds=120
)  # longer than any request takes: by then whoever holds the key is dead
BUDGET_BYTES = 64 * 1024 * 1024  # of answers that one process keeps for one token
BUDGET_SECONDS = 24 * 3600.0  # until it begins anew: answers are kept for a day


class AnswerStore:
    """Methods raise Unavailable when the database cannot be had. `offset`: added to its clock (tests). `seconds`: a
    clock that only goes forward."""

    def __init__(
        self,
        engine: AsyncEngine,
        offset: timedelta = timedelta(0),
        seconds: Callable[[], float] = time.monotonic,
        budget: int = BUDGET_BYTES,
    ) -> None:
        self._engine = engine
        self.offset, self.budget = offset, budget
        self._seconds = seconds
        self._kept: dict[str, tuple[float, int]] = {}  # by token: since when, and how many bytes

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
            async with transaction(self._engine) as connection:
                if (await connection.execute(taken)).first() is not None:
                    return None
                found = (await connection.execute(there)).one_or_none()
        return StoredAnswer(found.digest, found.status, found.body) if found else StoredAnswer(digest, 0, "")

    async def keep(self, token: str, key: str, holder: str, status: int, body: str) -> None:
        """Keep an answer; beyond the token's budget only that there was one, so that nothing is carried out again."""
        body = body if self._has_room(token, len(body)) else ""
        await carry(
            self._engine,
            update(answers).where(*_reserved(token, key, holder)).values(status=status, body=body),
        )

    def _has_room(self, token: str, size: int) -> bool:
        """Whether the budget has so many bytes left, which are used then."""
        now = self._seconds()
        began, used = self._kept.get(token, (now, 0))
        if now - began >= BUDGET_SECONDS:
            began, used = now, 0
        fits = used + size <= self.budget
        self._kept[token] = (began, used + size if fits else used)
        return fits

    async def drop(self, token: str, key: str, holder: str) -> None:
        """Give the reservation up: the same request may be tried again."""
        await carry(self._engine, delete(answers).where(*_reserved(token, key, holder)))


def _reserved(token: str, key: str, holder: str) -> tuple[Any, ...]:
    own = (answers.c.token == token, answers.c.key == key, answers.c.holder == holder)
    return (*own, answers.c.status == 0)
