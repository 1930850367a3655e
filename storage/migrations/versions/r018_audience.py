"""Who is shown an action stands beside its parts. Rows of before keep null: their MACs do not cover it."""

import sqlalchemy as sa
from alembic import op

revision = "r018"
down_revision = "r017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("actions", sa.Column("audience", sa.Text(), nullable=False, server_default="null"))


def downgrade() -> None:
    op.drop_column("actions", "audience")
