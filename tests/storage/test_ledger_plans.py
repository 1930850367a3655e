"""No question reads a whole table: the same cost with a million rows as with ten."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import Session, Undo
from gate.rules.action_states import State
from gate.rules.planner_port import Incoming
from storage.advisers import TO_TOKEN
from storage.ledger import SqlLedger
from storage.rows import action_row, entry_row, plain
from storage.schema import metadata
from tests.storage.samples import action, said

BIG = set("actions votes undo_stack audit_log inbox turns exchanges notes posted sheets".split())
THREAD = Session("T1", "C1", "1")
Question = Callable[[SqlLedger], Awaitable[object]]


async def in_transaction(ledger: SqlLedger) -> None:
    async with ledger.begin() as tx:
        await tx.reserve_message(THREAD, "r1", 10, "k0")
        await tx.finish_message("k")
        await tx.mark_undone("a1")
        await tx.votes("a1", 1)
        moved = await tx.insert(action("a1"))
        await tx.update_action(moved, undo=Undo(open=True))
        tx.audit(said())


QUESTIONS: dict[str, Question] = {
    "action": lambda ledger: ledger.action("a1"),
    "voted": lambda ledger: ledger.voted("a1"),
    "votes": lambda ledger: ledger.votes("a1", 1),
    "due": lambda ledger: ledger.due(),
    "pending": lambda ledger: ledger.pending("T1"),
    "pending of a user": lambda ledger: ledger.pending("T1", user="U1"),
    "pending in a session": lambda ledger: ledger.pending("T1", session=THREAD),
    "held of a user": lambda ledger: ledger.reviews.under_review("T1", "U1"),
    "asking": lambda ledger: ledger.tasks_awaiting_answer("T1", "U1"),
    "of a turn": lambda ledger: ledger.actions_of_turn("t1"),
    "turn": lambda ledger: ledger.turn("t1"),
    "said in a thread": lambda ledger: ledger.grants.said_in({"t1"}, {"k1"}),
    "said to a token": lambda ledger: ledger._ask(*TO_TOKEN, token="k1", team="T1", requester="U1"),
    "starter": lambda ledger: ledger.thread_starter(THREAD),
    "sheet": lambda ledger: ledger.opened_modal("V1"),
    "note": lambda ledger: ledger.note("n1"),
    "undoable": lambda ledger: ledger.undoable("T1"),
    "undoable of a user": lambda ledger: ledger.undoable("T1", user="U1"),
    "undoable in a session": lambda ledger: ledger.undoable("T1", session=THREAD),
    "audit": lambda ledger: ledger.audit_tail(team="T1"),
    "audit of a user": lambda ledger: ledger.audit_tail(team="T1", user="U1"),
    "audit of a session": lambda ledger: ledger.audit_tail(team="T1", session=THREAD),
    "audit of a user in a session": lambda ledger: ledger.audit_tail(team="T1", user="U1", session=THREAD),
    "posted": lambda ledger: ledger.posted("k1"),
    "others wrote": lambda ledger: ledger.others_wrote(
        Incoming("T1:C1:9", THREAD, "U1", "yes", "9", False), "1"
    ),
    "purge": lambda ledger: ledger.purge(action().created_at),
    "transaction": in_transaction,
}


# Which indexes narrow the long ones down as far as can be.
NARROW = {
    "due": ["ix_actions_due"],
    "pending": ["ix_actions_pending_user"],
    "pending of a user": ["ix_actions_pending_user"],
    "pending in a session": ["ix_actions_pending_session"],
    "undoable": ["ix_undo_stack_team"],
    "undoable of a user": ["ix_undo_stack_user"],
    "undoable in a session": ["ix_undo_stack_session"],
    "audit": ["ix_audit_log_team"],
    "audit of a user": ["ix_audit_log_actor", "ix_audit_log_requester"],
    "audit of a session": ["ix_audit_log_session"],
}
ROWS = 3000


async def fill(ledger: SqlLedger, engine: AsyncEngine) -> None:
    """Rows of many teams, people and threads, of whom the questions ask for one."""
    now = await ledger.now()
    rows = {name: [] for name in ("actions", "undo_stack", "audit_log", "inbox", "turns")}
    for n in range(ROWS):
        session = Session(f"T{n % 10}", f"C{n % 50}", str(n % 100))
        state = State.PREPARED if n % 20 == 1 else State.SUCCEEDED
        one = action(f"a{n}", now, state=state, session=session, requester=f"U{n % 40}", turn=f"t{n}")
        place = {
            "session_id": session,
            "timestamp": now,
            "action_id": one.id,
            "tool_name": one.name,
            "team": session.team,
        }
        undo = {"action_type": "move", "original_state": None, "new_state": None, "undone": False}
        line = {"seq": n + 1, "mac": "", "prev": "", "requester": one.requester}
        rows["actions"].append({**action_row(one, ledger.offset, ledger.seals), "due": now})
        rows["undo_stack"].append({**place, **undo, "user": one.requester})
        rows["audit_log"].append(
            {**entry_row(said(actor=one.requester)), **place, **line, "session_id": session.key}
        )
        rows["inbox"].append({**plain(Incoming(f"k{n}", session, "U1", "", str(n), True)), "reader": ""})
        rows["turns"].append({"id": f"t{n}", "session": session, "requester": "U1", "text": "", "at": now})
    async with engine.begin() as connection:
        for name, values in rows.items():
            await connection.execute(metadata.tables[name].insert(), values)
        await connection.exec_driver_sql(f"UPDATE audit_head SET seq = {ROWS}")
        await connection.exec_driver_sql("ANALYZE")


@pytest.mark.slow
@pytest.mark.holds_up("it fills the tables with thousands of rows at once, as no run does")
async def test_no_question_reads_a_whole_table(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await fill(ledger, engine)
    for name, question in QUESTIONS.items():
        asked: list[tuple[str, object]] = []

        def note(_c: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
            if (
                statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT"))
                and "pg_advisory" not in statement
            ):
                asked.append((statement, parameters))  # noqa: B023

        event.listen(engine.sync_engine, "before_cursor_execute", note)
        await question(ledger)
        event.remove(engine.sync_engine, "before_cursor_execute", note)
        plans = [await explained(engine, *one) for one in asked]
        assert plans
        assert all(index in str(plans) for index in NARROW.get(name, [])), f"{name}: {plans}"
        for (statement, _), plan in zip(asked, plans, strict=True):
            assert not whole(plan), f"{name}: {statement}\n" + "\n".join(plan)
            # The first few of many have to be read in order: sorting would read them all.
            assert "LIMIT" not in statement or not SORTS.search("\n".join(plan)), f"{name}: {plan}"


def whole(plan: list[str]) -> list[str]:
    """The steps that read all of a table, or of an index of it."""
    pairs = zip(plan, [*plan[1:], ""], strict=False)  # of a plain INSERT there is no plan
    return [
        step
        for step, below in pairs
        if (found := READS.search(step)) and BIG & {*found.groups()} and "Cond" not in below
    ]


# SQLite says SEARCH where an index narrows, else SCAN; PostgreSQL adds a condition to the index below the step.
SORTS = re.compile(r"\bSort\b|TEMP B-TREE")
READS = re.compile(r"SCAN (\w+)|Scan(?: Backward)?(?: using \w+)? on (\w+)")


async def explained(engine: AsyncEngine, statement: str, parameters: object) -> list[str]:
    """The steps of the plan; on PostgreSQL of one that neither reads a table nor sorts where an index lets it."""
    if isinstance(parameters, list):
        parameters = parameters[0]
    async with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            rows = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return [row[-1] for row in rows]
        for way in ("seqscan", "bitmapscan", "sort"):
            # LOCAL: what stays set makes the next question look dear, and PostgreSQL compile it for seconds.
            await connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")
        rows = await connection.exec_driver_sql(f"EXPLAIN {statement}", parameters)
        return [row[0] for row in rows]
