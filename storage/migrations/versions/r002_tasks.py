"""Tasks, the events that API clients read, and what turns, replies and actions know of them."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r002"
down_revision = "r001"
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
JSON = sa.Text()
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
HOLDS = {"sqlite": "holds_thread IS 1", "postgresql": "holds_thread IS true"}


def upgrade() -> None:
    for name in ("task", "step", "group"):
        _add("actions", name, WORDS, "")
    _add("turns", "task", WORDS, "")
    _add("turns", "mode", WORDS, "act")
    _add("exchanges", "memo", WORDS, "")
    _add("exchanges", "usage", JSON, "{}")
    _index("actions", "ix_actions_group", ["group", "call"], "\"group\" != ''")
    _tasks()
    op.create_table(
        "events",
        *_columns("seq", COUNTED),
        *_columns("session team task kind", WORDS),
        *_columns("body", JSON),
        *_columns("at", TIME),
        sa.PrimaryKeyConstraint("seq", name="pk_events"),
        sqlite_autoincrement=True,
    )
    _index("events", "ix_events_at", ["at"])


def downgrade() -> None:
    raise NotImplementedError("tasks are part of the record: nothing takes them away")


def _tasks() -> None:
    op.create_table(
        "tasks",
        *_columns("id state session team requester text flow because turn wish why reason", WORDS),
        *_columns("result ended_by", WORDS),
        *_columns("revision asked pauses ends attempts repairs", sa.Integer()),
        *_columns("switches assessment questions decided requirements plan instructions remarks usage", JSON),
        *_columns("changed holds_thread", sa.Boolean()),
        *_columns("created_at since", TIME),
        sa.Column("due", TIME),
        sa.PrimaryKeyConstraint("id", name="pk_tasks"),
    )
    _index("tasks", "uq_tasks_thread", ["session"], HOLDS[op.get_bind().dialect.name], unique=True)
    _index("tasks", "ix_tasks_session", ["session", "created_at", "id"])
    _index("tasks", "ix_tasks_due", ["due"], "due IS NOT NULL")


def _add(table: str, name: str, kind: Any, value: str) -> None:
    op.add_column(table, sa.Column(name, kind, nullable=False, server_default=value))


def _columns(names: str, kind: Any) -> list[Any]:
    return [sa.Column(name, kind, nullable=False) for name in names.split()]


def _index(table: str, name: str, columns: list[str], where: str = "", **options: Any) -> None:
    condition = sa.text(where) if where else None
    op.create_index(name, table, columns, sqlite_where=condition, postgresql_where=condition, **options)
