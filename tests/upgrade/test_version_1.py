"""A database of version 1 is migrated, and what stands in it goes on: see version_1/fill.py.txt for what that is."""

from __future__ import annotations

import asyncio
import gzip
import json
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, MetaData, Table, insert, text
from sqlalchemy.dialects.postgresql import TIMESTAMP
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.engine import Engine
from bot.job_routes import jobs
from gate.actions import expiry, resolve_unknown, result_review, undo
from gate.actions.button_press import TaskPress
from gate.rules.access import IssuedToken
from gate.rules.action import Action, Ref, Session
from gate.rules.action_states import State
from gate.rules.approvers import Approvers
from gate.rules.jobs import Run
from gate.rules.policy import Policy, Rule
from gate.rules.reviews import Phase, Review
from gate.rules.task import Task
from gate.rules.task_states import TaskState
from gate.tasks import clarify, control, feedback, plan
from storage.audit_log import verify
from storage.columns import EPOCH
from storage.database import open_engine
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.migrate import migrate, upgrade
from storage.redis_reviews import RedisPending
from storage.reseal import adopt
from storage.row_macs import row_macs_of
from storage.slack_users import PeopleStore
from storage.tokens import TokenStore
from storage.tool_pins import PinStore
from storage.webhooks import HookStore
from tests.gate.gate_setup import ANN, CHANNEL, PEOPLE, TEAM, Scene, nothing_ran, scene
from tests.gate.plan_setup import on_pause, on_plan
from tests.services import Postgres

DATA = Path(__file__).with_name("version_1")
KEY = (DATA / "audit.key").read_bytes()
FOUND: dict[str, Any] = json.loads((DATA / "items.json").read_text())
POLICY = Policy(
    "p1",
    rules=(Rule("two", ("desk.poke",), approvers=Approvers(needed=2)),),
    reviews=(Review("look at it", Phase.AFTER, tools=("desk.put_back",)),),
)
OPEN = "SELECT workflow_uuid, status, executor_id, queue_partition_key FROM workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"


