"""The tables of the ledger. Dataclass fields keep their names; indexes serve the questions of ledger.py."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
    literal_column,
)

from gate.rules.access import Audience
from gate.rules.action import Execution, Json, Person, Proposal, Resolution, ResultReview, Undo
from gate.rules.action_states import State
from gate.rules.planner_port import CallReport, Mode, Reply
from gate.rules.task import Usage
from storage.columns import Choice, Packed, SessionKey, Time, Words
from storage.schema import Counted, metadata, partial, text

# An action: its identity and its origin, then its parts. Beside those stands what is asked for of them.
actions = Table(
    "actions",
    metadata,
    Column("id", Words, primary_key=True),
    Column("version", Integer, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("state", Choice(State), nullable=False),
    Column("session", SessionKey, nullable=False),
    text("requester"),
    Column("created_at", Time, nullable=False),
    text("turn"),
    Column("call", Integer, nullable=False),
    text("task"),
    text("step"),
    text("group"),
    text("undoes"),
    text("renews"),
    Column("proposal", Packed(Proposal), nullable=False),
    text("receipt"),
    Column("resolution", Packed(Resolution), nullable=False),
    Column("execution", Packed(Execution), nullable=False),
    Column("result_review", Packed(ResultReview), nullable=False),
    Column("undo", Packed(Undo), nullable=False),
    text("team"),  # of the session
    text("server"),
    text("tool"),
    text("definition"),
    text("review"),
    text("held"),
    # Of the proposal; null in rows of before r018
    Column("audience", Packed(Audience | None), nullable=False, server_default="null"),
    Column("expires_at", Time, nullable=False),
    Column("due", Time),  # when the janitor should look at it, if it is still so by then
    text("mac"),
)
# Conditions of partial indexes are written out: with parameters, neither database would see that they match.
PREPARED = actions.c.state == literal_column("'prepared'")
WAITED_FOR = actions.c.due.is_not(None)
# With the whole order, id included: else the index of pages, which has it, looks better to SQLite.
ORDER = (actions.c.created_at, actions.c.id)
partial("ix_actions_pending_user", PREPARED, actions.c.team, actions.c.requester, *ORDER)
partial("ix_actions_pending_session", PREPARED, actions.c.session, *ORDER)
partial("ix_actions_due", WAITED_FOR, actions.c.due)
# For pages of what somebody asked for, however much of it there is.
Index("ix_actions_requester", actions.c.team, actions.c.requester, *ORDER)
Index("ix_actions_turn", actions.c.turn, actions.c.call)
RAN = actions.c.state.in_(
    [literal_column(f"'{state}'") for state in ("succeeded", "failed", "unknown", "undone")]
)
OF_A_TOOL = (actions.c.team, actions.c.server, actions.c.tool, actions.c.definition)
partial("ix_actions_history", RAN, *OF_A_TOOL, *ORDER)
GROUPED = actions.c.group != literal_column("''")
partial("ix_actions_group", GROUPED, actions.c.group, actions.c.call)

votes = Table(
    "votes",
    metadata,
    Column("action", Words, ForeignKey(actions.c.id), nullable=False),
    Column("version", Integer, nullable=False),
    text("person"),
    Column("yes", Boolean, nullable=False),
    Column("at", Time, nullable=False),
    text("reason"),
    text("mac"),
    PrimaryKeyConstraint("action", "version", "person"),
)

undo_stack = Table(
    "undo_stack",
    metadata,
    Column("id", Counted, primary_key=True),
    Column("session_id", SessionKey, nullable=False),
    Column("timestamp", Time, nullable=False),
    text("tool_name"),
    text("action_type"),
    Column("original_state", Packed(Json), nullable=False),
    Column("new_state", Packed(Json), nullable=False),
    Column("undone", Boolean, nullable=False),
    Column("action_id", Words, ForeignKey(actions.c.id), nullable=False),
    text("team"),
    text("user"),
    Column("until", Time),  # the inverse works until then; NULL: for good
    Column("closed_at", Time),  # NULL while it can be undone, as far as was swept
    UniqueConstraint("action_id"),
    sqlite_autoincrement=True,
)
OPEN = undo_stack.c.closed_at.is_(None)
NEWEST = (undo_stack.c.timestamp, undo_stack.c.id)  # not id alone: a planner might then walk the primary key
partial("ix_undo_stack_team", OPEN, undo_stack.c.team, *NEWEST)
partial("ix_undo_stack_user", OPEN, undo_stack.c.team, undo_stack.c.user, *NEWEST)
partial("ix_undo_stack_session", OPEN, undo_stack.c.session_id, *NEWEST)
partial("ix_undo_stack_until", OPEN, undo_stack.c.until)

audit_log = Table(
    "audit_log",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    text("session_id"),
    Column("timestamp", Time, nullable=False),
    text("tool_name"),
    text("arguments"),
    text("result"),
    Column("result_status", Words),
    Column("user_confirmed", Boolean, nullable=False),
    Column("execution_time_ms", BigInteger),
    text("event"),
    text("actor"),
    text("action_id"),
    Column("version", Integer, nullable=False),
    text("receipt"),
    text("outcome"),
    text("reason"),
    text("token"),
    text("prev"),
    text("mac"),
    text("team"),  # of the session
    Column("requester", Words),  # of the action
    Column("format", Integer, nullable=False),  # of what the chain covers: gate/rules/audit.py
)
LATEST = (audit_log.c.timestamp, audit_log.c.seq)
# What a claim asks for: how an action was decided, and whether it has begun.
DECISIVE = audit_log.c.event.in_(
    [literal_column(f"'{one}'") for one in ("confirmed", "started", "cancelled")]
)
partial("ix_audit_log_action", DECISIVE, audit_log.c.action_id)
Index("ix_audit_log_session", audit_log.c.session_id, *LATEST)
Index("ix_audit_log_team", audit_log.c.team, *LATEST)
Index("ix_audit_log_actor", audit_log.c.team, audit_log.c.actor, *LATEST)
Index("ix_audit_log_requester", audit_log.c.team, audit_log.c.requester, *LATEST)

audit_head = Table(
    "audit_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, nullable=False),
    text("mac"),
    text("key"),  # the id of the key that the next entry is chained with; "" where none has been since r022
)

inbox = Table(
    "inbox",
    metadata,
    Column("key", Words, primary_key=True),
    Column("session", SessionKey, nullable=False),
    text("user"),
    text("text"),
    text("ts"),
    Column("mentioned", Boolean, nullable=False),
    text("reader"),
    Column("held_until", Time),
    Column("done_at", Time),
    text("mac"),
)
WAITING = inbox.c.done_at.is_(None)
DONE = inbox.c.done_at.is_not(None)
partial("ix_inbox_waiting", WAITING, inbox.c.session, inbox.c.ts, inbox.c.key)
partial("ix_inbox_done", DONE, inbox.c.done_at)

turns = Table(
    "turns",
    metadata,
    Column("id", Words, primary_key=True),
    Column("session", SessionKey, nullable=False),
    text("requester"),
    text("text"),
    Column("at", Time, nullable=False),
    text("task"),
    Column("mode", Choice(Mode), nullable=False),
    text("mac"),
)
Index("ix_turns_session", turns.c.session, turns.c.at, turns.c.id)

exchanges = Table(
    "exchanges",
    metadata,
    Column("turn", Words, ForeignKey(turns.c.id), nullable=False),
    Column("index", Integer, nullable=False),
    Column("reply", Packed(Reply), nullable=False),
    Column("reports", Packed(tuple[CallReport, ...]), nullable=False),
    text("memo"),
    Column("usage", Packed(Usage), nullable=False),
    text("mac"),
    PrimaryKeyConstraint("turn", "index"),
)

notes = Table(
    "notes",
    metadata,
    Column("id", Words, primary_key=True),
    Column("session", SessionKey, nullable=False),
    text("kind"),
    Column("body", Packed(Mapping[str, Json]), nullable=False),
    text("to"),
)

posted = Table(
    "posted",
    metadata,
    Column("key", Words, primary_key=True),
    text("channel"),
    text("ts"),
    Column("revision", Integer, nullable=False),
    text("digest"),
    Column("at", Time, nullable=False),  # since when this digest stands there
    # The run that is to bring it up to date: `asked` counts them, and one waits where `begun` is less.
    Column("asked", Integer, nullable=False, server_default="0"),
    Column("begun", Integer, nullable=False, server_default="0"),
    Column("asked_at", Time),
    Column("tries", Integer, nullable=False, server_default="0"),  # since it was drawn last
)
UNDRAWN = posted.c.asked > posted.c.begun
partial("ix_posted_undrawn", UNDRAWN, posted.c.asked_at)

sheets = Table(
    "sheets",
    metadata,
    Column("view_id", Words, primary_key=True),
    text("kind"),
    text("user"),
    text("action"),
    Column("version", Integer, nullable=False),
    text("receipt"),
    Column("opened_at", Time, nullable=False, index=True),
)

replicas = Table(
    "replicas",
    metadata,
    Column("id", Words, primary_key=True),
    Column("seen_at", Time, nullable=False, index=True),
)

tool_pins = Table(
    "tool_pins",
    metadata,
    text("server"),
    text("tool"),
    text("definition"),
    Column("reviewed_by", Words),
    Column("at", Time, nullable=False),
    text("mac"),
    PrimaryKeyConstraint("server", "tool"),
)

people = Table(
    "people",
    metadata,
    text("team"),
    text("user"),
    Column("facts", Packed(Person), nullable=False),
    Column("at", Time, nullable=False),
    text("mac"),
    PrimaryKeyConstraint("team", "user"),
)
