"""What became of the calls of a reply is called what the code calls it. No MAC covers this column."""

from alembic import op

revision = "r015"
down_revision = "r014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("exchanges", "told", new_column_name="reports")


def downgrade() -> None:
    op.alter_column("exchanges", "reports", new_column_name="told")
