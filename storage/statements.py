"""The questions that are asked all the time, built once: to build one anew costs more than SQLite takes to answer it.

Each is executed with its values by name.
"""

from __future__ import annotations

from datetime import timedelta
from functools import cache
from typing import Any

from sqlalchemy import Table, and_, bindparam, case, exists, func, literal, or_, select, union_all, update

from gate.rules.access import TokenKind
from gate.rules.task_states import OVER, TaskState
from storage.api_tables import made, tokens
from storage.columns import clock
from storage.review_tables import HELD
from storage.rows import insert
from storage.tables import PREPARED, actions, exchanges, inbox, turns, votes
from storage.task_tables import ASKS, HOLDS, tasks

ID: Any = bindparam("of")
SESSION: Any = bindparam("session")
COUNT: Any = bindparam("count")

ACTION = select(actions).where(actions.c.id == ID)
TASK = select(tasks).where(tasks.c.id == ID)


@cache
def locked(table: Table, offset: timedelta) -> Any:
    """The row with an id, locked until the end of the transaction, and the database's clock once it is (`locked_at`).
    SQLite locks by the transaction itself."""
    row = select(table).where(table.c.id == ID).with_for_update().subquery()
    return select(row, clock(offset).label("locked_at"))


@cache
def locked_task(offset: timedelta) -> Any:
    """The same of a task, and the API token that opened it (`token`)."""
    return locked(tasks, offset).add_columns(TOKEN_OF_TASK.scalar_subquery().label("token"))


@cache
def count_waiting(offset: timedelta) -> Any:
    """How many actions of a person wait, for a decision or with a result that is to be reviewed."""
    prepared, held = _waiting(offset)
    return select(prepared.scalar_subquery() + held.scalar_subquery())


def _waiting(offset: timedelta) -> tuple[Any, Any]:
    """Two counts: each has an index of its own, which a condition with OR would not go by."""
    own = (actions.c.team == bindparam("team"), actions.c.requester == bindparam("requester"))
    now = select(clock(offset)).scalar_subquery()
    counted = select(func.count()).select_from(actions).where(*own)
    return counted.where(PREPARED, actions.c.expires_at > now), counted.where(HELD)


def _by_agents(*ids: Any) -> Any:
    """Whether an agent's token proposed what has one of these ids."""
    whose = select(made.c.id).join(tokens, tokens.c.id == made.c.token)
    return whose.where(made.c.id.in_(ids), tokens.c.kind == TokenKind.AGENT).exists()


@cache
def count_waiting_of_agents(offset: timedelta) -> Any:
    """How many actions of a person wait that agents' tokens proposed; 0 for who asks without one."""
    asks = select(tokens.c.id).where(tokens.c.id == bindparam("token"), tokens.c.kind == TokenKind.AGENT)
    asked_again = (
        select(turns.c.task).where(turns.c.id == actions.c.turn).correlate(actions).scalar_subquery()
    )
    proposed = (_by_agents(actions.c.id, actions.c.task, asked_again), asks.exists())
    prepared, held = (one.where(*proposed) for one in _waiting(offset))
    return select(prepared.scalar_subquery() + held.scalar_subquery())


# What the planner was told of the calls of a reply.
REPORTS = (
    update(exchanges)
    .where(exchanges.c.turn == ID, exchanges.c.index == bindparam("place"))
    .values(reports=bindparam("told", type_=exchanges.c.reports.type))
)
_KNOWN = select(actions.c.id).where(actions.c.id == ID).exists().label("known")


@cache
def before_action(offset: timedelta) -> Any:
    """Whether an action is there, and how many of a person wait, in one row."""
    return select(_KNOWN, count_waiting(offset).scalar_subquery().label("waiting"))


OF_TURN = (
    select(actions).where(actions.c.turn == ID).order_by(actions.c.call, actions.c.created_at, actions.c.id)
)
# The votes on one version, in the order in which they came.
VOTES = (
    select(votes)
    .where(votes.c.action == ID, votes.c.version == bindparam("version"))
    .order_by(votes.c.at, votes.c.person)
)
# An action with the votes on its version, for storage.rows.to_voted.
VOTED = (
    select(actions, votes)
    .join_from(
        actions,
        votes,
        and_(votes.c.action == actions.c.id, votes.c.version == actions.c.version),
        isouter=True,
    )
    .where(actions.c.id == ID)
    .order_by(votes.c.at, votes.c.person)
)
# A turn with its exchanges, for storage.rows.to_joined_turn.
TURN = (
    select(turns, exchanges)
    .join_from(turns, exchanges, exchanges.c.turn == turns.c.id, isouter=True)
    .where(turns.c.id == ID)
    .order_by(exchanges.c.index)
)
_NEWEST_FIRST = (tasks.c.created_at.desc(), tasks.c.id.desc())
_OF_SESSION = select(tasks.c.id).where(tasks.c.session == SESSION).order_by(*_NEWEST_FIRST).limit(COUNT)
_WORKED_ON = tasks.c.state.in_(frozenset(TaskState) - OVER - {TaskState.SATISFACTION})
_OWN = _OF_SESSION.where(tasks.c.requester == bindparam("requester"), _WORKED_ON)
_LOOKED_AT = (
    select(_OF_SESSION.subquery().c.id),
    select(_OWN.subquery().c.id),
    select(tasks.c.id).where(tasks.c.session == SESSION, HOLDS),
)
# The newest tasks of a thread, and however many came after them the one that holds it and those of a person that are
# not over.
TASKS_OF = select(tasks).where(tasks.c.id.in_(union_all(*_LOOKED_AT))).order_by(*_NEWEST_FIRST)
HISTORY = (
    select(turns)
    .where(turns.c.session == SESSION, turns.c.at >= bindparam("since"), turns.c.id != bindparam("but"))
    .order_by(turns.c.at.desc(), turns.c.id.desc())
    .limit(COUNT)
)
UNREAD = select(inbox.c.key).where(inbox.c.session == SESSION, inbox.c.done_at.is_(None)).limit(1)
# The same as `unless_there(inbox)`, where fewer than `most` messages of the author wait.
_FIELDS = [column for column in inbox.columns if column.name not in ("held_until", "done_at")]
_UNREAD_BY = (
    select(func.count())
    .select_from(inbox)
    .where(inbox.c.user == bindparam("user"), inbox.c.done_at.is_(None))
    .scalar_subquery()
)


