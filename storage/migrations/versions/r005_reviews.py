"""Reviews: who looked at a step before or after it ran, and what they decided."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r005"
down_revision = "r004"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
JSON = sa.Text()
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WAITS = sa.text("state = 'prepared' AND review != ''")
IN_REVIEW = sa.text("state = 'paused' AND why = 'review'")

# As for the audit log. A person with the database's own rights can drop these triggers; each review also has its
# entry in that log, whose chain of MACs tells.
WRITTEN_ONCE = {
    "sqlite": [
        """CREATE TRIGGER reviews_no_update BEFORE UPDATE ON reviews
           BEGIN SELECT RAISE(ABORT, 'reviews are append-only'); END""",
        """CREATE TRIGGER reviews_no_delete BEFORE DELETE ON reviews
           BEGIN SELECT RAISE(ABORT, 'reviews are append-only'); END""",
        # INSERT OR REPLACE deletes without asking the trigger above.
        """CREATE TRIGGER reviews_no_replace BEFORE INSERT ON reviews
           WHEN EXISTS (SELECT 1 FROM reviews WHERE id = NEW.id)
           BEGIN SELECT RAISE(ABORT, 'reviews are append-only'); END""",
    ],
    "postgresql": [
        """CREATE FUNCTION reviews_refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'reviews are append-only'; END $$""",
        """CREATE TRIGGER reviews_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reviews
           FOR EACH STATEMENT EXECUTE FUNCTION reviews_refuse()""",
    ],
}


def upgrade() -> None:
    for name in ("review", "proposed"):
        op.add_column("actions", sa.Column(name, WORDS, nullable=False, server_default=""))
    _index("actions", "ix_actions_review", ["team"], WAITS)
    _index("tasks", "ix_tasks_review", ["team"], IN_REVIEW)
    op.create_table(
        "reviews",
        *_columns("id", COUNTED),
        *_columns("execution_id node_id reviewer_id decision trigger_phase", WORDS),
        *_columns("original_data modified_data", JSON),
        *_columns("comment", WORDS),
        *_columns("reviewed_at", TIME),
        *_columns("session team", WORDS),
        sa.PrimaryKeyConstraint("id", name="pk_reviews"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_reviews_execution", "reviews", ["execution_id", "node_id"])
    op.create_index("ix_reviews_reviewer", "reviews", ["reviewer_id"])
    for statement in WRITTEN_ONCE[op.get_bind().dialect.name]:
        op.execute(statement)


def downgrade() -> None:
    raise NotImplementedError("reviews are part of the record: nothing takes them away")


def _columns(names: str, kind: Any) -> list[Any]:
    return [sa.Column(name, kind, nullable=False) for name in names.split()]


def _index(table: str, name: str, columns: list[str], where: Any) -> None:
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