def restored(path: Path, due: int = 9_999_999_999_999) -> None:
    """The database as the process of version 1 left it; its timers are `due` then, in milliseconds since 1970."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(gzip.decompress((DATA / "ledger.sql.gz").read_bytes()).decode())
        connection.execute(
            "UPDATE workflow_status SET delay_until_epoch_ms = ? WHERE status = 'DELAYED'", [due]
        )
        connection.commit()


@dataclass(kw_only=True)
class Upgraded(Scene):
    """The scene on that database, with the real engine behind it, at the time at which version 1 was ended."""

    database: Path
    sql: AsyncEngine

    async def play(self, timers: bool = False) -> None:
        """Until nothing is left to do."""
        quiet, ends = 0, time.monotonic() + 60
        while quiet < 3:
            left = self.asked(OPEN)
            assert time.monotonic() < ends, f"these do not end: {left}"
            quiet = 0 if left else quiet + 1
            await asyncio.sleep(0.05)

    def asked(self, question: str) -> list[Any]:
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(question).fetchall()

    def thread(self, name: str) -> Session:
        return Session(TEAM, CHANNEL, FOUND["items"][name]["thread"])

    async def action(self, name: str) -> Action:
        return await self.now(FOUND["items"][name]["action"])

    async def task(self, name: str) -> Task:
        found = await self.ledger.task(FOUND["items"][name]["task"])
        assert found is not None
        return found


def back() -> timedelta:
    """From now to when version 1 was ended."""
    return datetime.fromisoformat(FOUND["at"]) - datetime.now(UTC)


@asynccontextmanager
async def upgraded(folder: Path, redis_url: str, **more: Any) -> AsyncIterator[Upgraded]:
    path = folder / "ledger.db"
    restored(path, **more)
    url = f"sqlite:///{path}"
    await migrate(url)
    sql, redis = open_engine(url), open_redis(redis_url)
    assert await adopt(sql, KEY)
    engine = Engine(url, "two")
    ledger = SqlLedger(sql, engine.enqueue, KEY, wake=engine.wake)
    ledger.offset = back()
    made = scene(ledger, RedisLeases(redis), [], RedisPending(redis))
    parts = {field.name: getattr(made, field.name) for field in fields(Scene)}
    stage = Upgraded(**parts, database=path, sql=sql)
    stage.desk.notes |= FOUND["notes"]
    stage.world = replace(stage.world, policy=POLICY)
    await engine.start(jobs(stage.world))
    try:
        await stage.play()
        yield stage
    finally:
        await engine.drain(10)
        await redis.aclose()
        await sql.dispose()


@pytest.fixture
async def stage(tmp_path: Path, redis_url: str) -> AsyncIterator[Upgraded]:
    """A test that makes runs plays to their end itself: the loop stands still between its last line and this fixture's
    end, and DBOS then carries out what is due on a loop of its own."""
    async with upgraded(tmp_path, redis_url) as found:
        yield found
        await found.play()
        verified = await verify(found.sql, KEY)
        assert (verified.broken_at, verified.count > 80) == (None, True)
        assert (
            found.asked("SELECT name, error FROM workflow_status WHERE status NOT IN ('SUCCESS', 'DELAYED')")
            == []
        )


WAITING = ("waiting", "group", "step_waiting", "pressed_all", "voted")


@pytest.mark.slow
async def test_what_waited_is_asked_anew_in_words_and_runs_only_after_another_yes(stage: Upgraded) -> None:
    """Nothing shows that a row without a MAC is as it was shown. One is for two others to confirm."""
    for name in WAITING:
        person = "U_CLEO" if name == "voted" else ANN
        new = await _asked_anew(stage, name, person)
        assert (await stage.confirm(new, person)).ok
        await stage.play()
        # Who asks is one of no two others.
        expected = State.PREPARED if name == "voted" else State.SUCCEEDED
        assert (await stage.now(new.id)).state is expected, name


async def _asked_anew(stage: Upgraded, name: str, person: str) -> Action:
    """What stands in the place of an action after a yes to its old card, which has done nothing else."""
    old = await stage.action(name)
    with nothing_ran(stage):
        said = await stage.confirm(old, person)
        await stage.play()
    assert (said.code, said.text.startswith("I was updated since this card was made")) == ("changed", True)
    assert (await stage.now(old.id)).state is State.CANCELLED
    waiting = await stage.ledger.pending(TEAM, session=stage.thread(name))
    (new,) = [one for one in waiting if one.renews == old.id]
    assert (new.args, new.requester, new.flaw) == (old.args, old.requester, "")
    assert new.id in stage.wall.cards
    return new


@pytest.mark.slow
async def test_what_was_approved_or_unread_when_version_1_was_ended_goes_on_by_itself(
    stage: Upgraded,
) -> None:
    old = await stage.action("approved")  # and had not begun: it is asked anew
    assert old.state is State.CANCELLED
    (new,) = await stage.ledger.pending(TEAM, session=stage.thread("approved"))
    assert (new.renews, new.args, new.flaw) == (old.id, old.args, "")
    plan_running = await stage.task("plan_running")
    assert plan_running.state is TaskState.SATISFACTION
    thread = plan_running.session.thread
    assert [args["path"] for _, args in stage.desk.calls] == [f"{thread}-{name}.md" for name in "ab"]
    (unread,) = await stage.ledger.tasks_of(stage.thread("unread"))
    assert (unread.text, unread.state) == ("hello", TaskState.DONE)


@pytest.mark.slow
async def test_a_call_that_the_process_died_in_becomes_unknown_and_is_not_repeated(stage: Upgraded) -> None:
    with nothing_ran(stage):
        stage.travel(60)
        await expiry.overdue(stage.world)
        await stage.play()
    action = await stage.action("executing")
    assert action.state is State.UNKNOWN
    assert (await resolve_unknown.resolve(stage.world, stage.press(action), False)).ok
    await stage.play()
    assert (await stage.action("executing")).state is State.FAILED


@pytest.mark.slow
async def test_a_plan_that_waits_is_approved_and_a_paused_one_goes_on(stage: Upgraded) -> None:
    assert (await plan.approve_all(stage.world, on_plan(await stage.task("plan_waiting")))).ok
    assert (await control.resume(stage.world, on_pause(await stage.task("plan_paused")))).ok
    await stage.play()
    for name in ("plan_waiting", "plan_paused"):
        assert (await stage.task(name)).state is TaskState.SATISFACTION


@pytest.mark.slow
async def test_a_question_is_answered_and_a_finished_task_settles(stage: Upgraded) -> None:
    asks, asked = await stage.task("question"), await stage.task("satisfaction")
    press = TaskPress(Ref(asks.id, asks.asked, "0"), TEAM, ANN, values={"where": "archive"})
    assert (await clarify.answer(stage.world, press)).ok
    assert (await feedback.satisfied(stage.world, TaskPress(Ref(asked.id, asked.ends, "0"), TEAM, ANN))).ok
    await stage.play()
    (decided,) = (await stage.task("question")).decided
    assert (decided.answer, decided.by) == ("archive", ANN)
    states = [(await stage.task(name)).state for name in ("question", "satisfaction", "settled")]
    assert states == [TaskState.DONE] * 3


@pytest.mark.slow
async def test_what_was_done_is_undone_once_and_what_was_undone_stays_so(stage: Upgraded) -> None:
    done = await stage.action("done")
    assert done.flaw == ""
    assert (await undo.request_undo(stage.world, stage.press(done))).code == "undoing"
    await stage.play()
    assert [(await stage.action(name)).state for name in ("done", "undone")] == [State.UNDONE] * 2
    assert "done.md" not in stage.desk.notes
    assert not (await undo.request_undo(stage.world, stage.press(await stage.action("undone")))).ok


@pytest.mark.slow
async def test_what_is_over_stays_and_what_is_open_is_for_people(stage: Upgraded) -> None:
    assert [(await stage.action(name)).state for name in ("expired", "rejected")] == [
        State.EXPIRED,
        State.REJECTED,
    ]
    unknown, held = await stage.action("unknown"), await stage.action("held")
    assert (unknown.state, held.under_review) == (State.UNKNOWN, "look at it")
    assert (await resolve_unknown.resolve(stage.world, stage.press(unknown), True)).ok
    assert (await result_review.approve(stage.world, stage.press(held))).code == "released"
    await stage.play()
    assert (await stage.action("unknown")).state is State.SUCCEEDED


@pytest.mark.slow
async def test_tokens_webhooks_people_and_pins_count_and_grants_have_ended(stage: Upgraded) -> None:
    seals = row_macs_of(KEY)
    for number in (0, 1):
        assert await TokenStore(stage.sql, seals).find(IssuedToken(f"{number:016}", "0" * 63 + "1"))
    (hook,) = await HookStore(stage.sql, seals).all()
    assert hook.secret == "whsec_" + "a" * 32
    assert hook.secret not in str(stage.asked("SELECT * FROM webhooks"))
    known = await PeopleStore(stage.sql, seals).get(TEAM, ANN)
    assert known is not None
    assert known.person == PEOPLE[ANN]
    assert await PinStore(stage.sql, seals).all() == ()  # hashes of another form: tools are read anew
    assert await stage.ledger.grants.grants(stage.thread("granted")) == ()


@pytest.mark.slow
async def test_the_timers_that_wait_in_the_engine_still_have_their_jobs(
    tmp_path: Path, redis_url: str
) -> None:
    """They come due at once here. What they are for has its time in the ledger: what is not over there goes on."""
    async with upgraded(tmp_path, redis_url, due=1) as stage:
        names = "'expire', 'close_undo', 'lapse_plan', 'lapse_question', 'settle_task'"
        found = stage.asked(f"SELECT DISTINCT name, error FROM workflow_status WHERE name IN ({names})")
        assert sorted(found) == sorted((name.strip("'"), None) for name in names.split(", "))
        for name in WAITING:
            assert (await stage.action(name)).state is State.PREPARED


# The same rows in PostgreSQL


async def copied(rows: sqlite3.Connection, engine: AsyncEngine) -> None:
    """The rows of the ledger, into tables of version 1."""
    async with engine.begin() as connection:
        await connection.run_sync(upgrade, "r007")
        found = MetaData()
        await connection.run_sync(found.reflect)
        await connection.execute(text("DELETE FROM audit_head"))
        for table in found.sorted_tables:
            if table.name != "alembic_version":
                await _copied(rows, connection, table)
        for table, key in [("events", "seq"), ("undo_stack", "id"), ("reviews", "id")]:
            counted = f"setval(pg_get_serial_sequence('{table}', '{key}'), max({key}) + 1, false)"
            await connection.execute(text(f"SELECT {counted} FROM {table} HAVING max({key}) > 0"))


async def _copied(rows: sqlite3.Connection, connection: Any, table: Table) -> None:
    names = ", ".join(f'"{column.name}"' for column in table.c)
    values = [
        {column.name: _as(column.type, value) for column, value in zip(table.c, row, strict=True)}
        for row in rows.execute(f"SELECT {names} FROM {table.name}")
    ]
    if values:
        await connection.execute(insert(table), values)


def _as(kind: Any, value: Any) -> Any:
    if isinstance(kind, TIMESTAMP):
        return None if value is None else EPOCH + timedelta(microseconds=value)
    return bool(value) if isinstance(kind, Boolean) else value


@pytest.mark.slow
async def test_the_rows_of_version_1_go_on_in_postgresql(
    tmp_path: Path, postgres: Postgres, redis_url: str
) -> None:
    restored(tmp_path / "ledger.db")
    url = postgres.url(postgres.create())
    sql, redis, runs = open_engine(url), open_redis(redis_url), list[Run]()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as rows:
        await copied(rows, sql)
    await migrate(url)
    assert await adopt(sql, KEY)
    ledger = SqlLedger(sql, lambda _, run: runs.append(run), KEY)
    ledger.offset = back()
    stage = scene(ledger, RedisLeases(redis), runs, RedisPending(redis))
    stage.desk.notes |= FOUND["notes"]
    done, waiting = [await stage.now(FOUND["items"][name]["action"]) for name in ("done", "waiting")]
    assert (await undo.request_undo(stage.world, stage.press(done))).code == "undoing"
    assert (await stage.confirm(waiting)).code == "changed"
    await stage.play()
    assert (await stage.now(done.id)).state is State.UNDONE
    tasks = [await ledger.task(item["task"]) for item in FOUND["items"].values() if item["task"]]
    assert None not in tasks
    assert (await verify(sql, KEY)).broken_at is None
    await redis.aclose()
    await sql.dispose()
