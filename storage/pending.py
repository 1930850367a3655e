"""What waits for somebody, as SQL: the statements behind /pending, App Home and the lists of a thread."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Select, bindparam, select

from gate.rules.action import Session
from gate.rules.task_states import TaskState
from storage.question_tables import OPEN_QUESTION, server_questions
from storage.review_tables import HELD
from storage.tables import PREPARED, actions
from storage.task_tables import tasks

_ASKING = (TaskState.TALKING, TaskState.CLARIFYING, TaskState.PLAN_REVIEW, TaskState.PAUSED)
# Tasks of a person that ask something
ASKING = (
    select(tasks)
    .where(
        tasks.c.team == bindparam("team"),
        tasks.c.requester == bindparam("requester"),
        tasks.c.state.in_(_ASKING),
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


def open_questions(now: ColumnElement[Any], user: str) -> Select[Any]:
    """What servers ask a person in the middle of a call."""
    columns = server_questions.c
    awaited = (OPEN_QUESTION, columns.due > now, columns.until > now, columns.requester == user)
    return select(server_questions).where(*awaited).order_by(columns.created_at)
