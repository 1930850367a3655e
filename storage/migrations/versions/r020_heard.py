"""Who has been heard in a task stands apart from its remarks, of which the newest are kept.

Rows of before keep null, which their MACs do not cover: of these, the authors of the remarks that they have count."""

import sqlalchemy as sa
from alembic import op

revision = "r020"
down_revision = "r019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("tasks", sa.Column("heard", sa.Text(), nullable=False, server_default="null"))


def downgrade() -> None:
    raise NotImplementedError("without it, who told a planner what to do would confirm it alone")
