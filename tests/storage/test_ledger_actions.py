"""Moving an action: one guarded statement, one winner, and the database's clock between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.event import listen
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import Action, Claim, Execution, Undo, Vote
from gate.rules.action_states import ARROWS, Event, NoSuchArrow, State, after
from gate.rules.audit import Entry
from gate.rules.jobs import undo
from gate.rules.ports import ActionContext, Stale
from storage.columns import clock
from storage.ledger import SqlLedger
from tests.actions import but
from tests.storage.samples import THREAD, TTL, action, inverse

SECOND = timedelta(seconds=1)


async def stored(ledger: SqlLedger, action_id: str = "a1", **changes: object) -> Action:
    """An action made now by the database's clock."""
    new = action(action_id, await ledger.now(), **changes)
    async with ledger.begin() as tx:
        return await tx.insert(new)


async def move(ledger: SqlLedger, before: Action, event: Event, **changes: object) -> Action:
    async with ledger.begin() as tx:
        return await tx.move(before, event, **changes)


async def test_every_arrow_leads_where_the_table_says(ledger: SqlLedger) -> None:
    for (state, event), target in ARROWS.items():
        before = await stored(ledger, f"{state}-{event}", state=state)
        lost = {"lost": True} if event is Event.EXPIRE else {}
        moved = await move(ledger, before, event, **lost)
        assert (moved.state, moved.revision) == (target, 2)
        assert moved.version == (2 if event is Event.EDIT else 1)
        assert await ledger.action(moved.id) == moved


async def test_an_arrow_that_is_not_there_changes_nothing(ledger: SqlLedger) -> None:
    before = await stored(ledger)
    with pytest.raises(NoSuchArrow):
        await move(ledger, before, Event.SUCCEED)
    assert await ledger.action("a1") == before


async def test_a_move_changes_the_fields_it_is_given(ledger: SqlLedger) -> None:
    before = await stored(ledger)
    new = replace(before.proposal, args=b"{}", expires_at=before.expires_at + TTL)
    edited = await move(ledger, before, Event.EDIT, proposal=new, receipt="r2")
    wanted = replace(before, version=2, revision=2, proposal=new, receipt="r2")
    assert edited == wanted == await ledger.action("a1")


@pytest.mark.parametrize("field", ["id", "version", "revision", "state"])
async def test_only_an_arrow_changes_what_guards(ledger: SqlLedger, field: str) -> None:
    before = await stored(ledger)
    with pytest.raises(TypeError, match=f"only an arrow changes {field}"):
        async with ledger.begin() as tx:
            await tx.update_action(before, **{field: getattr(before, field)})


@pytest.mark.parametrize("change", [{"version": 2}, {"revision": 2}, {"state": State.APPROVED}, {"id": "a2"}])
async def test_a_move_from_what_is_no_longer_so_tells_how_it_stands(
    ledger: SqlLedger, change: dict[str, object]
) -> None:
    now = await stored(ledger)
    before = but(now, **change)
    with pytest.raises(Stale) as stale:
        await move(ledger, before, Event.CANCEL)
    assert stale.value.action == (None if "id" in change else now)
    with pytest.raises(Stale):
        async with ledger.begin() as tx:
            await tx.update_action(before, undo=Undo(open=True))


async def test_of_two_moves_at_once_one_is_stale(ledger: SqlLedger, other: SqlLedger) -> None:
    before = await stored(ledger)
    ends = await asyncio.gather(
        move(ledger, before, Event.APPROVE), move(other, before, Event.CANCEL), return_exceptions=True
    )
    (stale,) = (end for end in ends if isinstance(end, Stale))
    (won,) = (end for end in ends if isinstance(end, Action))
    assert stale.action == won == await ledger.action("a1")


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("event", [e for e in Event if (State.PREPARED, e) in ARROWS])
async def test_the_clock_that_decides_is_the_databases(ledger: SqlLedger, event: Event) -> None:
    before = await stored(ledger)
    ledger.offset = TTL - SECOND if event is Event.EXPIRE else TTL + SECOND
    if event is Event.SUPERSEDE:
        assert (await move(ledger, before, event)).state is State.SUPERSEDED
        return
    with pytest.raises(Stale) as stale:
        await move(ledger, before, event)
    assert stale.value.action == before
    ledger.offset = TTL + SECOND if event is Event.EXPIRE else TTL - SECOND
    assert (await move(ledger, before, event)).state is after(State.PREPARED, event)


