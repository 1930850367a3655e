"""What each thread has read, from outside or not: after that, no grant covers what a model proposes there."""

import sqlalchemy as sa
from alembic import op

revision = "r011"
down_revision = "r010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # What was kept until now came from outside. What else was read in a thread nobody knows, so its grants end.
    op.add_column("taints", sa.Column("outside", sa.Boolean(), nullable=False, server_default=sa.true()))
    op.execute("UPDATE grants SET revoked_at = given_at, mac = '' WHERE revoked_at IS NULL")


def downgrade() -> None:
    raise NotImplementedError("without it, grants would cover what a model was told by others")
