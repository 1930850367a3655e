"""Questions that MCP servers ask in the middle of a call, for the person in the thread."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r016"
down_revision = "r015"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")
TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")


def upgrade() -> None:
    def text(name: str) -> sa.Column[str]:
        return sa.Column(name, WORDS, nullable=False)

    waiting = sa.text("state = 'waiting'")
    op.create_table(
        "server_questions",
        sa.Column("id", WORDS, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        *map(text, ("state", "session", "requester", "server", "tool", "action", "task", "about")),
        sa.Column("is_read", sa.Boolean(), nullable=False),
        sa.Column("private", sa.Boolean(), nullable=False),
        text("message"),
        sa.Column("schema", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("until", TIME, nullable=False),
        *map(text, ("actor", "reason", "answer")),
        sa.Column("due", TIME, nullable=False),
        text("mac"),
        sa.PrimaryKeyConstraint("id", name="pk_server_questions"),
    )
    op.create_index(
        "ix_server_questions_due",
        "server_questions",
        ["due"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )


def downgrade() -> None:
    op.drop_table("server_questions")
