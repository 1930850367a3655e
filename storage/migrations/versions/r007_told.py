"""Who came through the API: the token of an audit entry, and of a webhook that was made over HTTP."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r007"
down_revision = "r006"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    for table in ("audit_log", "webhooks"):
        op.add_column(table, sa.Column("token", WORDS, nullable=False, server_default=""))


def downgrade() -> None:
    raise NotImplementedError("who came through the API is part of the record: nothing takes it away")
