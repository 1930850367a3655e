"""Which key the audit log goes on with, so that no process chains an entry with one that was rotated.

Whoever appends the next entry notes the key that it has."""

import sqlalchemy as sa
from alembic import op

revision = "r022"
down_revision = "r021"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("audit_head", sa.Column("key", WORDS, nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("audit_head", "key")
