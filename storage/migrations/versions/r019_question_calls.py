"""Questions of servers are found by the call that asked them: who answered them has said something of it."""

from alembic import op

revision = "r019"
down_revision = "r018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_server_questions_action", "server_questions", ["action"])


def downgrade() -> None:
    op.drop_index("ix_server_questions_action", "server_questions")
