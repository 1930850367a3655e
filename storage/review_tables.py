"""The table of reviews, with the columns of docs/promises.md REVIEW-25. Nothing in it is changed or deleted."""

from __future__ import annotations

from sqlalchemy import Column, Index, Table, literal_column

from gate.rules.action import Json
from gate.rules.reviews import Phase, ReviewDecision
from storage.columns import Choice, Packed, SessionKey, Time
from storage.schema import Counted, metadata, partial, text
from storage.tables import actions
from storage.task_tables import tasks

reviews = Table(
    "reviews",
    metadata,
    Column("id", Counted, primary_key=True),
    text("execution_id"),
    text("node_id"),
    text("reviewer_id"),
    Column("decision", Choice(ReviewDecision), nullable=False),
    Column("trigger_phase", Choice(Phase), nullable=False),
    Column("original_data", Packed(Json), nullable=False),
    Column("modified_data", Packed(Json), nullable=False),
    text("comment"),
    Column("reviewed_at", Time, nullable=False),
    Column("session", SessionKey, nullable=False),
    text("team"),  # of the session
    sqlite_autoincrement=True,
)
Index("ix_reviews_execution", reviews.c.execution_id, reviews.c.node_id)
Index("ix_reviews_reviewer", reviews.c.reviewer_id)

UNREVIEWED = actions.c.state == literal_column("'prepared'")
WAITS = actions.c.review != literal_column("''")
partial("ix_actions_review", UNREVIEWED & WAITS, actions.c.team)
HELD = actions.c.held != literal_column("''")
partial("ix_actions_held", HELD, actions.c.team)
IN_REVIEW = (tasks.c.state == literal_column("'paused'")) & (tasks.c.why == literal_column("'review'"))
partial("ix_tasks_review", IN_REVIEW, tasks.c.team)
