"""Tasks in the ledger: what was stored comes back, writes are guarded, one task holds a thread."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import CallClass, Fact, Preview, Session, Verdict
from gate.rules.planner_port import Exchange, Mode, Say, Turn
from gate.rules.ports import LedgerEvent, StaleTask
from gate.rules.settings import Switches
from gate.rules.task import (
    Assessment,
    Flow,
    Instruction,
    Missing,
    PauseReason,
    Plan,
    Question,
    Remark,
    SettledPoint,
    StepState,
    StopRequest,
    Task,
    Usage,
)
from gate.rules.task_states import NoSuchTaskArrow, TaskEvent, TaskState
from storage import rows
from storage.columns import unpacked
from storage.ledger import SqlLedger
from storage.rows import LARGE
from storage.task_tables import events
from tests.tasks import having, parts_of, step_of, task_of

AT = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
THREAD, OTHER = Session("T1", "C1", "1.1"), Session("T1", "C1", "2.2")


def task(key: str = "t1", **changes: Any) -> Task:
    plain = task_of(
        id=key, revision=1, state=TaskState.CLARIFYING, session=THREAD, requester="U1", text="do it",
        switches=Switches(), created_at=AT, since=AT,
    )  # fmt: skip
    return having(plain, **changes)


FULL = task(
    "full",
    state=TaskState.PAUSED,
    switches=Switches(review="both", conversational=True),
    flow=Flow.PLAN,
    assessment=Assessment(40, 3, (Missing.INPUTS,), (Question("q", "Which?", Missing.INPUTS),), "hm"),
    questions=(Question("q", "Which?", Missing.INPUTS, ("a", "b"), "a"),),
    asked=1,
    decided=(SettledPoint("q", "Which?", "a\x00\ud800", "U1"),),
    requirements=("one", "two"),
    because="you wrote it",
    plan=Plan(
        2,
        (
            step_of("1", "read", "fs", "read", {"path": "a"}, state=StepState.DONE, result={"n": [1, None]}),
            step_of(
                "2", "write", "fs", "write", {}, refs={"path": "{steps.1.path}"}, ask=True, note="careful",
                after=("1",), cls=CallClass.WRITE, verdict=Verdict.CONFIRM, rules="seal", seal="seal",
                preview=Preview("Write", "Write", (Fact("path", "a"),)),
            ),
        ),
        "plan seal",
        "note",
        "U1",
    ),
    turn="turn",
    wish=StopRequest.PAUSE,
    why=PauseReason.STEP,
    reason="it failed",
    pauses=1,
    instructions=(Instruction("i", "U1", "slowly", AT, "before step 2"),),
    remarks=(Remark("U2", "careful!", AT),),
    heard=frozenset({"U2", "U3"}),
    attempts=2,
    result="1 done",
    changed=True,
    ended_by="U1",
    usage=Usage(1, 2, 3),
)  # fmt: skip


async def stored(ledger: SqlLedger, one: Task) -> Task | None:
    async with ledger.begin() as tx:
        return await tx.open_task(one)


@pytest.mark.slow
async def test_what_was_stored_comes_back(ledger: SqlLedger) -> None:
    await stored(ledger, FULL)
    assert await ledger.task("full") == FULL
    assert await ledger.task("none") is None


async def test_opened_twice_it_is_one_task(ledger: SqlLedger) -> None:
    first = task()
    assert await stored(ledger, first) is first
    async with ledger.begin() as tx:
        await tx.move_task(first, TaskEvent.ACT, flow=Flow.SIMPLE)
    again = await stored(ledger, task())
    assert again is not None
    assert (again.revision, again.state) == (2, TaskState.RUNNING)


# promise: REVIEW-06
async def test_an_arrow_is_followed_once_however_many_try(ledger: SqlLedger, other: SqlLedger) -> None:
    first = task()
    await stored(ledger, first)

    async def act(by: SqlLedger) -> int:
        try:
            async with by.begin() as tx:
                return (await tx.move_task(first, TaskEvent.ACT, flow=Flow.SIMPLE)).revision
        except StaleTask as stale:
            return -stale.task.revision if stale.task else 0

    assert sorted(await asyncio.gather(*(act(by) for by in (ledger, other) * 5))) == [*[-2] * 9, 2]


async def test_an_arrow_that_is_not_in_the_table_is_refused(ledger: SqlLedger) -> None:
    await stored(ledger, task())
    with pytest.raises(NoSuchTaskArrow):
        async with ledger.begin() as tx:
            await tx.move_task(task(), TaskEvent.FINISH)


async def test_no_write_goes_around_the_guard(ledger: SqlLedger) -> None:
    await stored(ledger, task())
    for field in ("id", "revision", "state"):
        with pytest.raises(TypeError):
            async with ledger.begin() as tx:
                await tx.update_task(task(), **{field: "x"})


async def test_one_task_holds_a_thread(ledger: SqlLedger) -> None:
    plan = task(state=TaskState.PLANNING, flow=Flow.PLAN)
    await stored(ledger, plan)
    async with ledger.begin() as tx:
        assert await tx.thread_holder(THREAD) == plan
        assert await tx.thread_holder(OTHER) is None
    assert await stored(ledger, replace(plan, id="t2")) is None
    assert await stored(ledger, replace(plan, id="t3", session=OTHER)) is not None
    assert await stored(ledger, task("t4", flow=Flow.SIMPLE)) is not None
    async with ledger.begin() as tx:
        await tx.move_task(plan, TaskEvent.CANCEL)
        assert await tx.thread_holder(THREAD) is None


async def test_the_tasks_of_a_thread_come_newest_first(ledger: SqlLedger) -> None:
    for number in range(3):
        await stored(ledger, task(f"t{number}", flow=Flow.SIMPLE, created_at=AT + timedelta(seconds=number)))
    assert [one.id for one in await ledger.tasks_of(THREAD, 2)] == ["t2", "t1"]
    assert await ledger.thread_starter(THREAD) == "U1"
    assert await ledger.has_session(THREAD)
    assert not await ledger.has_session(OTHER)


async def test_a_task_that_stands_still_is_found_once_in_a_while(ledger: SqlLedger) -> None:
    await stored(ledger, task())
    await stored(ledger, task("asks", questions=FULL.questions, session=OTHER))
    await stored(ledger, replace(FULL, session=Session("T1", "C1", "3.3")))
    assert await ledger.due() == ()
    ledger.offset += timedelta(minutes=11)
    assert [(one.kind, one.id) for one in await ledger.due()] == [("task", "t1")]
    for _ in range(2):  # the second finds it seen to
        async with ledger.begin() as tx:
            await tx.postpone_sweep("t1")
    assert await ledger.due() == ()
    assert len(await ledger.due(601)) == 1


async def test_a_task_is_looked_at_at_a_moment_unless_it_has_changed_since_it_was_read(
    ledger: SqlLedger,
) -> None:
    await stored(ledger, task())
    before = await ledger.task("t1")
    assert before
    async with ledger.begin() as tx:
        after = await tx.update_task(before, **parts_of(before, result="more"))
    for read, found in ((before, 0), (after, 1)):
        async with ledger.begin() as tx:
            await tx.set_sweep_time(read, await tx.now())
        assert len(await ledger.due()) == found


async def test_the_history_of_a_thread_is_the_newest_turns_in_order(ledger: SqlLedger) -> None:
    turns = [
        Turn(f"turn{n}", THREAD, "U1", str(n), AT + timedelta(minutes=n), (), "t1", Mode.TALK)
        for n in range(4)
    ]
    async with ledger.begin() as tx:
        for turn in reversed(turns):
            await tx.open_turn(turn)
        await tx.store_exchange("turn2", 1, Exchange(Say("b"), memo="{}", usage=Usage(1, 2, 3)))
        await tx.store_exchange("turn2", 0, Exchange(Say("a")))
    found = await ledger.history(THREAD, AT + timedelta(minutes=1), 2)
    assert [turn.text for turn in found] == ["2", "3"]
    assert [said.reply for said in found[0].exchanges] == [Say("a"), Say("b")]
    assert found[1] == turns[3]
    assert found[0].exchanges[1].usage == Usage(1, 2, 3)


async def test_events_are_written_with_the_transaction_or_not_at_all(ledger: SqlLedger) -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with ledger.begin() as tx:
            tx.publish(LedgerEvent("lost", THREAD, "t1", {}))
            raise ZeroDivisionError
    async with ledger.begin() as tx:
        tx.publish(LedgerEvent("steer_instruction", THREAD, "t1", {"instruction": "slowly"}))
    async with ledger.begin() as tx:
        (row,) = await tx.execute(events.select())
    assert (row.kind, row.task, row.team, unpacked(row.body)) == (
        "steer_instruction",
        "t1",
        "T1",
        {"instruction": "slowly"},
    )


@pytest.mark.parametrize(("characters", "beside"), [(LARGE, True), (LARGE // 10, False)])
async def test_large_tasks_are_read_beside_the_loop_whoever_asks_for_them(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch, characters: int, beside: bool
) -> None:
    paused = {"state": TaskState.PAUSED, "why": PauseReason.REVIEW, "flow": Flow.PLAN}
    stored = task(**paused, plan=Plan(1, (step_of("s1", title="x" * characters),)))
    async with ledger.begin() as tx:
        await tx.open_task(stored)
    threads, read = list[bool](), rows.to_task

    def seen(row: Any) -> Task:
        threads.append(threading.current_thread() is not threading.main_thread())
        return read(row)

    monkeypatch.setattr(rows, "to_task", seen)
    assert await ledger.task("t1") == stored
    assert await ledger.tasks_of(THREAD) == (stored,)
    assert [one for one, _ in await ledger.tasks_awaiting_answer("T1", "U1")] == [stored]
    assert await ledger.reviews.waiting("T1") == ((), (stored,))
    async with ledger.begin() as tx:
        assert await tx.task("t1") == await tx.thread_holder(THREAD) == stored
    assert threads == [beside] * 6


LISTS: dict[str, Callable[[SqlLedger], Awaitable[Any]]] = {
    "of a person": lambda ledger: ledger.tasks_awaiting_answer("T1", "U1"),
    "of reviews": lambda ledger: ledger.reviews.waiting("T1"),
}


@pytest.mark.parametrize("name", LISTS)
async def test_a_list_of_what_waits_reads_one_task_at_a_time_and_keeps_no_results_of_steps(
    ledger: SqlLedger, engine: AsyncEngine, name: str
) -> None:
    """25 tasks with 13 MB of results each took 1.5 GB, and as much once more for each request beside."""
    done = step_of("s1", "read", state=StepState.DONE, text="found", result={"text": "x" * LARGE, "a": [1]})
    paused = {
        "state": TaskState.PAUSED,
        "why": PauseReason.REVIEW,
        "flow": Flow.PLAN,
        "plan": Plan(1, (done,)),
    }
    for number in range(5):
        session = Session("T1", "C1", f"{number}.1")
        await stored(ledger, task(f"t{number}", session=session, **paused))
    read: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_: object) -> None:
        read.append(statement.replace('"', ""))  # SQLite has a keyword PLAN

    event.listen(engine.sync_engine, "before_cursor_execute", note)
    found = await LISTS[name](ledger)
    event.remove(engine.sync_engine, "before_cursor_execute", note)
    whole = [one for one in read if "tasks.plan" in one]
    assert len(whole) == 5
    assert all("WHERE tasks.id = " in one for one in whole)
    tasks = found[1] if name == "of reviews" else [one for one, _ in found]
    told = [(one.id, step.text, step.result) for one in tasks for step in one.plan.steps]
    assert sorted(told) == [(f"t{number}", "found", None) for number in range(5)]
    whole_again = await ledger.task("t0")
    assert whole_again is not None
    assert whole_again.plan == Plan(1, (done,))
