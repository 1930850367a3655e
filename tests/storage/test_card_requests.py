"""Asking for a card: one run draws all that was asked for until it begins, and nothing is lost between two of them."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.jobs import Run
from gate.rules.messages import CardKey, CardKind
from gate.rules.ports import Posted
from storage.ledger import SqlLedger
from tests.storage.conftest import KEY

CARD = CardKey(CardKind.ACTION, "a1")


@pytest.fixture
def runs() -> list[Run]:
    return []


@pytest.fixture
def hurried() -> list[str]:
    return []


@pytest.fixture
def ledger(engine: AsyncEngine, runs: list[Run], hurried: list[str]) -> SqlLedger:
    made = SqlLedger(engine, lambda _, run: runs.append(run), KEY)
    made.draw_now = hurried.append
    return made


async def ask(ledger: SqlLedger, *cards: CardKey, within: float = 0.0) -> None:
    async with ledger.begin() as tx:
        for card in cards or (CARD,):
            tx.request_card(card, within)


async def test_what_is_asked_for_before_a_run_begins_is_one_run(ledger: SqlLedger, runs: list[Run]) -> None:
    for _ in range(3):
        await ask(ledger)
    assert [(run.name, run.key, run.args) for run in runs] == [("card", "card:a1:1", ("action", "a1", "0"))]


async def test_what_is_asked_for_while_one_draws_is_one_run_more(ledger: SqlLedger, runs: list[Run]) -> None:
    await ask(ledger)
    await ledger.begin_drawing("a1")
    for _ in range(3):
        await ask(ledger)
    assert [run.key for run in runs] == ["card:a1:1", "card:a1:2"]


async def test_a_transaction_that_fails_asks_for_nothing(ledger: SqlLedger, runs: list[Run]) -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with ledger.begin() as tx:
            tx.request_card(CARD)
            raise ZeroDivisionError
    assert runs == []
    assert await ledger.posted("a1") is None


async def test_a_card_that_is_wanted_at_once_hurries_the_run_that_waits(
    ledger: SqlLedger, runs: list[Run], hurried: list[str]
) -> None:
    await ask(ledger, within=0.7)
    await ask(ledger, within=0.7)
    assert hurried == []
    await ask(ledger)
    assert hurried == ["a1"]
    assert [run.args for run in runs] == [("action", "a1", "0.7")]


async def test_a_transaction_asks_once_and_in_the_shortest_of_its_times(
    ledger: SqlLedger, runs: list[Run]
) -> None:
    async with ledger.begin() as tx:
        for within in (0.7, 0.0, 0.7):
            tx.request_card(CARD, within)
    assert [run.args[-1] for run in runs] == ["0"]


async def test_a_run_that_has_not_begun_for_long_is_replaced(ledger: SqlLedger, runs: list[Run]) -> None:
    await ask(ledger)
    ledger.offset += timedelta(seconds=59)
    await ask(ledger)
    assert len(runs) == 1
    ledger.offset += timedelta(seconds=2)
    await ask(ledger)
    assert [run.key for run in runs] == ["card:a1:1", "card:a1:2"]


async def test_who_draws_anyhow_takes_up_what_is_asked_for_meanwhile(
    ledger: SqlLedger, runs: list[Run]
) -> None:
    await ask(ledger)
    await ledger.begin_drawing("a1")
    assert await ledger.reopen_drawing("a1")
    assert not await ledger.reopen_drawing("a1")
    await ask(ledger)
    assert [run.key for run in runs] == ["card:a1:1"]


async def test_a_card_that_was_never_drawn_is_untried_at_its_first_draw_alone(ledger: SqlLedger) -> None:
    assert await ledger.begin_drawing("a1") is None
    await ask(ledger)
    first, second = await ledger.begin_drawing("a1"), await ledger.begin_drawing("a1")
    assert first is not None
    assert second is not None
    assert (first.untried, second.untried) == (True, False)
    await ledger.set_posted("a1", Posted("C1", "1.1", 1, "v1"))
    assert await ledger.begin_drawing("a1") == Posted("C1", "1.1", 1, "v1")


async def test_who_drew_from_an_earlier_state_of_the_record_is_told(ledger: SqlLedger) -> None:
    await ask(ledger)
    async with ledger.begin() as tx:
        assert await tx.posted("a1", Posted("C1", "1.1", 5, "v1"), before=0)
        assert not await tx.posted("a1", Posted("C1", "1.1", 6, "v1"), before=0)
        assert not await tx.posted("a1", Posted("C1", "1.1", 4, "v1"))
        assert await tx.posted("a1", Posted("C1", "1.1", 6, "v1"), before=5)
    assert await ledger.posted("a1") == Posted("C1", "1.1", 6, "v1")


async def test_two_that_ask_at_the_same_moment_for_the_same_cards_are_one_run_each(
    ledger: SqlLedger, runs: list[Run]
) -> None:
    cards = [CardKey(CardKind.ACTION, f"a{n}") for n in range(5)]
    await asyncio.gather(*(ask(ledger, *order) for order in (cards, cards[::-1]) * 4))
    assert sorted(run.key for run in runs) == [f"card:a{n}:1" for n in range(5)]


async def test_a_run_begins_once_whoever_asked_before_it_has_committed(ledger: SqlLedger) -> None:
    await ask(ledger)
    async with ledger.begin() as tx:
        assert await tx.ask("a1") is None
        beginning = asyncio.create_task(ledger.begin_drawing("a1"))
        done, _ = await asyncio.wait({beginning}, timeout=0.2)
        assert not done
    assert await beginning is not None


async def test_what_is_committed_while_a_run_begins_is_drawn_by_it_or_by_the_next(
    ledger: SqlLedger, runs: list[Run]
) -> None:
    """Whoever asks holds the row until the commit: a run that begins meanwhile waits for it, or another one follows."""
    await ask(ledger)
    for _ in range(10):
        before = len(runs)
        _, posted = await asyncio.gather(ask(ledger), ledger.begin_drawing("a1"))
        again = await ledger.reopen_drawing("a1")
        assert posted is not None
        assert again == (len(runs) == before), "a run waits, or everything was taken up"


async def test_where_several_cards_stand_is_told_of_those_that_are_known(ledger: SqlLedger) -> None:
    places = {f"a{n}": Posted("C1", f"1.{n}", 1, "v1") for n in range(3)}
    for key, place in places.items():
        await ledger.set_posted(key, place)
    assert await ledger.posted_of(["a2", "a0", "unknown"]) == {"a0": places["a0"], "a2": places["a2"]}
    assert await ledger.posted_of([]) == {}
