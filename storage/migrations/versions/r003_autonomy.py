"""Grants, what each thread has read from outside, and how calls of a tool went before."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r003"
down_revision = "r002"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
STANDING = sa.text("revoked_at IS NULL")
SUCCEEDED = sa.text("state = 'succeeded'")


def upgrade() -> None:
    op.add_column("actions", sa.Column("grant", WORDS, nullable=False, server_default=""))
    _index("actions", "ix_actions_history", ["team", "server", "tool", "definition"], SUCCEEDED)
    op.create_table(
        "grants",
        *_columns("id session team user server tool", WORDS),
        *_columns("patterns", sa.Text()),
        *_columns("definition", WORDS),
        *_columns("given_at until", TIME),
        sa.Column("revoked_at", TIME),
        *_columns("revoked_by", WORDS),
        sa.PrimaryKeyConstraint("id", name="pk_grants"),
    )
    _index("grants", "ix_grants_session", ["session", "until"], STANDING)
    _index("grants", "ix_grants_user", ["team", "user", "until"], STANDING)
    op.create_table(
        "taints",
        *_columns("session tool", WORDS),
        *_columns("at", TIME),
        sa.PrimaryKeyConstraint("session", "tool", name="pk_taints"),
    )


def downgrade() -> None:
    raise NotImplementedError("grants are part of the record: nothing takes them away")


def _columns(names: str, kind: Any) -> list[Any]:
    return [sa.Column(name, kind, nullable=False) for name in names.split()]


def _index(table: str, name: str, columns: list[str], where: Any) -> None:
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
