"""Somebody with too many requests: what is refused, what is not, and whom it does not concern."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gate.rules.action import Session
from gate.rules.planner_port import Call, Incoming, Propose
from gate.rules.task_states import TaskState
from gate.tasks import inbox
from gate.tasks.create_task import TOO_MANY_STANDING, TOO_MANY_TASKS
from tests.gate.gate_setup import ANN, BEN, CHANNEL, TEAM, Scene
from tests.gate.plan_setup import MANY, proposes, write

WRITE = Propose((Call("desk", "write", {"path": "a.md", "content": "hello"}),))
FULL = TOO_MANY_TASKS.format(count=2)


@pytest.fixture
def narrow(stage: Scene) -> Scene:
    """Two requests of one person may be under way."""
    stage.world = replace(stage.world, limits=replace(stage.world.limits, pending_per_user=1))
    assert stage.world.limits.requests_per_user == 2
    return stage


async def receive(stage: Scene, number: int, text: str = "write it", user: str = ANN) -> bool:
    """Put a message into a thread of its own, and read nothing."""
    ts = f"40000000{number:02}.000000"
    session = Session(TEAM, CHANNEL, ts)
    return await inbox.receive(
        stage.world, Incoming(f"{TEAM}:{CHANNEL}:{ts}", session, user, text, ts, mentioned=True)
    )


async def test_messages_beyond_those_that_may_wait_are_not_taken_in(narrow: Scene) -> None:
    assert [await receive(narrow, number) for number in range(4)] == [True, True, False, False]
    narrow.planner.script = [WRITE, WRITE]
    await narrow.play()
    assert [note.body["text"] for note in narrow.wall.notes if note.to == ANN] == [FULL] * 2
    assert await receive(narrow, 5)


async def test_one_thread_is_told_once_a_minute(narrow: Scene) -> None:
    ones = [f"40000000{number:02}.000000" for number in range(20, 30)]
    for ts in ones:
        key = f"{TEAM}:{CHANNEL}:{ts}"
        await inbox.receive(narrow.world, Incoming(key, narrow.session, ANN, "write it", ts, True))
    narrow.planner.script = [WRITE, WRITE]
    await narrow.play()
    assert [note.body["text"] for note in narrow.wall.notes if note.to == ANN] == [FULL]


@pytest.mark.parametrize("text", ["stop", "cancel", "Stop it!"])
async def test_a_stop_is_heard_however_much_waits(narrow: Scene, text: str) -> None:
    assert [await receive(narrow, number) for number in range(3)] == [True, True, False]
    assert await receive(narrow, 4, text)


async def test_another_person_is_not_refused(narrow: Scene) -> None:
    assert [await receive(narrow, number) for number in range(3)] == [True, True, False]
    assert await receive(narrow, 4, user=BEN)


async def test_a_message_that_is_there_already_is_no_new_one_too_many(narrow: Scene) -> None:
    assert [await receive(narrow, number) for number in (1, 2, 2)] == [True, True, False]
    narrow.planner.script = [WRITE, WRITE]
    await narrow.play()
    assert [note for note in narrow.wall.notes if note.to == ANN and note.kind == "answer"] == []


async def test_a_request_beyond_those_that_may_be_under_way_is_refused(narrow: Scene) -> None:
    async def say(number: int, user: str = ANN) -> list[TaskState]:
        narrow.planner.script = [WRITE]
        await receive(narrow, number, user=user)
        await narrow.play()
        tasks = await narrow.ledger.tasks_of(Session(TEAM, CHANNEL, f"40000000{number:02}.000000"))
        return [task.state for task in tasks]

    narrow.world = replace(narrow.world, limits=replace(narrow.world.limits, pending_per_user=2))
    for number in range(4):
        await say(number)
    under_way = (await narrow.ledger.opening(narrow.session, ANN)).under_way
    assert under_way == 2  # two wait for a decision; two were refused their card, and have ended
    narrow.world = replace(narrow.world, limits=replace(narrow.world.limits, pending_per_user=1))
    assert await say(5) == []
    assert narrow.wall.notes[-1].body["text"] == FULL
    assert await say(6, BEN) != []


async def standing(stage: Scene, number: int) -> None:
    """A plan of two steps that nobody answers, in a thread of its own."""
    stage.planner.assessments.append(MANY)
    stage.planner.script = [proposes(write("a.md"), write("b.md"))]
    assert await receive(stage, number, "write both")
    await stage.play()


async def test_requests_that_wait_for_their_persons_answer_are_bounded(narrow: Scene) -> None:
    most = narrow.world.limits.standing_per_user
    for number in range(most):
        await standing(narrow, number)
    waits = [task for task, _ in await narrow.ledger.tasks_awaiting_answer(TEAM, ANN)]
    assert [task.state for task in waits] == [TaskState.PLAN_REVIEW] * most
    await receive(narrow, most)
    await narrow.play()
    assert narrow.wall.notes[-1].body["text"] == TOO_MANY_STANDING.format(count=most)
    assert len(await narrow.ledger.tasks_awaiting_answer(TEAM, ANN)) == most
    await receive(narrow, most + 1, user=BEN)
    narrow.planner.script = [WRITE]
    await narrow.play()
    assert len(await narrow.ledger.pending(TEAM, user=BEN)) == 1
