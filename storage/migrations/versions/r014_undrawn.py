"""An index of the cards that wait to be drawn, for the sweep that looks for those whose run was lost."""

import sqlalchemy as sa
from alembic import op

revision = "r014"
down_revision = "r013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    undrawn = sa.text("asked > begun")
    op.create_index(
        "ix_posted_undrawn", "posted", ["asked_at"], sqlite_where=undrawn, postgresql_where=undrawn
    )


def downgrade() -> None:
    op.drop_index("ix_posted_undrawn", "posted")
