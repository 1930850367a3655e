"""Grants stand until their time is over or somebody takes them back; taints and history are found again."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from gate.rules.action import CallClass, Session
from gate.rules.action_states import State
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.grants import Grant, MatchKind, Pattern
from storage.ledger import SqlLedger
from tests.storage.samples import LATER, THREAD, action

HERE = (Pattern("path", MatchKind.UNDER, "archive/"), Pattern("deep", MatchKind.IS, True))
OTHER = Session("T1", "C1", "1700000000.000200")


def grant(now: datetime, grant_id: str = "g1", **changes: object) -> Grant:
    made = Grant(
        id=grant_id,
        session=THREAD,
        user="U1",
        server="filesystem",
        tool="move_file",
        patterns=HERE,
        definition="d1",
        given_at=now,
        until=now + timedelta(hours=1),
    )
    return replace(made, **changes)


async def given(ledger: SqlLedger, *grants: Grant) -> None:
    async with ledger.begin() as tx:
        for one in grants:
            assert await tx.grants.give(one)


async def test_a_grant_comes_back_as_it_was_given_and_is_given_once(ledger: SqlLedger) -> None:
    made = grant(await ledger.now())
    await given(ledger, made)
    async with ledger.begin() as tx:
        assert not await tx.grants.give(replace(made, patterns=()))
        assert await tx.grants.grant("g1") == made
        assert await tx.grants.grant("g2") is None
    assert await ledger.grants.grant("g1") == made


async def test_only_grants_of_this_person_tool_and_thread_are_asked_about(ledger: SqlLedger) -> None:
    now = await ledger.now()
    mine = grant(now)
    others = [
        grant(now, "g2", user="U2"),
        grant(now, "g3", tool="copy_file"),
        grant(now, "g4", server="email"),
        grant(now, "g5", session=OTHER),
    ]
    await given(ledger, mine, *others)
    async with ledger.begin() as tx:
        assert await tx.grants.grants_for(action()) == (mine,)
    assert {one.id for one in await ledger.grants.grants(THREAD)} == {"g1", "g2", "g3", "g4"}
    assert {one.id for one in await ledger.grants.grants_of("T1", "U1")} == {"g1", "g3", "g4", "g5"}
    assert await ledger.grants.grants_of("T2", "U1") == ()


async def test_a_grant_ends_with_its_time_by_the_clock_of_the_database(ledger: SqlLedger) -> None:
    await given(ledger, grant(await ledger.now()))
    ledger.offset = timedelta(minutes=61)
    async with ledger.begin() as tx:
        assert await tx.grants.grants_for(action()) == ()
        assert not await tx.grants.revoke("g1", "U1")
    assert await ledger.grants.grants(THREAD) == ()


async def test_a_grant_is_taken_back_once_and_stays_on_record(ledger: SqlLedger) -> None:
    await given(ledger, grant(await ledger.now()))
    async with ledger.begin() as tx:
        assert await tx.grants.revoke("g1", "U9")
        assert not await tx.grants.revoke("g1", "U1")
        assert await tx.grants.grants_for(action()) == ()
    ended = await ledger.grants.grant("g1")
    assert ended
    assert ended.revoked_by == "U9"
    assert ended.revoked_at


async def test_what_a_thread_has_read_from_outside_is_known_since_when(ledger: SqlLedger) -> None:
    before = await ledger.now()
    async with ledger.begin() as tx:
        assert not await tx.grants.tainted(THREAD)
        await tx.grants.taint(THREAD, "web.fetch", True)
        await tx.grants.taint(THREAD, "web.fetch", True)
        assert await tx.grants.tainted(THREAD)
    in_other = action(session=OTHER)
    assert (await ledger.grants.past(action(session=THREAD), before)).tainted
    assert not (await ledger.grants.past(in_other, before)).tainted
    assert not (await ledger.grants.past(action(session=THREAD), await ledger.now() + LATER)).tainted


async def test_what_a_model_was_told_by_others_is_named_where_no_tool_is(ledger: SqlLedger) -> None:
    async with ledger.begin() as tx:
        await tx.grants.taint(THREAD, WORDS_OF_OTHERS, False)
        assert await tx.grants.last_read(THREAD) == WORDS_OF_OTHERS
        await tx.grants.taint(THREAD, "filesystem.read_file", False)
        await tx.grants.taint(THREAD, WORDS_OF_OTHERS, False)
        assert await tx.grants.last_read(THREAD) == "filesystem.read_file"
        assert not await tx.grants.tainted(THREAD)


async def test_what_was_read_inside_is_known_and_taints_nothing(ledger: SqlLedger) -> None:
    async with ledger.begin() as tx:
        assert await tx.grants.last_read(THREAD) == ""
        await tx.grants.taint(THREAD, "filesystem.read_file", False)
        assert await tx.grants.last_read(THREAD) == "filesystem.read_file"
        assert await tx.grants.last_read(OTHER) == ""
        assert not await tx.grants.tainted(THREAD)
        await tx.grants.taint(THREAD, "filesystem.read_file", True)
        await tx.grants.taint(THREAD, "filesystem.read_file", False)
        assert await tx.grants.tainted(THREAD)


async def test_history_is_another_call_of_the_same_tool_that_went_well(ledger: SqlLedger) -> None:
    now = await ledger.now()
    async with ledger.begin() as tx:
        await tx.insert(action("a1", now, state=State.SUCCEEDED))
        await tx.insert(action("a2", now, state=State.UNDONE, tool="copy_file"))
    assert not (await ledger.grants.past(action("a1"), now)).went_well  # itself
    assert (await ledger.grants.past(action("a9"), now)).went_well
    for changes in (
        {"definition": "d2"},
        {"tool": "copy_file"},
        {"server": "email"},
        {"session": Session("T2", "C1", "1.1")},
        {"args": b'{"overwrite":true,"to":"archive/a.md"}'},
        {"cls": CallClass.DESTRUCTIVE},
    ):
        assert not (await ledger.grants.past(action("a9", **changes), now)).went_well


@pytest.mark.parametrize("later", [State.FAILED, State.UNKNOWN, State.UNDONE])
async def test_a_tool_whose_latest_call_of_a_kind_went_wrong_is_not_known(
    ledger: SqlLedger, later: State
) -> None:
    now = await ledger.now()
    async with ledger.begin() as tx:
        await tx.insert(action("a1", now, state=State.SUCCEEDED))
        await tx.insert(action("a2", now + timedelta(seconds=1), state=later))
        other = b'{"overwrite":true,"to":"archive/a.md"}'
        await tx.insert(action("a3", now + timedelta(seconds=2), state=State.SUCCEEDED, args=other))
        await tx.insert(action("a4", now + timedelta(seconds=3), state=State.CANCELLED))
    assert not (await ledger.grants.past(action("a9"), now)).went_well
    assert (await ledger.grants.past(action("a9", args=other), now)).went_well
    async with ledger.begin() as tx:
        await tx.insert(action("a5", now + timedelta(seconds=4), state=State.SUCCEEDED))
    assert (await ledger.grants.past(action("a9"), now)).went_well
