"""The questions that are asked all the time, built once: to build one anew costs more than SQLite takes to answer it.

Each is executed with its values by name.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import Table, bindparam, select

from storage.api_tables import made
from storage.rows import insert
from storage.tables import actions, exchanges, inbox, posted, turns, votes
from storage.task_tables import tasks

ID: Any = bindparam("of")
SESSION: Any = bindparam("session")
COUNT: Any = bindparam("count")

ACTION = select(actions).where(actions.c.id == ID)
TASK = select(tasks).where(tasks.c.id == ID)
LOCKED_ACTION, LOCKED_TASK = ACTION.with_for_update(), TASK.with_for_update()  # which does nothing on SQLite
OF_TURN = (
    select(actions).where(actions.c.turn == ID).order_by(actions.c.call, actions.c.created_at, actions.c.id)
)
# The votes on one version, in the order in which they came.
VOTES = (
    select(votes)
    .where(votes.c.action == ID, votes.c.version == bindparam("version"))
    .order_by(votes.c.at, votes.c.person)
)
# A turn and its exchanges.
TURN = select(turns).where(turns.c.id == ID)
EXCHANGES = select(exchanges).where(exchanges.c.turn == ID).order_by(exchanges.c.index)
POSTED = select(*(column for column in posted.c if column.name != "key")).where(posted.c.key == ID)
TASKS_OF = (
    select(tasks)
    .where(tasks.c.session == SESSION)
    .order_by(tasks.c.created_at.desc(), tasks.c.id.desc())
    .limit(COUNT)
)
HISTORY = (
    select(turns)
    .where(turns.c.session == SESSION, turns.c.at >= bindparam("since"))
    .order_by(turns.c.at.desc(), turns.c.id.desc())
    .limit(COUNT)
)
UNREAD = select(inbox.c.key).where(inbox.c.session == SESSION, inbox.c.done_at.is_(None)).limit(1)
# Who began a thread: with a task, or before there were any.
FIRST_TASK = (
    select(tasks.c.requester)
    .where(tasks.c.session == SESSION)
    .order_by(tasks.c.created_at, tasks.c.id)
    .limit(1)
)
FIRST_TURN = (
    select(turns.c.requester).where(turns.c.session == SESSION).order_by(turns.c.at, turns.c.id).limit(1)
)
# Which API token opened a task; and the task of a turn.
TOKEN_OF_TASK = select(made.c.token).where(made.c.id == ID)
TOKEN_OF_TURN = select(made.c.token).where(
    made.c.id == select(turns.c.task).where(turns.c.id == ID).scalar_subquery()
)


@cache
def unless_there(table: Table, dialect: str) -> Any:
    """Insert a row, and say so when there was none with its key."""
    return insert(table, dialect).on_conflict_do_nothing().returning(*table.primary_key.columns)