async def test_a_transaction_that_has_changed_an_action_knows_the_time(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    before, sent = await stored(ledger), list[str]()
    listen(engine.sync_engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    earliest = await ledger.now()
    async with ledger.begin() as tx:
        await tx.move(before, Event.CANCEL)
        moved = len(sent)
        assert earliest <= await tx.now()
        assert len(sent) == moved
        latest = (await tx.execute(select(clock(ledger.offset)))).scalar_one()
        assert await tx.now() <= latest


async def test_half_a_second_after_its_time_is_too_late(ledger: SqlLedger) -> None:
    before = await stored(ledger)
    ledger.offset = TTL + SECOND / 2
    with pytest.raises(Stale):
        await move(ledger, before, Event.APPROVE)
    assert (await move(ledger, before, Event.EXPIRE)).state is State.EXPIRED


async def test_around_the_expiry_exactly_one_of_fifty_wins(
    ledger: SqlLedger, open_ledger: Callable[[], SqlLedger]
) -> None:
    events = [Event.APPROVE, Event.CANCEL, Event.EXPIRE, Event.REJECT, Event.EXPIRE] * 10
    before = await stored(ledger)
    clocks = [open_ledger() for _ in events]
    for number, one in enumerate(clocks):  # half of them believe it has expired
        one.offset = TTL + SECOND * (5 if number % 2 else -60)
    moves = (move(one, before, event) for one, event in zip(clocks, events, strict=True))
    ends = await asyncio.gather(*moves, return_exceptions=True)
    winners = [end for end in ends if isinstance(end, Action)]
    assert len(winners) == 1
    assert await ledger.action("a1") == winners[0]
    assert {type(end) for end in ends} == {Action, Stale}


async def test_one_person_votes_once_on_one_version(ledger: SqlLedger) -> None:
    now = (await stored(ledger)).created_at
    first, late = Vote("a1", 1, "U2", True, now), Vote("a1", 1, "U3", True, now + SECOND)
    async with ledger.begin() as tx:
        assert await tx.vote(late)
        assert await tx.vote(first)
        assert not await tx.vote(replace(first, yes=False))
        assert await tx.vote(replace(first, version=2))
        assert await tx.votes("a1", 1) == (first, late)
    assert await ledger.votes("a1", 2) == (replace(first, version=2),)


async def test_of_many_votes_by_one_person_at_once_one_counts(ledger: SqlLedger, other: SqlLedger) -> None:
    vote = Vote("a1", 1, "U2", True, (await stored(ledger)).created_at)

    async def cast(by: SqlLedger) -> bool:
        async with by.begin() as tx:
            return await tx.vote(vote)

    assert sorted(await asyncio.gather(*(cast(by) for by in [ledger, other] * 5))) == [False] * 9 + [True]


async def test_two_last_votes_at_once_see_each_other(ledger: SqlLedger, other: SqlLedger) -> None:
    before = await stored(ledger)

    async def vote(by: SqlLedger, person: str) -> int:
        async with by.begin() as tx:
            await tx.action("a1")
            await tx.vote(Vote("a1", 1, person, True, before.created_at))
            return len(await tx.votes("a1", 1))

    assert sorted(await asyncio.gather(vote(ledger, "U2"), vote(other, "U3"))) == [1, 2]


async def test_inserting_again_returns_what_is_there(ledger: SqlLedger, other: SqlLedger) -> None:
    first = await stored(ledger)

    async def again(by: SqlLedger) -> Action:
        async with by.begin() as tx:
            return await tx.insert(but(first, args=b"[]"))

    assert await asyncio.gather(again(ledger), again(other)) == [first, first]


async def test_pending_are_those_that_can_still_be_decided_oldest_first(ledger: SqlLedger) -> None:
    now = await ledger.now()
    elsewhere = replace(THREAD, thread="2")
    for number, (changes, age) in enumerate(
        [({}, 3), ({"requester": "U2"}, 2), ({"session": elsewhere}, 4), ({"state": State.CANCELLED}, 1)]
    ):
        async with ledger.begin() as tx:
            await tx.insert(action(f"a{number}", now - age * SECOND, **changes))
            await tx.insert(action(f"old{number}", now - TTL - SECOND, **changes))
            await tx.insert(action(f"foreign{number}", now, session=replace(THREAD, team="T2")))
    assert [a.id for a in await ledger.pending("T1")] == ["a2", "a0", "a1"]
    assert [a.id for a in await ledger.pending("T1", user="U1")] == ["a2", "a0"]
    assert [a.id for a in await ledger.pending("T1", session=THREAD)] == ["a0", "a1"]
    assert [a.id for a in await ledger.pending("T1", user="U2", session=THREAD)] == ["a1"]
    assert await ledger.before_action("a0", "T1", "U1") == ActionContext(known=True, waiting=2)
    assert await ledger.before_action("a9", "T1", "U2") == ActionContext(known=False, waiting=1)


async def test_an_action_is_read_with_the_votes_on_its_version_in_their_order(ledger: SqlLedger) -> None:
    now = await ledger.now()
    assert await ledger.voted("a1") is None
    kept = await stored(ledger, version=2)
    assert await ledger.voted("a1") == (kept, ())
    second = Vote("a1", 2, "U2", True, now + SECOND)
    first = Vote("a1", 2, "U3", True, now)
    async with ledger.begin() as tx:
        for vote in (second, first, Vote("a1", 1, "U4", True, now)):
            await tx.vote(vote)
    assert await ledger.voted("a1") == (kept, (first, second))


async def test_the_janitor_is_given_what_is_overdue_and_nothing_else(ledger: SqlLedger) -> None:
    now, kept = await ledger.now(), dict[State, Action]()
    for state in State:
        kept[state] = await stored(ledger, state, state=state, claim=Claim("t", "e", now + 60 * SECOND))
    ids = {state: one.id for state, one in kept.items()}
    assert await ledger.due() == ()
    ledger.offset = 31 * SECOND
    assert [one.id for one in await ledger.due()] == [ids[State.APPROVED]]
    ledger.offset = 61 * SECOND
    assert [one.id for one in await ledger.due()] == [ids[State.APPROVED], ids[State.EXECUTING]]
    ledger.offset = TTL + SECOND
    late = await ledger.due()
    assert [one.id for one in late] == [ids[s] for s in (State.APPROVED, State.EXECUTING, State.PREPARED)]
    assert [one.id for one in await ledger.due(limit=1)] == [late[0].id]
    assert (late[-1].kind, late[-1].revision) == ("action", kept[State.PREPARED].revision)


async def test_what_will_be_due_is_found_ahead_with_the_seconds_until_then(ledger: SqlLedger) -> None:
    made = await stored(ledger, state=State.PREPARED)
    ledger.offset = TTL - 10 * SECOND
    assert await ledger.due(5) == ()
    (ahead,) = await ledger.due(60)
    assert ahead.id == made.id
    assert 0 < ahead.left < 10.1


async def test_a_renewed_claim_is_not_overdue(ledger: SqlLedger) -> None:
    now = await ledger.now()
    before = await stored(ledger, state=State.EXECUTING, claim=Claim("t", "e", now + SECOND))
    async with ledger.begin() as tx:
        await tx.update_action(before, execution=Execution(claim=Claim("t", "e", now + 60 * SECOND)))
    ledger.offset = 30 * SECOND
    assert await ledger.due() == ()


async def test_actions_of_a_turn_come_in_the_order_of_its_calls(ledger: SqlLedger) -> None:
    for call in (2, 0, 1):
        await stored(ledger, f"a{call}", turn="t1", call=call)
    await stored(ledger, "b", turn="t2")
    assert [a.id for a in await ledger.actions_of_turn("t1")] == ["a0", "a1", "a2"]


async def test_undoable_is_what_succeeded_in_time_and_once_newest_first(ledger: SqlLedger) -> None:
    now = await ledger.now()
    for number, (until, changes) in enumerate(
        [(TTL, {}), (None, {}), (SECOND, {}), (None, {"state": State.UNDOING}), (None, {"requester": "U2"})]
    ):
        done = await stored(ledger, f"a{number}", **{"state": State.SUCCEEDED, **changes})
        async with ledger.begin() as tx:
            await tx.push_undo(done, inverse(until and now + until), "move", {"path": "a"}, {"path": "b"})
    ledger.offset = 2 * SECOND
    found = await ledger.undoable("T1", user="U1")
    assert [entry.action.id for entry in found] == ["a1", "a0"]
    assert {(entry.kind, entry.undone) for entry in found} == {("move", False)}
    assert [e.action.id for e in await ledger.undoable("T1", session=THREAD, limit=2)] == ["a4", "a1"]
    async with ledger.begin() as tx:
        await tx.mark_undone("a1")
    await ledger.purge(now)
    assert [entry.action.id for entry in await ledger.undoable("T1")] == ["a4", "a0"]


async def test_the_log_is_shown_to_whom_it_is_about(ledger: SqlLedger) -> None:
    await stored(ledger, "a1", requester="U1")
    elsewhere = replace(THREAD, thread="2")
    events = [("proposed", "U1", THREAD), ("confirmed", "U2", THREAD), ("started", "system", elsewhere)]
    async with ledger.begin() as tx:
        for event, actor, session in events:
            tx.audit(Entry(event=event, actor=actor, session=session.key, action="a1", requester="U1"))
        tx.audit(Entry(event="other", actor="U3", session="T2:C1:1"))
        tx.enqueue(undo("a1"))
    names = {
        "team": {"team": "T1"},
        "requester": {"team": "T1", "user": "U1"},
        "approver": {"team": "T1", "user": "U2"},
        "thread": {"team": "T1", "session": THREAD},
        "nobody": {"team": "T1", "user": "U3"},
    }
    seen = {
        name: [line.entry.event for line in await ledger.audit_tail(**who)] for name, who in names.items()
    }
    assert seen == {
        "team": ["started", "confirmed", "proposed"],
        "requester": ["started", "confirmed", "proposed"],
        "approver": ["confirmed"],
        "thread": ["confirmed", "proposed"],
        "nobody": [],
    }
    assert [line.entry.event for line in await ledger.audit_tail(team="T1", user="U1", limit=1)] == [
        "started"
    ]
