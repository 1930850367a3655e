"""A claim asks whether an action was cancelled, too: so that a row which is put back to approved does not run."""

import sqlalchemy as sa
from alembic import op

revision = "r023"
down_revision = "r022"
branch_labels = None
depends_on = None

NAME = "ix_audit_log_action"


def _index(events: str) -> None:
    chosen = sa.text(f"event IN ({events})")
    op.drop_index(NAME, "audit_log")
    op.create_index(NAME, "audit_log", ["action_id"], sqlite_where=chosen, postgresql_where=chosen)


def upgrade() -> None:
    _index("'confirmed', 'started', 'cancelled'")


def downgrade() -> None:
    _index("'confirmed', 'started'")
