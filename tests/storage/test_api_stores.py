"""What the API keeps, on both databases: pages, kept answers, and events in the order of their commits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.access import StreamEvent, Token, TokenKind
from gate.rules.action import Session
from gate.rules.action_states import Event
from gate.rules.jobs import Run
from gate.rules.messages import LedgerEvent
from gate.rules.settings import Switches
from gate.rules.webhooks import Webhook, secret_of
from gate.tasks.create_task import new_task
from storage.api_tables import webhooks
from storage.events import EventLog
from storage.idempotency import AnswerStore
from storage.ledger import SqlLedger
from storage.pagination import SqlPages
from storage.tokens import TokenStore
from storage.webhooks import HookStore
from tests.storage.conftest import KEY, SEALS
from tests.storage.samples import action

WHERE = Session("T1", "C1", "1.0")


async def token(store: TokenStore, kind: TokenKind = TokenKind.PERSON, user: str = "") -> Token:
    now = await store.now()
    made = Token("0" * 16, kind, "x", action().session.team, user or action().requester, ("C1",), now, now)
    return replace(made, expires_at=now + timedelta(days=1))


async def test_pages_follow_each_other(engine: AsyncEngine, ledger: SqlLedger) -> None:
    store, pages = TokenStore(engine, SEALS), SqlPages(engine)
    now = await ledger.now()
    async with ledger.begin() as tx:
        for number in range(5):
            await tx.insert(action(id=f"a{number}", created_at=now, expires_at=now + timedelta(hours=1)))
    whose = await token(store)
    found, after = [], ""
    while page := (await pages.actions(whose, pending=True, session=None, after=after, limit=2)).items:
        found += [one.id for one in page]
        after = page[-1].id
    assert found == ["a4", "a3", "a2", "a1", "a0"]  # of the same moment: by id
    other = await token(store, user="U_ELSE")
    assert not (await pages.actions(other, pending=False, session=None, after="", limit=9)).items
    agent = await token(store, TokenKind.AGENT)
    async with ledger.begin() as tx:
        await tx.record_token(agent.id, "a3")
    mine = await pages.actions(agent, pending=True, session=action().session, after="", limit=9)
    assert [one.id for one in mine.items] == ["a3"]
    assert not (await pages.actions(whose, pending=False, session=None, after="a0", limit=9)).items
    with pytest.raises(LookupError):
        await pages.tasks(agent, after="a0", limit=9)
    with pytest.raises(LookupError):
        await pages.actions(other, pending=False, session=None, after="a0", limit=9)


async def test_a_page_ends_where_the_words_of_tasks_are_many(engine: AsyncEngine, ledger: SqlLedger) -> None:
    store, pages = TokenStore(engine, SEALS), SqlPages(engine)
    whose, now = await token(store), await ledger.now()
    for number in range(4):
        async with ledger.begin() as tx:
            where = replace(action().session, thread=f"{number}.0")
            made = new_task(str(number), where, whose.user, "x" * 400_000, Switches(), now)
            await tx.open_task(made)
    first = await pages.tasks(whose, after="", limit=9)
    assert (len(first.items), first.more) == (2, True)


async def test_one_of_many_gets_the_key(engine: AsyncEngine) -> None:
    store = AnswerStore(engine)
    got = await asyncio.gather(*(store.begin("t", "k", "d", f"h{n}") for n in range(8)))
    assert sum(kept is None for kept in got) == 1


async def test_what_a_token_answers_beyond_its_budget_of_a_day_is_kept_without_its_body(
    engine: AsyncEngine,
) -> None:
    now = [0.0]
    store = AnswerStore(engine, seconds=lambda: now[0], budget=10)

    async def kept(token: str, key: str) -> str:
        assert await store.begin(token, key, "d", "h") is None
        await store.keep(token, key, "h", 201, "123456")
        found = await store.begin(token, key, "d", "h")
        assert found is not None
        assert found.status == 201
        return found.body

    assert [await kept("t", "k1"), await kept("t", "k2"), await kept("u", "k1")] == ["123456", "", "123456"]
    now[0] = 24 * 3600.0
    assert await kept("t", "k3") == "123456"


async def test_a_change_is_told_once_with_what_stands_at_the_end(
    engine: AsyncEngine, ledger: SqlLedger
) -> None:
    now = await ledger.now()
    async with ledger.begin() as tx:
        made = await tx.insert(action(created_at=now, expires_at=now + timedelta(hours=1)))
        await tx.move(made, Event.CANCEL)
    async with ledger.begin() as tx:
        await tx.insert(action(id="b", created_at=now, expires_at=now + timedelta(hours=1)))
    told = await EventLog(engine).after(0, 9)
    assert [(one.kind, one.body["action_id"]) for one in told] == [
        ("action_changed", made.id),  # nobody was asked: it was withdrawn at once
        ("action_changed", "b"),
        ("approval_requested", "b"),
    ]
    assert told[0].body["state"] == "cancelled"
    assert told[1].subject.action is not None


async def test_nobody_reads_past_an_event_that_is_still_to_come(
    engine: AsyncEngine, open_ledger: Callable[[], SqlLedger]
) -> None:
    """Readers that remember the last number see every event of 60 transactions at once, once and in order."""
    log, seen = EventLog(engine), []
    ledgers = [open_ledger() for _ in range(3)]

    async def write(number: int) -> None:
        async with ledgers[number % 3].begin() as tx:
            tx.publish(LedgerEvent("task_changed", WHERE, f"t{number}", {}))
            await asyncio.sleep(0)

    writing = asyncio.gather(*(write(number) for number in range(60)))
    last = 0
    while len(seen) < 60:
        for one in await log.after(last, 100):
            seen.append(one.task)
            last = one.seq
    await writing
    assert sorted(seen) == sorted({f"t{number}" for number in range(60)})


async def test_two_replicas_ask_for_each_delivery_once(
    engine: AsyncEngine, ledger: SqlLedger, other: SqlLedger
) -> None:
    store = HookStore(engine, SEALS)
    hook = Webhook("h", "https://example.com/", secret_of(b"k" * 32), "", "T1", (), (), 0, await ledger.now())
    await store.add(hook)
    for number in range(5):
        async with ledger.begin() as tx:
            tx.publish(LedgerEvent("task_changed", WHERE, f"t{number}", {}))
    asked = await asyncio.gather(store.fan_out(ledger), store.fan_out(other))
    assert sum(asked) == 5
    async with engine.connect() as connection:
        ran = (await connection.exec_driver_sql("SELECT count(*) FROM ran")).scalar_one()
    assert ran == 5


async def test_the_deliveries_of_a_backlog_are_asked_for_in_small_transactions(engine: AsyncEngine) -> None:
    asked: dict[Any, list[str]] = {}

    def enqueue(connection: Connection, run: Run) -> None:
        asked.setdefault(connection.get_transaction(), []).append(run.args[1])

    async def every_second(hook: Webhook, found: Sequence[StreamEvent]) -> Sequence[StreamEvent]:
        return found[1::2]

    ledger, store = SqlLedger(engine, enqueue, KEY), HookStore(engine, SEALS)
    secret = secret_of(b"k" * 32)
    await store.add(Webhook("h", "https://example.com/", secret, "", "T1", (), (), 0, await ledger.now()))
    async with ledger.begin() as tx:
        for number in range(241):
            tx.publish(LedgerEvent("task_changed", WHERE, f"t{number}", {}))
    found = await EventLog(engine).after(0, 500)
    assert await store.fan_out(ledger, every_second) == 120
    assert [seq for some in asked.values() for seq in some] == [str(one.seq) for one in found[1::2]]
    assert max(map(len, asked.values())) <= 50, "others may write between them"
    assert await store.fan_out(ledger, every_second) == 0, "the last event, too, was looked at"
    (hook,) = await store.all()
    assert hook.seq == found[-1].seq


async def test_a_webhook_is_stored_without_its_secret_and_counts_for_no_other_receiver(
    engine: AsyncEngine,
) -> None:
    store = HookStore(engine, SEALS)
    secret, newer = secret_of(b"k" * 32), secret_of(b"n" * 32)
    now = datetime(2026, 1, 1, tzinfo=UTC)
    await store.add(Webhook("h", "https://example.com/", secret, "", "T1", (), (), 0, now))
    assert await store.rotate("h", newer)
    (hook,) = await store.all()
    assert (hook.secret, hook.former) == (newer, secret)
    async with engine.begin() as connection:
        row = str((await connection.execute(select(webhooks))).all())
        assert "whsec_" not in row
        await connection.execute(update(webhooks).values(url="https://evil.example/"))
    assert await store.all() == ()
    assert await store.get("h") is None
    assert not await store.rotate("h", newer)
