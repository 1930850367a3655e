"""Questions of servers are found by their task: the calls of a plan's steps have no turn by which they are found."""

from alembic import op

revision = "r021"
down_revision = "r020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_server_questions_task", "server_questions", ["task"])


def downgrade() -> None:
    op.drop_index("ix_server_questions_task", "server_questions")
