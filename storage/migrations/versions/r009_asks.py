"""Which tasks come from a reply or from feedback: no grant covers their calls."""

import sqlalchemy as sa
from alembic import op

revision = "r009"
down_revision = "r008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Of what is under way nobody knows where it came from, so it asks.
    op.add_column("tasks", sa.Column("asks", sa.Boolean(), nullable=False, server_default=sa.true()))


def downgrade() -> None:
    raise NotImplementedError("without it, grants would cover what they must not")