@cache
def unless_crowded(dialect: str) -> Any:
    """Put a message into the inbox, and say so where it was put."""
    given = select(*(bindparam(column.name, type_=column.type) for column in _FIELDS))
    put = insert(inbox, dialect).from_select(_FIELDS, given.where(bindparam("most") > _UNREAD_BY))
    return put.on_conflict_do_nothing().returning(inbox.c.key)


@cache
def reserve_after(offset: timedelta, held: timedelta) -> Any:
    """Be done with one message (`done`), and reserve the oldest other one of its session for a reader, unless another
    reader holds one there; the rows of both."""
    is_done, reader = inbox.c.key == bindparam("done"), bindparam("by", type_=inbox.c.reader.type)
    waiting = (inbox.c.session == bindparam("of_session"), inbox.c.done_at.is_(None), ~is_done)
    oldest = select(inbox.c.key).where(*waiting).order_by(inbox.c.ts, inbox.c.key).limit(1).scalar_subquery()
    other = select(inbox.c.key).where(*waiting, inbox.c.reader != reader, inbox.c.held_until > clock(offset))
    free = and_(inbox.c.key == oldest, ~other.exists())
    changes = {
        "done_at": case((is_done, clock(offset)), else_=inbox.c.done_at),
        "reader": case((is_done, inbox.c.reader), else_=reader),
        "held_until": case((is_done, inbox.c.held_until), else_=clock(offset + held)),
    }
    ended = and_(is_done, inbox.c.done_at.is_(None))
    return update(inbox).where(or_(ended, free)).values(changes).returning(inbox)


UNDER_WAY = (TaskState.CLARIFYING, TaskState.PLANNING, TaskState.RUNNING)
_OWN = (
    select(func.count())
    .select_from(tasks)
    .where(tasks.c.team == bindparam("team"), tasks.c.requester == bindparam("requester"))
)
_UNDER_WAY = _OWN.where(tasks.c.created_at > bindparam("from_"), tasks.c.state.in_(UNDER_WAY))
# Tasks of a person that ask something, which they do for as long as nobody answers
_STANDING = _OWN.where(ASKS)
_OPENING = (
    select(tasks.c.since)
    .where(tasks.c.session == SESSION)
    .order_by(tasks.c.created_at.desc(), tasks.c.id.desc())
    .limit(1)
    .scalar_subquery()
    .label("since"),
    _UNDER_WAY.scalar_subquery().label("under_way"),
    _UNDER_WAY.where(_by_agents(tasks.c.id)).scalar_subquery().label("of_agents"),
    _STANDING.scalar_subquery().label("standing"),
    _STANDING.where(_by_agents(tasks.c.id)).scalar_subquery().label("standing_of_agents"),
)


@cache
def opening(offset: timedelta) -> Any:
    """What a new task of a person in a thread has to know, in one row."""
    return select(*_OPENING, clock(offset).label("now"))


@cache
def due(offset: timedelta, within: timedelta) -> Any:
    """What the sweep has to look at by then, the earliest `count` of each kind; and the database's clock."""
    horizon = select(
        clock(offset + within)
    ).scalar_subquery()  # asked once, so that an index can be searched with it

    def late(table: Table, kind: str) -> Any:
        columns = (literal(kind).label("kind"), table.c.id, table.c.revision, table.c.due)
        rows = select(*columns, clock(offset).label("now")).where(
            table.c.due.is_not(None), table.c.due <= horizon
        )
        return select(rows.order_by(table.c.due).limit(COUNT).subquery())

    return union_all(late(actions, "action"), late(tasks, "task"))


# Who began a thread: with a task, or before there were any.
FIRST_TASK = (
    select(tasks.c.id, tasks.c.requester)
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
# The next rows that say which token proposed something, and whether that is there.
MAKERS = (
    select(
        made.c.id,
        made.c.at,
        or_(
            exists().where(actions.c.id == made.c.id),
            exists().where(tasks.c.id == made.c.id),
        ).label("stored"),
    )
    .where(made.c.id > ID)
    .order_by(made.c.id)
    .limit(COUNT)
)


@cache
def unless_there(table: Table, dialect: str) -> Any:
    """Insert a row, and say so when there was none with its key."""
    return insert(table, dialect).on_conflict_do_nothing().returning(*table.primary_key.columns)


# What a change of an action or a task has to find as it was read.
GUARDED = {"actions": ("id", "version", "revision", "state"), "tasks": ("id", "revision", "state")}


@cache
def guarded(table: Table, offset: timedelta) -> Any:
    """Replace a row that stands as it did, and say when by the database's clock (`locked_at`). Its values are given by
    name, those before as `was_`."""
    names = GUARDED[table.name]
    was = [table.c[name] == bindparam(f"was_{name}", type_=table.c[name].type) for name in names]
    return update(table).where(*was).returning(clock(offset).label("locked_at"))
