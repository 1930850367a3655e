"""Pinned tools and known people are remembered as they were last told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import delete, update
from sqlalchemy.exc import NoResultFound
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import ALTERED, Person
from gate.rules.ports import Unavailable
from gate.rules.tool import Pin
from storage.audit_log import last, verify
from storage.database import open_engine
from storage.row_macs import RowMacs
from storage.slack_users import PeopleStore, StoredPerson
from storage.tables import audit_head, tool_pins
from storage.tool_pins import MOST_PINS, PinStore
from tests.storage.conftest import KEY, SEALS

THEN = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = THEN + timedelta(minutes=1)
ANNA = Person("T1", "U1", "Anna", "T1", groups=frozenset({"S2", "S1"}))


async def test_a_pin_stays_as_it_was_first_seen_until_somebody_reviews_another(engine: AsyncEngine) -> None:
    pins = PinStore(engine, SEALS)
    await pins.first_seen("fs", {"move": "d1", "delete": "d1"}, THEN)
    await pins.review([Pin("fs", "move", "d1", "U1", LATER)], KEY)
    await pins.first_seen("fs", {"move": "d1", "copy": "d1"}, LATER)
    reviewed = Pin("fs", "move", "d1", "U1", LATER)
    unread = Pin("fs", "copy", "d1", None, LATER), Pin("fs", "delete", "d1", None, THEN)
    assert await pins.all() == (*unread, reviewed)
    await pins.review([Pin("fs", "move", "d2", "U2", THEN)], KEY)
    assert (await pins.all())[2] == Pin("fs", "move", "d2", "U2", THEN)


async def test_a_review_and_its_entry_are_one_transaction(engine: AsyncEngine) -> None:
    pins = PinStore(engine, SEALS)
    await pins.review([Pin("fs", name, "d1", "U1", THEN) for name in ("move", "copy")], KEY)
    newest = await last(engine)
    assert newest is not None
    said = newest.entry
    assert (said.event, said.actor, said.tool, said.outcome) == ("tool_reviewed", "U1", "fs.copy", "d1")
    assert (await verify(engine, KEY)).count == 2
    async with engine.begin() as connection:
        await connection.execute(delete(audit_head))  # so that no entry can be written
    with pytest.raises(NoResultFound):
        await pins.review([Pin("fs", "move", "d2", "U1", LATER)], KEY)
    assert [pin.definition for pin in await pins.all()] == ["d1", "d1"]


async def test_a_replica_that_sees_another_definition_first_takes_no_review_back(engine: AsyncEngine) -> None:
    pins = PinStore(engine, SEALS)
    await pins.review([Pin("fs", "move", "d1", "U1", THEN)], KEY)
    await pins.first_seen("fs", {"move": "d2"}, LATER)
    await pins.first_seen("fs", {}, LATER)
    assert await pins.of("fs", {"move", "copy"}) == (Pin("fs", "move", "d1", "U1", THEN),)
    assert await pins.of("fs", {"copy"}) == await pins.of("git", {"move"}) == ()


async def test_of_a_server_that_always_offers_new_names_the_newest_count_as_changed(
    engine: AsyncEngine,
) -> None:
    pins = PinStore(engine, SEALS)
    for number in range(0, MOST_PINS, 500):
        assert await pins.of("fs", {"new"}) == ()
        await pins.first_seen("fs", {f"t{one}": "d1" for one in range(number, number + 500)}, THEN)
    known, new = await pins.of("fs", {"t7", "new"})
    assert (known.definition, new.definition) == ("d1", ALTERED)
    assert await pins.of("other", {"new"}) == ()
    await pins.review([Pin("fs", "new", "d2", "U1", LATER)], KEY)
    assert await pins.of("fs", {"new"}) == (Pin("fs", "new", "d2", "U1", LATER),)


async def test_a_person_is_known_as_last_told(engine: AsyncEngine) -> None:
    people = PeopleStore(engine, SEALS)
    assert await people.get("T1", "U1") is None
    await people.put(ANNA, LATER)
    await people.put(replace(ANNA, is_deleted=True), THEN)  # an older answer that came in late
    assert await people.get("T1", "U1") == StoredPerson(ANNA, LATER)
    assert await people.get("T2", "U1") is None
    gone = replace(ANNA, is_deleted=True)
    await people.put(gone, LATER + timedelta(seconds=1))
    assert await people.get("T1", "U1") == StoredPerson(gone, LATER + timedelta(seconds=1))


@pytest.mark.parametrize(
    "ask",
    [
        lambda engine: PeopleStore(engine, SEALS).get("T1", "U1"),
        lambda engine: PeopleStore(engine, SEALS).put(ANNA, THEN),
        lambda engine: PinStore(engine, SEALS).all(),
        lambda engine: PinStore(engine, SEALS).of("fs", {"move"}),
        lambda engine: PinStore(engine, SEALS).first_seen("fs", {"move": "d1"}, THEN),
        lambda engine: PinStore(engine, SEALS).review([Pin("fs", "move", "d1", "U1", THEN)], KEY),
    ],
)
async def test_a_database_that_is_away_is_unavailable(
    ask: Callable[[AsyncEngine], Awaitable[object]],
) -> None:
    engine = open_engine("postgresql://app@127.0.0.1:1/none")
    with pytest.raises(Unavailable):
        await ask(engine)
    await engine.dispose()


async def test_what_was_written_to_the_database_by_others_is_neither_read_nor_a_member(
    engine: AsyncEngine,
) -> None:
    others = RowMacs(b"another key")
    pins, people = PinStore(engine, SEALS), PeopleStore(engine, SEALS)
    await pins.first_seen("fs", {"move": "d1"}, THEN)
    async with engine.begin() as connection:
        await connection.execute(update(tool_pins).values(definition="d2", reviewed_by="U1"))
    (pin,) = await pins.all()
    assert (pin.definition, pin.reviewed_by) == (ALTERED, None)
    await PeopleStore(engine, others).put(ANNA, THEN)
    assert await people.get("T1", "U1") is None
    await people.put(ANNA, LATER)
    assert await people.get("T1", "U1") == StoredPerson(ANNA, LATER)
