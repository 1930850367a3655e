"""Pinned tools and known people are remembered as they were last told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.action import Person
from gate.world import Unavailable
from storage.engine import open_engine
from storage.people import Known, PeopleStore
from storage.pins import Pin, PinStore

THEN = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)
LATER = THEN + timedelta(minutes=1)
ANNA = Person("T1", "U1", "Anna", "T1", groups=frozenset({"S2", "S1"}))


async def test_a_pin_stays_until_the_definition_changes_which_takes_the_review_back(
    engine: AsyncEngine,
) -> None:
    pins = PinStore(engine)
    await pins.pin("fs", "move", "d1", THEN)
    await pins.pin("fs", "delete", "d1", THEN)
    assert await pins.review("fs", "move", "d1", "U1", LATER)
    await pins.pin("fs", "move", "d1", LATER + timedelta(hours=1))
    reviewed = Pin("fs", "move", "d1", "U1", LATER)
    assert await pins.all() == (Pin("fs", "delete", "d1", None, THEN), reviewed)
    await pins.pin("fs", "move", "d2", LATER)
    assert (await pins.all())[1] == Pin("fs", "move", "d2", None, LATER)


async def test_a_review_of_a_definition_that_changed_meanwhile_counts_for_nothing(
    engine: AsyncEngine,
) -> None:
    pins = PinStore(engine)
    await pins.pin("fs", "move", "d2", THEN)
    assert not await pins.review("fs", "move", "d1", "U1", LATER)
    assert not await pins.review("fs", "none", "d1", "U1", LATER)
    assert await pins.all() == (Pin("fs", "move", "d2", None, THEN),)


async def test_a_person_is_known_as_last_told(engine: AsyncEngine) -> None:
    people = PeopleStore(engine)
    assert await people.get("T1", "U1") is None
    await people.put(ANNA, LATER)
    await people.put(replace(ANNA, is_deleted=True), THEN)  # an older answer that came in late
    assert await people.get("T1", "U1") == Known(ANNA, LATER)
    assert await people.get("T2", "U1") is None
    gone = replace(ANNA, is_deleted=True)
    await people.put(gone, LATER + timedelta(seconds=1))
    assert await people.get("T1", "U1") == Known(gone, LATER + timedelta(seconds=1))


@pytest.mark.parametrize(
    "ask",
    [
        lambda engine: PeopleStore(engine).get("T1", "U1"),
        lambda engine: PeopleStore(engine).put(ANNA, THEN),
        lambda engine: PinStore(engine).all(),
        lambda engine: PinStore(engine).pin("fs", "move", "d1", THEN),
        lambda engine: PinStore(engine).review("fs", "move", "d1", "U1", THEN),
    ],
)
async def test_a_database_that_is_away_is_unavailable(
    ask: Callable[[AsyncEngine], Awaitable[object]],
) -> None:
    engine = open_engine("postgresql://app@127.0.0.1:1/none")
    with pytest.raises(Unavailable):
        await ask(engine)
    await engine.dispose()
