"""Who has said something, read from rows without the rest of them, on both databases."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.rules import advisers
from gate.rules.access import TokenKind
from gate.rules.action import Resolution, ResultDecision, ResultReview
from gate.rules.action_states import State
from gate.rules.planner_port import Mode, Turn
from gate.rules.reviews import Phase, ReviewDecision, ReviewRecord
from gate.rules.server_questions import QuestionEvent
from gate.rules.settings import Switches
from gate.rules.task import Input, Instruction, Plan, Remark, Step, StepCall, Task
from gate.tasks.create_task import new_task
from storage.advisers import LATEST, TAIL
from storage.ledger import SqlLedger
from storage.tokens import TokenStore
from tests.storage.conftest import SEALS
from tests.storage.samples import THREAD, action
from tests.storage.test_api_stores import token
from tests.storage.test_ledger_questions import question

LARGE = "x" * 100_000
# Arguments that are named as the field of a plan is, which stands behind them.
ARGS = {"advised_by": ["U_ARGS"], "content": "", "last": {"advised_by": ["U_ARGS"]}}
SAID = Resolution(by="U_NO", reason="not this one", token="t1")


async def a_task(ledger: SqlLedger, size: int = 100_000) -> Task:
    made = new_task("k1", THREAD, "U1", "tidy up", Switches(), await ledger.now())
    step = Step(id="s1", title="", call=StepCall("desk", "write", {**ARGS, "content": "x" * size}))
    said = Input(
        instructions=(Instruction("i1", "U_INSTRUCTS", "and b.md", made.created_at),),
        remarks=(Remark("U_REMARKS", "why?", made.created_at),),
        heard=frozenset({"U_HEARD"}),
    )
    return replace(made, input=said, plan=Plan(1, (step,), last=1, advised_by=("U_ADVISES", "U_NO")))


async def test_who_said_something_in_a_thread_is_found_whatever_its_size(ledger: SqlLedger) -> None:
    task = await a_task(ledger)
    now, kept = task.created_at, ResultDecision("U_KEEPS", True, comment="next time b.md")
    async with ledger.begin() as tx:
        await tx.open_task(task)
        await tx.open_turn(Turn("turn1", THREAD, "U1", "", now, task=task.id, mode=Mode.PLAN))
        await tx.insert(replace(action("a1", turn="turn1", state=State.REJECTED), resolution=SAID))
        await tx.insert(replace(action("a2", turn="turn1"), result_review=ResultReview(judged=kept)))
        await tx.insert(replace(action("a3", turn="turn2"), resolution=replace(SAID, by="U_ELSEWHERE")))
        await tx.reviews.save(
            ReviewRecord(
                execution_id=task.id,
                node_id="s1",
                reviewer_id="U_REVIEWS",
                decision=ReviewDecision.APPROVE,
                trigger_phase=Phase.BEFORE,
                original_data={},
                modified_data=None,
                comment="and b.md",
                reviewed_at=now,
            ),
            THREAD,
        )
    said = await ledger.grants.said_in({"turn1"}, {task.id})
    assert said == {"U_INSTRUCTS", "U_REMARKS", "U_HEARD", "U_ADVISES", "U_NO", "U_KEEPS", "U_REVIEWS"}
    assert said > advisers.of_task(task)
    assert await ledger.grants.said_in(set(), set()) == frozenset()


async def test_the_advisers_of_a_plan_are_found_at_its_end_whatever_its_size(ledger: SqlLedger) -> None:
    sizes = [0, *range(TAIL - 1000, TAIL + 1001, 50)]
    made = [replace(await a_task(ledger, size), id=f"task{size}") for size in sizes]
    async with ledger.begin() as tx:
        for task in made:
            await tx.open_task(replace(task, session=replace(task.session, thread=task.id)))
    for task in made:
        assert await ledger.grants.said_in((), {task.id}) == advisers.of_task(task)


@pytest.mark.parametrize("after", [LATEST - 1, LATEST])
async def test_of_an_agent_the_latest_calls_are_looked_at_whatever_their_size(
    engine: AsyncEngine, ledger: SqlLedger, after: int
) -> None:
    store, now = TokenStore(engine, SEALS), await ledger.now()
    agent = await token(store, TokenKind.AGENT)
    await store.add(agent, "secret")
    async with ledger.begin() as tx:
        for number in range(after + 1):
            made = action(f"a{number}", created_at=now + timedelta(seconds=number))
            first = replace(made, resolution=SAID)
            large = replace(made, proposal=replace(made.proposal, args=LARGE.encode()))
            await tx.insert(large if number else first)
            await tx.record_token(agent.id, f"a{number}")
    said = await ledger.grants.said_to_token(agent.id, agent.team, agent.user)
    assert said == ({"U_NO"} if after < LATEST else set())


async def test_of_an_agent_its_tasks_are_looked_at_and_of_a_person_nothing(
    engine: AsyncEngine, ledger: SqlLedger
) -> None:
    store, task = TokenStore(engine, SEALS), await a_task(ledger)
    agent, person = await token(store, TokenKind.AGENT), replace(await token(store), id="1" * 16)
    for one in (agent, person):
        await store.add(one, f"secret of {one.id}")
    async with ledger.begin() as tx:
        await tx.open_task(task)
        await tx.record_token(agent.id, task.id)
        await tx.insert(replace(action("a1", task=task.id), resolution=replace(SAID, by="U_STEP")))
    said = await ledger.grants.said_to_token(agent.id, agent.team, agent.user)
    assert said == {"U_INSTRUCTS", "U_REMARKS", "U_HEARD", "U_ADVISES", "U_NO", "U_STEP"}
    assert await ledger.grants.said_to_token(task.id, agent.team, agent.user) == said
    for other in (person.id, "a1", ""):
        assert await ledger.grants.said_to_token(other, agent.team, agent.user) == frozenset()


async def test_who_typed_an_answer_for_the_server_of_a_call_has_said_something(ledger: SqlLedger) -> None:
    now, turn = await ledger.now(), {"turn": "turn1"}
    forms = {
        "U_TYPES": {"type": "string"},
        "U_COUNTS": {"type": "integer"},
        "U_CHOOSES": {"type": "string", "enum": ["a", "b"]},
        "U_AGREES": {"type": "boolean"},
        "U_PICKS": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        "U_DECLINES": {"type": "string"},
    }
    async with ledger.begin() as tx:
        await tx.insert(action("a1", **turn))
        for user, form in forms.items():
            schema = {"type": "object", "properties": {"x": form}}
            asked = question(now, user, schema=schema)
            await tx.questions.open(asked)
            event = QuestionEvent.DECLINE if user == "U_DECLINES" else QuestionEvent.ANSWER
            await tx.questions.move(asked, event, actor=user, answer="{}")
        await tx.questions.open(question(now, "waits"))
    assert await ledger.grants.said_in({"turn1"}, ()) == {"U_TYPES", "U_COUNTS"}
    assert await ledger.grants.said_in({"turn2"}, ()) == frozenset()
