"""The ledger's ports for questions of servers."""

from __future__ import annotations

from typing import Protocol, TypedDict, Unpack

from gate.rules.action import Session
from gate.rules.server_questions import QuestionEvent, ServerQuestion


class StaleQuestion(Exception):
    """The guarded write matched nothing: it was answered already, or nobody waits for the answer any more."""


class QuestionParts(TypedDict, total=False):
    """What an arrow may change of a question."""

    actor: str
    reason: str
    answer: str


class QuestionsTx(Protocol):
    """In a transaction."""

    async def open(self, question: ServerQuestion) -> None:
        """Insert a new question."""

    async def question(self, question_id: str) -> ServerQuestion | None:
        """The question as it was written, its row locked; None where there is none, or it was changed."""

    async def move(
        self, question: ServerQuestion, event: QuestionEvent, **changes: Unpack[QuestionParts]
    ) -> ServerQuestion:
        """Follow an arrow: guarded by id, version and state; version + 1. ANSWER and DECLINE need its time to lie ahead
        and its call to wait for it, by the database's clock. Raises StaleQuestion."""
        ...

    async def beat(self, question: ServerQuestion) -> None:
        """Its call still waits for the answer."""

    async def take(self, question: ServerQuestion) -> str:
        """The answer, as JSON, which is erased. Raises StaleQuestion."""
        ...


class Questions(Protocol):
    """Raises Unavailable, like the ledger."""

    async def question(self, question_id: str) -> ServerQuestion | None:
        """The question as it was written; None where there is none, or it was changed."""

    async def waiting(self, team: str, user: str) -> tuple[ServerQuestion, ...]:
        """What servers ask in calls that this person has asked for."""
        ...

    async def waits_in(self, session: Session) -> bool:
        """Whether a server asks something in this thread, whoever may answer."""
        ...

    async def overdue(self, limit: int = 100) -> tuple[str, ...]:
        """The ids of questions that wait although their time is over, or nobody waits for their answer any more."""
        ...
