"""Reviews are written once, refused to be changed, and found by the indexes of REVIEW-25."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.action import Session
from gate.rules.action_states import State
from gate.rules.reviews import Phase, ReviewDecision, ReviewRecord
from storage.ledger import SqlLedger
from tests.storage.samples import THREAD, action, json_values
from tests.storage.test_ledger_plans import explained

ELSEWHERE = Session("T2", "C1", "1700000000.000100")


async def record(ledger: SqlLedger, session: Session = THREAD, **changes: Any) -> ReviewRecord:
    made = {
        "execution_id": "t1",
        "node_id": "s1",
        "reviewer_id": "U1",
        "decision": ReviewDecision.APPROVE,
        "trigger_phase": Phase.AFTER,
        "original_data": {"a": 1},
        "comment": "fine",
        "reviewed_at": await ledger.now(),
    }
    one = ReviewRecord(**{**made, **changes})
    async with ledger.begin() as tx:
        await tx.reviews.save(one, session)
    return one


# promise: REVIEW-10
async def test_a_review_comes_back_as_it_was_written(ledger: SqlLedger) -> None:
    one = await record(ledger, modified_data={"a": [None, True, "\x00"]})
    two = await record(ledger, decision=ReviewDecision.REJECT, node_id="s2")
    first, second = await ledger.reviews.of("T1", "t1")
    assert (first, second) == (
        ReviewRecord(**{**fields(one), "id": first.id}),
        ReviewRecord(**{**fields(two), "id": second.id}),
    )
    assert 0 < first.id < second.id
    assert second.modified_data is None


def fields(one: ReviewRecord) -> dict[str, Any]:
    return {name: getattr(one, name) for name in ReviewRecord.__slots__}


async def test_a_page_of_large_reviews_ends_early_and_the_next_goes_on_from_there(ledger: SqlLedger) -> None:
    for _ in range(5):
        await record(ledger, original_data={"text": "x" * 400_000})
    found, pages, before = list[int](), 0, 0
    while page := await ledger.reviews.by("T1", "U1", before=before):
        found, pages, before = [*found, *(one.id for one in page)], pages + 1, page[-1].id
    assert (len(found), pages) == (5, 2)
    of_it, pages, after = list[int](), 0, 0
    while page := await ledger.reviews.of("T1", "t1", after=after):
        of_it, pages, after = [*of_it, *(one.id for one in page)], pages + 1, page[-1].id
    assert (of_it, pages) == (sorted(found), 2)


async def test_reviews_of_another_team_are_not_found(ledger: SqlLedger) -> None:
    await record(ledger, ELSEWHERE)
    assert await ledger.reviews.of("T1", "t1") == ()
    assert await ledger.reviews.by("T1", "U1") == ()
    assert len(await ledger.reviews.by("T2", "U1")) == 1


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=json_values)
async def test_whatever_was_reviewed_is_kept_whole(ledger: SqlLedger, data: Any) -> None:
    await record(ledger, original_data=data, modified_data={"x": data})
    last = (await ledger.reviews.of("T1", "t1"))[-1]
    assert (last.original_data, last.modified_data) == (data, {"x": data})


# promise: REVIEW-09
@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE reviews SET comment = 'x'",
        "UPDATE reviews SET decision = 'REJECT' WHERE id = 1",
        "DELETE FROM reviews",
        "DELETE FROM reviews WHERE id = 1",
    ],
)
async def test_the_database_refuses_to_change_or_delete_a_review(
    ledger: SqlLedger, engine: AsyncEngine, statement: str
) -> None:
    one = await record(ledger)
    with pytest.raises(DBAPIError, match="append-only"):
        async with engine.begin() as connection:
            await connection.execute(text(statement))
    assert [each.comment for each in await ledger.reviews.of("T1", "t1")] == [one.comment]


# promise: REVIEW-09
async def test_the_database_refuses_the_ways_around(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await record(ledger)
    around = {
        "sqlite": "INSERT OR REPLACE INTO reviews SELECT * FROM reviews",
        "postgresql": "TRUNCATE reviews",
    }
    with pytest.raises(DBAPIError, match="append-only"):
        async with engine.begin() as connection:
            await connection.execute(text(around[engine.dialect.name]))


# promise: REVIEW-25
async def test_the_indexes_of_the_spec_are_used(ledger: SqlLedger, engine: AsyncEngine) -> None:
    for number in range(50):
        await record(ledger, execution_id=f"t{number}", reviewer_id=f"U{number}")
    where = {
        "ix_reviews_execution": "execution_id = 't7' AND node_id = 's1'",
        "ix_reviews_reviewer": "reviewer_id = 'U7'",
    }
    for index, condition in where.items():
        plan = await explained(engine, f"SELECT * FROM reviews WHERE {condition}", ())
        assert index in str(plan)


async def test_results_that_wait_are_found_by_requester(ledger: SqlLedger) -> None:
    now = await ledger.now()
    other = Session("T1", "C2", "1700000000.000200")
    async with ledger.begin() as tx:
        ran: dict[str, Any] = {"state": State.SUCCEEDED, "held": "look"}
        await tx.insert(action("a1", now, **ran))
        await tx.insert(action("a2", now, state=State.SUCCEEDED))
        await tx.insert(action("a3", now, **ran, session=ELSEWHERE))
        await tx.insert(action("a4", now, **ran, session=other, requester="U2"))
    held = ledger.reviews.under_review
    assert [one.id for one in await held("T1", "U1")] == ["a1"]
    assert [one.id for one in await held("T1", "U2")] == ["a4"]
    assert await held("T1", "U3") == ()


async def test_what_waits_before_it_runs_is_found_until_its_time_is_over(ledger: SqlLedger) -> None:
    now = await ledger.now()
    async with ledger.begin() as tx:
        await tx.insert(action("a1", now, review="look"))
        await tx.insert(action("a2", now))
        await tx.insert(action("a3", now, review="look", session=ELSEWHERE))
    found, tasks = await ledger.reviews.waiting("T1")
    assert ([one.id for one in found], tasks) == (["a1"], ())
    ledger.offset += found[0].expires_at - now
    assert await ledger.reviews.waiting("T1") == ((), ())
