"""A MAC for every row that decides about a run, and the format of each audit entry.

The key is no business of a migration: rows that are there get their MACs at the next start (storage/reseal.py)."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r010"
down_revision = "r009"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
SEALED = "actions tasks votes grants inbox turns exchanges tool_pins people api_tokens"
DECISIVE = sa.text("event IN ('confirmed', 'started')")


def upgrade() -> None:
    for table in SEALED.split():
        op.add_column(table, sa.Column("mac", WORDS, nullable=False, server_default=""))
    op.add_column("audit_log", sa.Column("format", sa.Integer(), nullable=False, server_default="1"))
    op.create_index(
        "ix_audit_log_action", "audit_log", ["action_id"], sqlite_where=DECISIVE, postgresql_where=DECISIVE
    )


def downgrade() -> None:
    raise NotImplementedError(
        "without their MACs, rows that were changed would pass as those that were written"
    )
