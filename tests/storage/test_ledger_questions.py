"""A server's question in SQL: changed once, by who read it last, in time; and never by who only has the database."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules.question_ports import StaleQuestion
from gate.rules.server_questions import QuestionEvent, QuestionState, ServerQuestion
from storage.ledger import SqlLedger
from storage.question_tables import server_questions
from tests.storage.samples import THREAD


def question(now: datetime, question_id: str = "q1", **changes: object) -> ServerQuestion:
    made = ServerQuestion(
        id=question_id,
        version=1,
        state=QuestionState.WAITING,
        session=THREAD,
        requester="U1",
        server="desk",
        tool="poke",
        action="a1",
        task="",
        about="Poke it",
        is_read=False,
        private=False,
        message="Which one?",
        schema={"type": "object", "properties": {"x": {"type": "string"}}},
        created_at=now,
        until=now + timedelta(minutes=5),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


async def opened(ledger: SqlLedger, question_id: str = "q1") -> ServerQuestion:
    made = question(await ledger.now(), question_id)
    async with ledger.begin() as tx:
        await tx.questions.open(made)
    return made


async def test_it_comes_back_as_it_was_asked(ledger: SqlLedger) -> None:
    made = await opened(ledger)
    found = await ledger.questions.question("q1")
    assert found == made
    assert await ledger.questions.question("q2") is None


async def test_of_two_answers_at_once_one_counts(ledger: SqlLedger) -> None:
    made = await opened(ledger)

    async def answer(user: str) -> bool:
        try:
            async with ledger.begin() as tx:
                await tx.questions.move(made, QuestionEvent.ANSWER, actor=user, answer="{}")
        except StaleQuestion:
            return False
        return True

    assert sorted(await asyncio.gather(answer("U1"), answer("U2"))) == [False, True]


async def test_an_answer_is_encrypted_until_it_is_taken_and_then_gone(
    ledger: SqlLedger, engine: AsyncEngine
) -> None:
    made = await opened(ledger)
    async with ledger.begin() as tx:
        answered = await tx.questions.move(made, QuestionEvent.ANSWER, actor="U1", answer='{"x": "secret"}')

    async def stored() -> str:
        async with engine.connect() as connection:
            return str(await connection.scalar(select(server_questions.c.answer)))

    assert "secret" not in await stored()
    found = await ledger.questions.question("q1")
    assert found is not None
    assert (found.state, found.version, found.actor) == (QuestionState.ANSWERED, 2, "U1")
    assert found == answered
    async with ledger.begin() as tx:
        assert await tx.questions.take(found) == '{"x": "secret"}'
    assert await stored() == ""
    with pytest.raises(StaleQuestion):
        async with ledger.begin() as tx:
            await tx.questions.take(found)


@pytest.mark.parametrize("seconds", [31, 301])
async def test_when_nobody_waits_for_it_it_takes_no_answer_and_is_overdue(
    ledger: SqlLedger, seconds: int
) -> None:
    made = await opened(ledger)
    assert await ledger.questions.overdue() == ()
    ledger.offset += timedelta(seconds=seconds)
    assert await ledger.questions.overdue() == ("q1",)
    with pytest.raises(StaleQuestion):
        async with ledger.begin() as tx:
            await tx.questions.move(made, QuestionEvent.ANSWER, actor="U1", answer="{}")
    async with ledger.begin() as tx:
        await tx.questions.move(made, QuestionEvent.EXPIRE, reason="over")
    assert await ledger.questions.overdue() == ()


async def test_a_call_that_still_waits_says_so(ledger: SqlLedger) -> None:
    made = await opened(ledger)
    ledger.offset += timedelta(seconds=31)
    async with ledger.begin() as tx:
        await tx.questions.beat(made)
    assert await ledger.questions.overdue() == ()


async def test_a_row_that_was_changed_in_the_database_is_none(ledger: SqlLedger, engine: AsyncEngine) -> None:
    await opened(ledger)
    async with engine.begin() as connection:
        await connection.execute(update(server_questions).values(requester="U_EVE"))
    assert await ledger.questions.question("q1") is None
    async with ledger.begin() as tx:
        assert await tx.questions.question("q1") is None


async def test_a_question_that_is_over_is_kept_until_it_is_purged(ledger: SqlLedger) -> None:
    made = await opened(ledger)
    await opened(ledger, "q2")
    async with ledger.begin() as tx:
        await tx.questions.move(made, QuestionEvent.DECLINE, actor="U1")
    await ledger.purge(await ledger.now() - timedelta(hours=24))
    assert await ledger.questions.question("q1") is not None
    ledger.offset = timedelta(hours=25)
    await ledger.purge(await ledger.now() - timedelta(hours=24))
    assert await ledger.questions.question("q1") is None
    assert await ledger.questions.question("q2") is not None, "it waits: the sweep closes it first"
