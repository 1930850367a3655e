"""Who has said something about calls and tasks, read without the rest of their rows, which may be large."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from sqlalchemy import Row, bindparam, case, func, or_, select, union_all

from gate.rules import advisers
from gate.rules.server_questions import QuestionState, is_typed
from gate.rules.task import Input
from storage.api_tables import made, tokens
from storage.columns import unpacked
from storage.question_tables import server_questions
from storage.review_tables import reviews
from storage.rows import loaded
from storage.tables import actions
from storage.task_tables import tasks

LATEST = 50  # calls of a token, and tasks of it, in which it is looked up
TAIL = 20_000  # characters at the end of a plan, where its advisers stand
ADVISED = '"advised_by":'

_OF: Any = bindparam("of")
_ASKED = server_questions.c
_ACTION = (actions.c.id, actions.c.resolution, actions.c.result_review)
_LENGTH = func.length(tasks.c.plan)
# A start before the first character is another place on each database.
_END = func.substr(tasks.c.plan, case((_LENGTH > TAIL, _LENGTH - TAIL), else_=1)).label("end")
_TASK = (tasks.c.id, tasks.c.instructions, tasks.c.remarks, tasks.c.heard, _END)


def _about(of_actions: Any, of_tasks: Any) -> tuple[Any, Any, Any, Any]:
    """The questions for what was said in these calls and tasks, with a yes or a no to what was reviewed of them, and to
    servers that asked for it in these calls, or in steps of these tasks."""
    calls, whole = ids = [
        select(one.with_only_columns(one.selected_columns.id).subquery().c.id)
        for one in (of_actions, of_tasks)
    ]
    said = select(reviews.c.reviewer_id).where(
        reviews.c.comment != "", reviews.c.execution_id.in_(union_all(*ids))
    )
    typed = select(_ASKED.actor, _ASKED.schema).where(
        _ASKED.state == QuestionState.ANSWERED, or_(_ASKED.action.in_(calls), _ASKED.task.in_(whole))
    )
    return of_actions, of_tasks, said, typed


# Of the calls of some turns, and of some tasks.
IN_THREAD = _about(
    select(*_ACTION).where(actions.c.turn.in_(bindparam("turns", expanding=True))),
    select(*_TASK).where(tasks.c.id.in_(bindparam("tasks", expanding=True))),
)
# The token that has this id, or has opened the task with it. What a person's token proposes may come of a model, too.
_OPENED_BY = select(made.c.token).where(made.c.id == _OF).scalar_subquery()
TOKEN = select(tokens.c.id).where(or_(tokens.c.id == _OF, tokens.c.id == _OPENED_BY))
_MINE = select(made.c.id).where(made.c.token == bindparam("token"))


def _latest(columns: Any, table: Any, mine: Any) -> Any:
    own = (table.c.team == bindparam("team"), table.c.requester == bindparam("requester"), mine)
    return select(*columns).where(*own).order_by(table.c.created_at.desc(), table.c.id.desc()).limit(LATEST)


# Of what a token proposed last, the steps of its tasks included, and of the tasks that it opened last.
TO_TOKEN = _about(
    _latest(_ACTION, actions, or_(actions.c.id.in_(_MINE), actions.c.task.in_(_MINE))),
    _latest(_TASK, tasks, tasks.c.id.in_(_MINE)),
)


def in_rows(
    of_actions: Iterable[Row[Any]],
    of_tasks: Iterable[Row[Any]],
    of_reviews: Iterable[Row[Any]],
    of_questions: Iterable[Row[Any]],
) -> frozenset[str]:
    """Who has said something in these calls and tasks."""
    told = [advisers.of_action(unpacked(row.resolution), unpacked(row.result_review)) for row in of_actions]
    for row in of_tasks:
        told.append(advisers.of_words(loaded(Input, row), _advised_by(row.end)))
    told.append(frozenset(row.actor for row in of_questions if is_typed(unpacked(row.schema))))
    return frozenset(row.reviewer_id for row in of_reviews).union(*told)


def _advised_by(end: str) -> tuple[str, ...]:
    """The last field of a plan, by the end of its text: to read a large plan takes long. A field of this name that
    arguments have stands before it, and more than the end of the plan behind that."""
    at = end.rfind(ADVISED)
    if at < 0:
        return ()  # there is no plan, or an earlier version wrote it
    people, after = json.JSONDecoder().raw_decode(end, at + len(ADVISED))
    return tuple(people) if end[after:] == "}" else ()
