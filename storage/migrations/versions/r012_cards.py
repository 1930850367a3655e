"""Which run is to bring a posted card up to date, so that one run draws all that was asked for until it begins."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r012"
down_revision = "r011"
branch_labels = None
depends_on = None

TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    for name in ("asked", "begun", "tries"):
        op.add_column("posted", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    op.add_column("posted", sa.Column("asked_at", TIME))


def downgrade() -> None:
    for name in ("asked", "begun", "tries", "asked_at"):
        op.drop_column("posted", name)
