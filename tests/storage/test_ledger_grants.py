"""Grants stand until their time is over or somebody takes them back; taints and history are found again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import Action, CallClass, Json, Preview, Session
from gate.rules.action_states import State
from gate.rules.canonical_json import canonical
from gate.rules.grant_ports import WORDS_OF_OTHERS
from gate.rules.grants import Grant, MatchKind, Pattern
from storage.grants import MOST_READ, GrantsTx
from storage.ledger import SqlLedger
from storage.transaction import SqlTx
from tests.storage.conftest import SEALS
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


@dataclass
class Read:
    """The transaction that it is made of; notes what is read in it."""

    tx: SqlTx
    rows: int = 0
    characters: int = 0
    token: str = ""

    async def execute(self, statement: Any, values: Any = None) -> Any:
        kept = (await self.tx.execute(statement, values)).freeze()
        self.rows += len(kept.data)
        self.characters += sum(len(str(value)) for row in kept.data for value in row)
        return kept()


AskedBefore = Callable[..., Awaitable[tuple[bool, Read]]]


@pytest.fixture
def asked_before(ledger: SqlLedger, engine: AsyncEngine) -> AskedBefore:
    """Whether such a call was asked before, once these were, and what is read for that."""

    async def ask(asked: Json, earlier: Sequence[Action], bound: Sequence[str] = ()) -> tuple[bool, Read]:
        async with ledger.begin() as tx:
            for one in earlier:
                await tx.insert(one)
            read = Read(tx)
            grants = GrantsTx(read, engine.dialect.name, timedelta(0), SEALS)
            return await grants.asked_before(action("new", args=canonical(asked)), bound), read

    return ask


def calls(*args: Json, **others: Any) -> list[Action]:
    return [action(f"a{number}", args=canonical(one), **others) for number, one in enumerate(args)]


async def test_earlier_calls_that_are_not_the_same_are_not_read(asked_before: AskedBefore) -> None:
    large = {"preview": Preview("Move", "Move", (), "y" * 30_000), "capture": {"a": {"text": "z" * 9_000}}}
    earlier = calls(*({"n": str(n), "list": [[n]] * 500} for n in range(150)), **large)
    again, read = await asked_before({"n": "500", "list": [[0]] * 500}, earlier)
    assert not again
    assert read.rows == 150
    assert read.characters < 1_000


async def test_of_earlier_calls_with_one_that_is_the_same_that_one_is_read(asked_before: AskedBefore) -> None:
    again, read = await asked_before({"n": "7"}, calls(*({"n": str(n)} for n in range(100))))
    assert again
    assert read.rows == 101
    assert read.characters < 2_500


@pytest.mark.parametrize("bound", [(), ("sha",)])
@pytest.mark.parametrize("same", [{"n": 5.0}, {"n": 5, "list": [{"a": [1.0, 2e0]}]}])
async def test_a_number_is_the_same_however_it_is_spelled(
    asked_before: AskedBefore, same: dict[str, Json], bound: Sequence[str]
) -> None:
    asked = {"n": 5, "list": [{"a": [1, 2]}], "sha": "s"}
    assert (await asked_before(asked | same, calls(asked), bound))[0]
    assert not (await asked_before(asked | {"n": 6}, [], bound))[0]


async def test_many_calls_of_which_only_numbers_differ_are_told_apart(asked_before: AskedBefore) -> None:
    earlier = calls(*({"n": n} for n in range(100)))
    assert not (await asked_before({"n": 100}, earlier))[0]
    assert (await asked_before({"n": 99.0}, []))[0]


STRANGE = {"a": 'a "quoted" \\ word\n', "ä": "\x00\x1b\U0001f600", "n": [1, 1.5, True, None, {"b": {}}]}


@pytest.mark.parametrize("bound", [(), ("sha",), ("a", "zz"), ("b", "o", "sha")])
@pytest.mark.parametrize("edited", [False, True])
async def test_the_same_arguments_are_found_again_beside_what_was_bound(
    asked_before: AskedBefore, bound: Sequence[str], edited: bool
) -> None:
    then, now = (STRANGE | dict.fromkeys(bound, value) for value in ("then", "now"))
    made = calls({"other": 1})[0] if edited else calls(then)[0]
    if edited:
        source = replace(made.proposal.source, proposed=canonical(then).decode())
        made = replace(made, proposal=replace(made.proposal, source=source))
    assert (await asked_before(now, [made], bound))[0]
    unbound = {name: value for name, value in STRANGE.items() if name not in bound}
    assert (await asked_before(unbound, [], bound))[0]
    assert not (await asked_before(unbound | {"n": []}, [], bound))[0]


@pytest.mark.parametrize(
    "earlier",
    [
        {"id": 12, "sha": "s"},
        {"id": 1, "ref": "r", "sha": "s"},
        {"sha": "s"},
        {"inner": {"id": 1, "sha": "s"}},
        {"id": 1, "sha": "s", "title": "t"},
        {"id": "1", "sha": "s"},
    ],
)
async def test_other_arguments_are_not_the_same_beside_what_is_bound(
    asked_before: AskedBefore, earlier: Json
) -> None:
    again, _ = await asked_before({"id": 1, "sha": "now"}, calls(earlier), ["sha"])
    assert not again


async def test_more_calls_that_may_be_the_same_than_are_read_count_as_the_same(
    asked_before: AskedBefore,
) -> None:
    large, asked = {"preview": Preview("Move", "Move", (), "y" * (MOST_READ // 5))}, {"id": 1, "sha": "now"}
    alike = calls(*({"id": 1, "ref": str(number), "sha": "s"} for number in range(5)), **large)
    assert not (await asked_before(asked, alike[:-1], ["sha"]))[0]
    again, read = await asked_before(asked, alike[-1:], ["sha"])
    assert again
    assert read.rows == 5


async def test_more_calls_than_are_looked_at_count_as_the_same(asked_before: AskedBefore) -> None:
    again, read = await asked_before({"id": "x"}, calls(*({"id": n} for n in range(200))))
    assert again
    assert read.rows == 200
