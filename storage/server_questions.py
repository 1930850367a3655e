"""Questions of servers in SQL: each change guarded, each row with its MAC, answers encrypted until they are taken."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol, Unpack

from sqlalchemy import CursorResult, Row, select, update

from gate.rules.action import Session
from gate.rules.question_ports import QuestionParts, StaleQuestion
from gate.rules.server_questions import ARROWS, QuestionEvent, ServerQuestion
from storage.columns import clock
from storage.pending import open_questions
from storage.question_tables import OPEN_QUESTION, server_questions
from storage.row_macs import RowMacs
from storage.rows import loaded, plain

LIFE = timedelta(seconds=30)  # for which a call waits unless it says so again
COLUMNS = server_questions.c


class Executing(Protocol):
    """What is needed of a transaction."""

    async def execute(self, statement: Any, values: Any = None) -> CursorResult[Any]: ...


def to_question(row: Row[Any] | None, seals: RowMacs) -> ServerQuestion | None:
    """The question of a row that is as it was written; None of any other."""
    if row is None or not seals.holds(server_questions, row):
        return None
    return loaded(ServerQuestion, row)


def _place(question_id: str) -> tuple[str, str]:
    """What an encrypted answer belongs to."""
    return ("server question", question_id)


class QuestionsTx:
    """gate.rules.question_ports.QuestionsTx. `offset` is added to the database's clock."""

    def __init__(self, tx: Executing, offset: timedelta, seals: RowMacs) -> None:
        self._tx, self._offset, self._seals = tx, offset, seals

    async def open(self, question: ServerQuestion) -> None:
        row = self._seals.sealed(server_questions, plain(question))
        due = clock(self._offset + LIFE)
        await self._tx.execute(server_questions.insert().values({**row, "due": due}))

    async def question(self, question_id: str) -> ServerQuestion | None:
        found = select(server_questions).where(COLUMNS.id == question_id).with_for_update()  # no-op on SQLite
        return to_question((await self._tx.execute(found)).first(), self._seals)

    async def move(
        self, question: ServerQuestion, event: QuestionEvent, **changes: Unpack[QuestionParts]
    ) -> ServerQuestion:
        state = ARROWS.get((question.state, event))
        if state is None:
            raise StaleQuestion
        closed = self._seals.closed(changes.get("answer", ""), _place(question.id))
        now = replace(
            question,
            version=question.version + 1,
            state=state,
            actor=changes.get("actor", ""),
            reason=changes.get("reason", ""),
            answer=closed,
        )
        decided = event is not QuestionEvent.EXPIRE
        await self._replace(question, now, *(self._awaited() if decided else ()))
        return now

    async def beat(self, question: ServerQuestion) -> None:
        still = update(server_questions).where(COLUMNS.id == question.id, OPEN_QUESTION)
        await self._tx.execute(still.values(due=clock(self._offset + LIFE)))

    async def take(self, question: ServerQuestion) -> str:
        text = self._seals.opened(question.answer, _place(question.id))
        await self._replace(question, replace(question, answer=""))
        return text

    def _awaited(self) -> tuple[Any, ...]:
        now = select(clock(self._offset)).scalar_subquery()
        return COLUMNS.due > now, COLUMNS.until > now

    async def _replace(self, before: ServerQuestion, now: ServerQuestion, *conditions: Any) -> None:
        as_read = (
            COLUMNS.id == before.id,
            COLUMNS.version == before.version,
            COLUMNS.state == before.state,
            COLUMNS.answer == before.answer,
        )
        changed = update(server_questions).where(*as_read, *conditions)
        row = self._seals.sealed(server_questions, plain(now))
        if (await self._tx.execute(changed.values(row).returning(COLUMNS.id))).first() is None:
            raise StaleQuestion


class Questions:
    """gate.rules.question_ports.Questions. `ask` answers questions, each with its rows; `offset` is added to the
    clock."""

    def __init__(
        self,
        ask: Callable[..., Awaitable[list[Sequence[Row[Any]]]]],
        offset: Callable[[], timedelta],
        seals: RowMacs,
    ) -> None:
        self._ask, self._offset, self._seals = ask, offset, seals

    async def question(self, question_id: str) -> ServerQuestion | None:
        (rows,) = await self._ask(select(server_questions).where(COLUMNS.id == question_id))
        return to_question(rows[0] if rows else None, self._seals)

    async def waiting(self, team: str, user: str) -> tuple[ServerQuestion, ...]:
        now = select(clock(self._offset())).scalar_subquery()
        (rows,) = await self._ask(open_questions(now, COLUMNS.requester == user))
        found = (to_question(row, self._seals) for row in rows)
        return tuple(one for one in found if one is not None and one.session.team == team)

    async def waits_in(self, session: Session) -> bool:
        now = select(clock(self._offset())).scalar_subquery()
        (rows,) = await self._ask(open_questions(now, COLUMNS.session == session))
        return bool(rows)

    async def overdue(self, limit: int = 100) -> tuple[str, ...]:
        now = select(clock(self._offset())).scalar_subquery()
        late = (COLUMNS.due <= now) | (COLUMNS.until <= now)
        found = select(server_questions).where(OPEN_QUESTION, late).order_by(COLUMNS.due).limit(limit)
        (rows,) = await self._ask(found)
        return tuple(row.id for row in rows if self._seals.holds(server_questions, row))
