"""The tables of the API: tokens, what each has proposed, the answers kept for repeated requests, webhooks."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, PrimaryKeyConstraint, Table

from gate.rules.access import TokenKind
from storage.columns import Choice, Packed, Time, Words
from storage.schema import metadata, text

tokens = Table(
    "api_tokens",
    metadata,
    Column("id", Words, primary_key=True),
    Column("kind", Choice(TokenKind), nullable=False),
    text("name"),
    text("team"),
    text("user"),
    Column("channels", Packed(tuple[str, ...]), nullable=False),
    text("digest"),
    Column("created_at", Time, nullable=False),
    Column("expires_at", Time, nullable=False),
    Column("revoked_at", Time),
    text("mac"),
)

made = Table(  # which token proposed an action or a task
    "api_made",
    metadata,
    Column("id", Words, primary_key=True),
    text("token"),
    Column("at", Time, nullable=False),
)
Index("ix_api_made_token", made.c.token, made.c.at, made.c.id)

answers = Table(  # to requests with an Idempotency-Key; status 0 while the first is under way
    "api_answers",
    metadata,
    text("token"),
    text("key"),
    text("digest"),
    text("holder"),
    Column("status", Integer, nullable=False),
    text("body"),
    Column("at", Time, nullable=False),
    PrimaryKeyConstraint("token", "key"),
)
Index("ix_api_answers_at", answers.c.at)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Words, primary_key=True),
    text("url"),
    text("secret"),  # encrypted, as is the next (storage/row_macs.py)
    text("former"),  # the secret before the last rotation: receivers may still know only that
    text("team"),
    Column("channels", Packed(tuple[str, ...]), nullable=False),
    Column("kinds", Packed(tuple[str, ...]), nullable=False),
    Column("seq", BigInteger, nullable=False),  # of the last event that deliveries were asked for
    Column("created_at", Time, nullable=False),
    Column("disabled_at", Time),
    text("problem"),  # of the last delivery; "" when it went through
    text("token"),  # that it was made with over HTTP; "" for the operator's own
)
