"""The inbox is read in order by one reader at a time; turns, cards and modals are where they were put."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gate.rules.action import Session
from gate.rules.messages import EPHEMERAL, NOT_TAKEN, UNDECIDED
from gate.rules.planner_port import CallReport, Exchange, Incoming, Say, Turn
from gate.rules.ports import Note, OpenedModal, Posted, TooManyWaiting
from storage.ledger import SqlLedger
from tests.storage.samples import THREAD

OTHER = replace(THREAD, thread="2")


def message(ts: str, session: Session = THREAD) -> Incoming:
    return Incoming(f"{session.key}:{ts}", session, "U1", f"text of {ts}", ts, True)


async def receive(ledger: SqlLedger, *messages: Incoming) -> list[bool]:
    async with ledger.begin() as tx:
        return [await tx.receive(one) for one in messages]


async def take(ledger: SqlLedger, reader: str, session: Session = THREAD, seconds: float = 60) -> str | None:
    async with ledger.begin() as tx:
        taken = await tx.reserve_message(session, reader, seconds)
        return taken and taken.ts


async def finish(ledger: SqlLedger, ts: str) -> None:
    async with ledger.begin() as tx:
        await tx.finish_message(message(ts).key)


async def test_a_message_beyond_those_of_its_author_that_may_be_unread_is_refused(ledger: SqlLedger) -> None:
    async def receive_most(message: Incoming) -> bool:
        async with ledger.begin() as tx:
            return await tx.receive(message, 2)

    assert [await receive_most(message(ts)) for ts in "112"] == [True, False, True]
    assert not await receive_most(message("1"))
    with pytest.raises(TooManyWaiting):
        await receive_most(message("3", OTHER))
    assert await receive_most(replace(message("4"), user="U2"))
    await finish(ledger, "1")
    assert await receive_most(message("3", OTHER))


async def test_a_message_comes_in_once(ledger: SqlLedger) -> None:
    assert await receive(ledger, message("1"), message("1"), message("1", OTHER)) == [True, False, True]


async def test_messages_are_read_in_the_order_of_their_ts(ledger: SqlLedger) -> None:
    await receive(ledger, message("1700000002.000100"), message("1700000001.000900"), message("9", OTHER))
    read = []
    while ts := await take(ledger, "r1"):
        read.append(ts)
        await finish(ledger, ts)
    assert read == ["1700000001.000900", "1700000002.000100"]
    assert await take(ledger, "r1", OTHER) == "9"


async def test_a_reader_is_done_with_one_message_and_reserves_the_next_in_one_transaction(
    ledger: SqlLedger, other: SqlLedger
) -> None:
    await receive(ledger, message("1"), message("2"))
    assert await take(ledger, "r1") == "1"
    async with ledger.begin() as tx:
        found = await tx.reserve_message(THREAD, "r1", 60, message("1").key)
        assert found is not None
        assert found.ts == "2"
    assert await take(other, "r2") is None
    async with ledger.begin() as tx:
        assert await tx.reserve_message(THREAD, "r1", 60, message("2").key) is None
    await receive(ledger, message("1"))
    assert await take(other, "r2") is None


async def test_a_second_reader_leaves_the_thread_to_the_first(ledger: SqlLedger, other: SqlLedger) -> None:
    await receive(ledger, message("1"), message("2"), message("3", OTHER))
    assert await take(ledger, "r1") == "1"
    assert await take(other, "r2") is None
    assert await take(other, "r2", OTHER) == "3"
    assert await take(ledger, "r1") == "1"  # a run that is repeated goes on with the same
    await receive(ledger, message("0"))  # late, and before the one being read
    assert await take(other, "r2") is None
    await finish(ledger, "1")
    assert await take(other, "r2") == "0"


async def test_a_reader_that_is_gone_is_followed_by_the_next(ledger: SqlLedger) -> None:
    await receive(ledger, message("1"))
    assert await take(ledger, "r1", seconds=10) == "1"
    ledger.offset = timedelta(seconds=9)
    assert await take(ledger, "r2") is None
    ledger.offset = timedelta(seconds=11)
    assert await take(ledger, "r2") == "1"


async def test_twenty_readers_at_once_read_each_message_once_and_in_order(
    ledger: SqlLedger, other: SqlLedger
) -> None:
    read: list[str] = []

    async def reader(number: int, by: SqlLedger) -> None:
        await receive(by, message(f"{number:02}"))
        while ts := await take(by, f"r{number}"):
            read.append(ts)
            await finish(by, ts)

    await asyncio.gather(*(reader(number, by) for number, by in enumerate([ledger, other] * 10)))
    assert sorted(read) == [f"{number:02}" for number in range(20)]
    assert await take(ledger, "last") is None


async def test_what_was_done_with_is_kept_until_it_is_purged(ledger: SqlLedger) -> None:
    await receive(ledger, message("1"), message("2"))
    await finish(ledger, "1")
    await ledger.purge(await ledger.now() - timedelta(hours=24))
    assert await receive(ledger, message("1")) == [False]
    ledger.offset = timedelta(hours=25)
    await ledger.purge(await ledger.now() - timedelta(hours=24))
    assert await receive(ledger, message("1"), message("2")) == [True, False]


async def test_a_long_history_is_read_a_few_turns_at_a_time(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = await ledger.now()
    for number in range(23):
        async with ledger.begin() as tx:
            said = Turn(f"t{number}", THREAD, "U1", f"ask {number}", now + timedelta(seconds=number))
            await tx.open_turn(said)
            await tx.store_exchange(said.id, 0, Exchange(Say(f"answer {number}")))
            await tx.store_exchange(said.id, 1, Exchange(Say("more")))
    rows = list[int]()
    ask = ledger._ask

    async def counted(*questions: Any, **values: Any) -> Any:
        found = await ask(*questions, **values)
        rows.append(len(found[0]))
        return found

    monkeypatch.setattr(ledger, "_ask", counted)
    found = await ledger.history(THREAD, now, 101)
    assert [one.text for one in found] == [f"ask {number}" for number in range(23)]
    assert [one.exchanges[0].reply for one in found] == [Say(f"answer {number}") for number in range(23)]
    assert rows == [23, 10, 10, 10, 10, 6]


async def test_a_turn_is_opened_once_and_grows(ledger: SqlLedger) -> None:
    now = await ledger.now()
    first = Turn("t1", THREAD, "U1", "hello", now)
    assert not await ledger.has_session(THREAD)
    async with ledger.begin() as tx:
        assert await tx.open_turn(first) == first
        await tx.open_turn(Turn("t2", THREAD, "U2", "me too", now + timedelta(seconds=1)))
        await tx.store_exchange("t1", 1, Exchange(Say("second")))
        await tx.store_exchange("t1", 0, Exchange(Say("first")))
        assert await tx.store_exchange("t1", 1, Exchange(Say("another"))) == Exchange(Say("second"))
        await tx.record_reports("t1", 1, (CallReport(0, "succeeded", "said"),))
    second = Exchange(Say("second"), (CallReport(0, "succeeded", "said"),))
    grown = replace(first, exchanges=(Exchange(Say("first")), second))
    assert await ledger.turn("t1") == grown
    async with ledger.begin() as tx:
        assert await tx.open_turn(first) == grown
    assert await ledger.has_session(THREAD)
    assert await ledger.thread_starter(THREAD) == "U1"
    assert await ledger.thread_starter(OTHER) is None
    assert await ledger.turn("none") is None


async def test_where_a_card_stands_never_goes_back(ledger: SqlLedger, other: SqlLedger) -> None:
    places = [Posted("C1", "1.1", revision, f"digest {revision}") for revision in (3, 1, 5, 2, 4)]
    await asyncio.gather(
        *(by.set_posted("a1", one) for by, one in zip([ledger, other] * 3, places, strict=False))
    )
    assert await ledger.posted("a1") == places[2]
    await ledger.set_posted("a1", replace(places[2], digest="redrawn"))
    assert await ledger.posted("a1") == replace(places[2], digest="redrawn")
    assert await ledger.posted("a2") is None


async def test_it_is_known_since_when_a_card_shows_its_version(ledger: SqlLedger) -> None:
    since = []
    for revision, digest in enumerate(("v1", "v1", "v2", "v2"), 1):
        ledger.offset += timedelta(seconds=10)
        await ledger.set_posted("a1", Posted("C1", "1.1", revision, digest))
        posted = await ledger.posted("a1")
        assert posted is not None
        since.append(posted.at)
    assert since[0] == since[1] < since[2] == since[3]


async def test_a_modal_opened_again_replaces_the_one_before(ledger: SqlLedger) -> None:
    sheet = OpenedModal("V1", "typed", "U1", "a1", 1, "r1")
    async with ledger.begin() as tx:
        await tx.save_modal(sheet)
        await tx.save_modal(replace(sheet, version=2))
    assert await ledger.opened_modal("V1") == replace(sheet, version=2)
    ledger.offset = timedelta(hours=25)
    await ledger.purge(await ledger.now() - timedelta(hours=24))
    assert await ledger.opened_modal("V1") is None


async def test_others_wrote_between_a_card_and_a_message_of_the_same_thread(ledger: SqlLedger) -> None:
    own, of_ben = replace(message("5"), user="U1"), replace(message("4"), user="U2")
    elsewhere = replace(message("4", OTHER), user="U3", key=f"{message('4').key}0")
    await receive(ledger, own, replace(message("3"), user="U1"), elsewhere)
    assert not await ledger.others_wrote(own, "2")
    async with ledger.begin() as tx:
        await tx.receive(replace(of_ben, key=f"{THREAD.team}:{THREAD.channel}:4"))
        await tx.finish_message(f"{THREAD.team}:{THREAD.channel}:4")
    assert await ledger.others_wrote(own, "2")
    assert not await ledger.others_wrote(own, "4")
    assert not await ledger.others_wrote(replace(own, ts="4"), "2")
    assert not await ledger.others_wrote(replace(own, user="U2"), "2")


@pytest.mark.parametrize(
    ("to", "kind", "ts", "counts"),
    [
        ("", "read", "1700000002.000000", True),
        ("U1", "read", "1700000002.000000", True),
        ("U1", "read", "1700000000.000000", False),
        ("U1", "read", EPHEMERAL, True),
        ("U1", UNDECIDED, "1700000002.000000", False),
        ("U1", UNDECIDED, EPHEMERAL, False),
        ("U2", "read", "1700000002.000000", False),
    ],
)
async def test_what_a_person_was_told_below_a_card_counts_but_for_why_their_words_did_nothing(
    ledger: SqlLedger, to: str, kind: str, ts: str, counts: bool
) -> None:
    async with ledger.begin() as tx:
        await tx.note(Note("n1", THREAD, kind, {"text": "what"}, to))
    await ledger.set_posted("n1", Posted(THREAD.channel, ts, 1))
    assert await ledger.shown_after(THREAD, "1700000001.000000", "U1") is counts
    assert await ledger.shown_after(THREAD, "1700000001.000000", "U1", but="") is (
        counts or kind == UNDECIDED
    )
    assert not await ledger.shown_after(OTHER, "1700000001.000000", "U1")


async def test_what_one_person_was_told_counts_from_when_that_was_written_down(ledger: SqlLedger) -> None:
    async with ledger.begin() as tx:
        await tx.note(Note("n1", THREAD, "read", {"text": "what"}, "U1"))
    await ledger.set_posted("n1", Posted(THREAD.channel, EPHEMERAL, 1))
    later = await ledger.now() + timedelta(seconds=10)
    assert not await ledger.shown_after(THREAD, f"{later.timestamp():.6f}", "U1")


@pytest.mark.parametrize(
    ("to", "kind", "counts"),
    [("", "text", True), ("U1", "read", True), ("U1", UNDECIDED, False), ("U2", "read", False)],
)
async def test_a_note_may_stand_below_a_card_from_when_somebody_began_to_post_it(
    ledger: SqlLedger, to: str, kind: str, counts: bool
) -> None:
    since = f"{(await ledger.now()).timestamp():.6f}"
    async with ledger.begin() as tx:
        await tx.note(Note("n1", THREAD, kind, {"text": "what"}, to))
    await ledger.reopen_drawing("n1")
    assert not await ledger.shown_after(THREAD, since, "U1")
    await ledger.begin_drawing("n1")
    assert await ledger.shown_after(THREAD, since, "U1") is counts
    assert not await ledger.shown_after(OTHER, since, "U1")


async def test_what_needed_no_message_or_was_not_taken_is_not_on_its_way(ledger: SqlLedger) -> None:
    since = f"{(await ledger.now()).timestamp():.6f}"
    async with ledger.begin() as tx:
        await tx.note(Note("n1", THREAD, "text", {"text": "what"}))
    await ledger.reopen_drawing("n1")
    for gone in (Posted("", "", 0), Posted(THREAD.channel, "", 0, NOT_TAKEN)):
        await ledger.begin_drawing("n1")
        assert await ledger.shown_after(THREAD, since, "U1")
        await ledger.set_posted("n1", gone)
        assert not await ledger.shown_after(THREAD, since, "U1")


async def test_what_nothing_was_heard_of_for_a_day_does_not_come_below_a_new_card(ledger: SqlLedger) -> None:
    async with ledger.begin() as tx:
        await tx.note(Note("n1", THREAD, "text", {"text": "what"}))
    await ledger.reopen_drawing("n1")
    await ledger.begin_drawing("n1")
    now = await ledger.now()
    for hours, counts in ((23, True), (25, False)):
        since = f"{(now + timedelta(hours=hours)).timestamp():.6f}"
        assert await ledger.shown_after(THREAD, since, "U1") is counts
