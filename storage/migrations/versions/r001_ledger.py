"""The first tables: actions, votes, undo, audit, inbox, turns, what is posted, replicas, pins, people."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "r001"
down_revision = None
branch_labels = None
depends_on = None

WORDS = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
TIME = sa.BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
JSON = sa.Text()
COUNTED = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
ZERO = "0" * 64

# A person with the database's own rights can drop these triggers: the chain of MACs tells that afterwards.
APPEND_ONLY = {
    "sqlite": [
        """CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log
           BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
        """CREATE TRIGGER audit_log_no_delete BEFORE DELETE ON audit_log
           BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
        # INSERT OR REPLACE deletes without asking the trigger above.
        """CREATE TRIGGER audit_log_no_replace BEFORE INSERT ON audit_log
           WHEN EXISTS (SELECT 1 FROM audit_log WHERE seq = NEW.seq)
           BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
    ],
    "postgresql": [
        """CREATE FUNCTION audit_log_refuse() RETURNS trigger LANGUAGE plpgsql AS
           $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$""",
        """CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log
           FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuse()""",
    ],
}


def upgrade() -> None:
    _actions()
    _votes_and_undo()
    _audit()
    _talk()
    _surface()
    _host()


def downgrade() -> None:
    raise NotImplementedError("the first tables hold the record: nothing takes them away")


def _actions() -> None:
    _table(
        "actions",
        *_columns("id state session team requester server tool cls risk verdict reason rule policy", WORDS),
        *_columns("definition receipt phrase turn undoes renews decided_by decision edited_by", WORDS),
        *_columns("version revision call tries", sa.Integer()),
        *_columns("approvers preview capture claim outcome inverse", JSON),
        *_columns("always_gated undo_open private checkable", sa.Boolean()),
        *_columns("created_at expires_at", TIME),
        *_columns("args", sa.LargeBinary()),
        sa.Column("due", TIME),
        key="id",
    )
    _index("actions", "pending_user", "team requester created_at", "state = 'prepared'")
    _index("actions", "pending_session", "session created_at", "state = 'prepared'")
    _index("actions", "due", "due", "due IS NOT NULL")
    _index("actions", "turn", "turn call")


def _votes_and_undo() -> None:
    _table(
        "votes",
        *_columns("action person reason", WORDS),
        *_columns("version", sa.Integer()),
        *_columns("yes", sa.Boolean()),
        *_columns("at", TIME),
        sa.ForeignKeyConstraint(["action"], ["actions.id"], name="fk_votes_action"),
        key="action version person",
    )
    _table(
        "undo_stack",
        *_columns("id", COUNTED),
        *_columns("session_id tool_name action_type action_id team user", WORDS),
        *_columns("original_state new_state", JSON),
        *_columns("undone", sa.Boolean()),
        *_columns("timestamp", TIME),
        sa.Column("until", TIME),
        sa.Column("closed_at", TIME),
        sa.ForeignKeyConstraint(["action_id"], ["actions.id"], name="fk_undo_stack_action_id"),
        sa.UniqueConstraint("action_id", name="uq_undo_stack_action_id"),
        key="id",
        sqlite_autoincrement=True,
    )
    _index("undo_stack", "team", "team timestamp id", "closed_at IS NULL")
    _index("undo_stack", "user", "team user timestamp id", "closed_at IS NULL")
    _index("undo_stack", "session", "session_id timestamp id", "closed_at IS NULL")
    _index("undo_stack", "until", "until", "closed_at IS NULL")


def _audit() -> None:
    _table(
        "audit_log",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        *_columns(
            "session_id tool_name arguments result event actor action_id receipt outcome reason", WORDS
        ),
        *_columns("prev mac team", WORDS),
        *_columns("version", sa.Integer()),
        *_columns("user_confirmed", sa.Boolean()),
        *_columns("timestamp", TIME),
        sa.Column("result_status", WORDS),
        sa.Column("requester", WORDS),
        sa.Column("execution_time_ms", sa.BigInteger()),
        key="seq",
    )
    _index("audit_log", "session", "session_id timestamp seq")
    _index("audit_log", "team", "team timestamp seq")
    _index("audit_log", "actor", "team actor timestamp seq")
    _index("audit_log", "requester", "team requester timestamp seq")
    _table(
        "audit_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *_columns("seq", sa.BigInteger()),
        *_columns("mac", WORDS),
        key="id",
    )
    op.execute(f"INSERT INTO audit_head (id, seq, mac) VALUES (1, 0, '{ZERO}')")
    for statement in APPEND_ONLY[op.get_bind().dialect.name]:
        op.execute(statement)


def _talk() -> None:
    _table(
        "inbox",
        *_columns("key session user text ts reader", WORDS),
        *_columns("mentioned", sa.Boolean()),
        sa.Column("held_until", TIME),
        sa.Column("done_at", TIME),
        key="key",
    )
    _index("inbox", "waiting", "session ts key", "done_at IS NULL")
    _index("inbox", "done", "done_at", "done_at IS NOT NULL")
    _table("turns", *_columns("id session requester text", WORDS), *_columns("at", TIME), key="id")
    _index("turns", "session", "session at id")
    _table(
        "exchanges",
        *_columns("turn", WORDS),
        *_columns("index", sa.Integer()),
        *_columns("reply told", JSON),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name="fk_exchanges_turn"),
        key="turn index",
    )


def _surface() -> None:
    _table("notes", *_columns("id session kind to", WORDS), *_columns("body", JSON), key="id")
    _table(
        "posted",
        *_columns("key channel ts digest", WORDS),
        *_columns("revision", sa.Integer()),
        *_columns("at", TIME),
        key="key",
    )
    _table(
        "sheets",
        *_columns("view_id kind user action receipt", WORDS),
        *_columns("version", sa.Integer()),
        *_columns("opened_at", TIME),
        key="view_id",
    )
    _index("sheets", "opened_at", "opened_at")


def _host() -> None:
    _table("replicas", *_columns("id", WORDS), *_columns("seen_at", TIME), key="id")
    _index("replicas", "seen_at", "seen_at")
    pins = [
        *_columns("server tool definition", WORDS),
        sa.Column("reviewed_by", WORDS),
        *_columns("at", TIME),
    ]
    _table("tool_pins", *pins, key="server tool")
    known = [*_columns("team user", WORDS), *_columns("facts", JSON), *_columns("at", TIME)]
    _table("people", *known, key="team user")


def _columns(names: str, kind: Any) -> list[Any]:
    return [sa.Column(name, kind, nullable=False) for name in names.split()]


def _table(name: str, *parts: Any, key: str, **options: Any) -> None:
    op.create_table(name, *parts, sa.PrimaryKeyConstraint(*key.split(), name=f"pk_{name}"), **options)


def _index(table: str, name: str, columns: str, where: str = "") -> None:
    condition = sa.text(where) if where else None
    options: dict[str, Any] = {"sqlite_where": condition, "postgresql_where": condition}
    op.create_index(f"ix_{table}_{name}", table, columns.split(), **options)
