"""The latest calls of a tool, also those that failed."""

import sqlalchemy as sa
from alembic import op

revision = "r017"
down_revision = "r016"
branch_labels = None
depends_on = None

TOOL = ["team", "server", "tool", "definition"]


def upgrade() -> None:
    _replace([*TOOL, "created_at", "id"], "state IN ('succeeded', 'failed', 'unknown', 'undone')")


def downgrade() -> None:
    _replace(TOOL, "state = 'succeeded'")


def _replace(columns: list[str], condition: str) -> None:
    op.drop_index("ix_actions_history", "actions")
    where = sa.text(condition)
    op.create_index("ix_actions_history", "actions", columns, sqlite_where=where, postgresql_where=where)
