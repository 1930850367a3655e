"""The table of questions that servers ask in the middle of a call. Dataclass fields keep their names."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Boolean, Column, Index, Integer, Table, literal_column

from gate.rules.action import Json
from gate.rules.server_questions import QuestionState
from storage.columns import Choice, Packed, SessionKey, Time, Words
from storage.schema import metadata, partial, text

server_questions = Table(
    "server_questions",
    metadata,
    Column("id", Words, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("state", Choice(QuestionState), nullable=False),
    Column("session", SessionKey, nullable=False),
    text("requester"),
    text("server"),
    text("tool"),
    text("action"),
    text("task"),
    text("about"),
    Column("is_read", Boolean, nullable=False),
    Column("private", Boolean, nullable=False),
    text("message"),
    Column("schema", Packed(Mapping[str, Json]), nullable=False),
    Column("created_at", Time, nullable=False),
    Column("until", Time, nullable=False),
    text("actor"),
    text("reason"),
    text("answer"),  # encrypted; "" once the call has taken it
    # When nobody waits for the answer any more, unless its call says so again.
    Column("due", Time, nullable=False),
    text("mac"),
)
Index("ix_server_questions_action", server_questions.c.action)
Index("ix_server_questions_task", server_questions.c.task)
OPEN_QUESTION = server_questions.c.state == literal_column("'waiting'")
# Who has answered one is kept with the call: alone, they confirm nothing that may have come of it.
CLOSED_UNANSWERED = ~OPEN_QUESTION & (server_questions.c.state != QuestionState.ANSWERED)
partial("ix_server_questions_due", OPEN_QUESTION, server_questions.c.due)
