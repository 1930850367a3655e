"""Results of calls outside of plans that are held until somebody has reviewed them, and what came of that."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r006"
down_revision = "r005"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
HELD = sa.text("held != ''")


def upgrade() -> None:
    op.add_column("actions", sa.Column("held", WORDS, nullable=False, server_default=""))
    op.add_column("actions", sa.Column("judged", sa.Text(), nullable=False, server_default="null"))
    op.create_index("ix_actions_held", "actions", ["team"], sqlite_where=HELD, postgresql_where=HELD)


def downgrade() -> None:
    raise NotImplementedError("what was held would be let out: nothing takes that away")
