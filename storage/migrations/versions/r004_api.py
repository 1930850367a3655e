"""The API: tokens, what each has proposed, answers to repeated requests, webhooks, and indexes for pages."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r004"
down_revision = "r003"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
JSON = sa.Text()


def upgrade() -> None:
    op.create_table(
        "api_tokens",
        *_columns("id kind name team user digest", WORDS),
        *_columns("channels", JSON),
        *_columns("created_at expires_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_api_tokens"),
    )
    op.create_table(
        "api_made",
        *_columns("id token", WORDS),
        *_columns("at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_api_made"),
    )
    op.create_index("ix_api_made_token", "api_made", ["token", "at", "id"])
    op.create_table(
        "api_answers",
        *_columns("token key digest holder body", WORDS),
        *_columns("status", sa.Integer()),
        *_columns("at", TIME),
        sa.PrimaryKeyConstraint("token", "key", name="pk_api_answers"),
    )
    op.create_index("ix_api_answers_at", "api_answers", ["at"])
    op.create_table(
        "webhooks",
        *_columns("id url secret former team problem", WORDS),
        *_columns("channels kinds", JSON),
        *_columns("seq", sa.BigInteger()),
        *_columns("created_at", TIME),
        sa.Column("disabled_at", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_webhooks"),
    )
    for table in ("actions", "tasks"):
        op.create_index(f"ix_{table}_requester", table, ["team", "requester", "created_at", "id"])
    waits = sa.text("state = 'prepared'")
    for name, columns in (("user", ["team", "requester"]), ("session", ["session"])):
        index = f"ix_actions_pending_{name}"
        op.drop_index(index, "actions")
        columns += ["created_at", "id"]
        op.create_index(index, "actions", columns, sqlite_where=waits, postgresql_where=waits)


def downgrade() -> None:
    raise NotImplementedError("who proposed what is part of the record: nothing takes it away")


def _columns(names: str, kind: Any) -> list[Any]:
    return [sa.Column(name, kind, nullable=False) for name in names.split()]
