"""Definitions of tools are hashed with the place of their server: what was pinned before fits none of them."""

import sqlalchemy as sa
from alembic import op

revision = "r008"
down_revision = "r007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute(sa.text("DELETE FROM tool_pins"))


def downgrade() -> None:
    raise NotImplementedError("the definitions before cannot be worked out of their hashes")
