"""What waits for somebody, as SQL: the statements behind /pending, App Home and the lists of a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, bindparam, select

from gate.rules.action import Session
from gate.rules.task import Task
from storage.question_tables import OPEN_QUESTION, server_questions
from storage.review_tables import HELD
from storage.row_macs import RowMacs
from storage.rows import to_listed_task
from storage.statements import TASK
from storage.tables import PREPARED, actions
from storage.task_tables import ASKS, tasks

# Tasks of a person that ask something; the ids, as of all whose rows `listed_tasks` reads
ASKING = (
    select(tasks.c.id)
    .where(
        tasks.c.team == bindparam("team"),
        tasks.c.requester == bindparam("requester"),
        ASKS,
    )
    .order_by(tasks.c.created_at, tasks.c.id)
)


def undecided_actions(
    now: ColumnElement[Any], team: str, user: str | None, session: Session | None
) -> Select[Any]:
    """Actions that wait for a decision, oldest first: of one requester, and in one thread, where those are given."""
    waiting = select(actions).where(PREPARED, actions.c.team == team, actions.c.expires_at > now)
    if user is not None:
        waiting = waiting.where(actions.c.requester == user)
    if session is not None:
        waiting = waiting.where(actions.c.session == session)
    return waiting.order_by(actions.c.created_at, actions.c.id)


def held_actions(team: str, user: str) -> Select[Any]:
    """Actions of a requester that have run and whose results wait for a review."""
    return select(actions).where(HELD, actions.c.team == team, actions.c.requester == user)


def open_questions(now: ColumnElement[Any], of: ColumnElement[bool]) -> Select[Any]:
    """What servers ask in the middle of calls, of those of which that holds."""
    columns = server_questions.c
    awaited = (OPEN_QUESTION, columns.due > now, columns.until > now, of)
    return select(server_questions).where(*awaited).order_by(columns.created_at)


async def listed_tasks(
    ask: Callable[..., Awaitable[list[Sequence[Row[Any]]]]], ids: Sequence[Row[Any]], seals: RowMacs
) -> tuple[tuple[Task, datetime | None], ...]:
    """The tasks with these ids, to be listed: without the results of their steps, each with when the sweep looks at
    it. One row at a time: earlier versions wrote such of 13 MB, and a person may have a hundred."""
    found = list[tuple[Task, datetime | None]]()
    for one in ids:
        for row in (await ask(TASK, of=one.id))[0]:
            task = await to_listed_task(row, seals)
            found += [(task, row.due)] if task else []
    return tuple(found)
