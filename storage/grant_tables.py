"""The tables of grants and of what each thread has read. Dataclass fields keep their names."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, PrimaryKeyConstraint, Table

from gate.rules.grants import Pattern
from storage.columns import Packed, SessionKey, Time, Words
from storage.schema import metadata, partial, text

grants = Table(
    "grants",
    metadata,
    Column("id", Words, primary_key=True),
    Column("session", SessionKey, nullable=False),
    text("team"),
    text("user"),
    text("server"),
    text("tool"),
    Column("patterns", Packed(tuple[Pattern, ...]), nullable=False),
    text("definition"),
    Column("given_at", Time, nullable=False),
    Column("until", Time, nullable=False),
    Column("revoked_at", Time),
    text("revoked_by"),
    text("mac"),
)
STANDING = grants.c.revoked_at.is_(None)
partial("ix_grants_session", STANDING, grants.c.session, grants.c.until)
partial("ix_grants_user", STANDING, grants.c.team, grants.c.user, grants.c.until)

taints = Table(
    "taints",
    metadata,
    Column("session", SessionKey, nullable=False),
    text("tool"),
    Column("at", Time, nullable=False),  # the last time
    Column("outside", Boolean, nullable=False),  # whether it came from outside of the workspace
    PrimaryKeyConstraint("session", "tool"),
)
