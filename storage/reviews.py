"""Reviews in SQL: written once, read by execution and by reviewer; and what waits for one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from datetime import timedelta
from itertools import accumulate
from typing import Any, Protocol

from sqlalchemy import CursorResult, Row, insert, select

from gate.rules.action import Action, Session
from gate.rules.reviews import ReviewRecord
from gate.rules.task import Task
from storage.columns import clock
from storage.pending import held_actions, listed_tasks
from storage.review_tables import HELD, IN_REVIEW, UNREVIEWED, WAITS, reviews
from storage.row_macs import RowMacs
from storage.rows import PAGE_CHARS, loaded, plain, size, to_actions
from storage.tables import actions
from storage.task_tables import tasks

COLUMNS = [reviews.c[field.name] for field in fields(ReviewRecord)]


def _page(rows: Sequence[Row[Any]]) -> tuple[ReviewRecord, ...]:
    """The first of them that are no larger together than a page may be; one at least."""
    before = accumulate(map(size, rows), initial=0)
    first = [row for row, chars in zip(rows, before, strict=False) if chars <= PAGE_CHARS]
    return tuple(loaded(ReviewRecord, row) for row in first)


class Executing(Protocol):
    """What is needed of a transaction."""

    async def execute(self, statement: Any, values: Any = None) -> CursorResult[Any]: ...


class ReviewsTx:
    """gate.rules.reviews.ReviewsTx."""

    def __init__(self, tx: Executing) -> None:
        self._tx = tx

    async def save(self, record: ReviewRecord, session: Session) -> None:
        row = {**plain(record), "session": session, "team": session.team}
        del row["id"]
        await self._tx.execute(insert(reviews).values(row))


class Reviews:
    """gate.rules.reviews.Reviews. `ask` answers questions, each with its rows; `offset` is added to the clock."""

    def __init__(
        self,
        ask: Callable[..., Awaitable[list[Sequence[Row[Any]]]]],
        offset: Callable[[], timedelta],
        seals: RowMacs,
    ) -> None:
        self._ask, self._offset, self._seals = ask, offset, seals

    async def of(
        self, team: str, execution: str, limit: int = 50, after: int = 0
    ) -> tuple[ReviewRecord, ...]:
        found = select(*COLUMNS).where(reviews.c.execution_id == execution, reviews.c.team == team)
        (rows,) = await self._ask(found.where(reviews.c.id > after).order_by(reviews.c.id).limit(limit))
        return await asyncio.to_thread(_page, rows)

    async def by(
        self, team: str, reviewer: str, limit: int = 50, before: int = 0
    ) -> tuple[ReviewRecord, ...]:
        found = select(*COLUMNS).where(reviews.c.reviewer_id == reviewer, reviews.c.team == team)
        found = found.where(reviews.c.id < before) if before else found
        (rows,) = await self._ask(found.order_by(reviews.c.id.desc()).limit(limit))
        return await asyncio.to_thread(_page, rows)

    async def waiting(self, team: str) -> tuple[tuple[Action, ...], tuple[Task, ...]]:
        now = select(clock(self._offset())).scalar_subquery()
        before = select(actions).where(UNREVIEWED, WAITS, actions.c.team == team, actions.c.expires_at > now)
        held = select(actions).where(HELD, actions.c.team == team)
        after = select(tasks.c.id).where(IN_REVIEW, tasks.c.team == team)
        found, kept, paused = await self._ask(before, held, after)
        listed = await listed_tasks(self._ask, paused, self._seals)
        return await to_actions([*found, *kept], self._seals), tuple(task for task, _ in listed)

    async def under_review(self, team: str, user: str) -> tuple[Action, ...]:
        (rows,) = await self._ask(held_actions(team, user))
        return await to_actions(rows, self._seals)
