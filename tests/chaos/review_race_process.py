"""One of the processes in the race of reviews: real ledger and leases; people, tools and chat are bare."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from typing import Any

from sqlalchemy import Connection as SqlConnection

from bot.wiring import RandomIds, SystemClock
from gate.actions.button_press import PressResult
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.rules.action import Session
from gate.rules.jobs import Run
from gate.rules.planner_port import Call
from gate.rules.policy import Policy
from gate.rules.ports import World
from gate.rules.reviews import Phase, Review, ReviewDecision, version_before
from gate.rules.settings import Switches
from gate.rules.task import Flow, PauseReason, Plan, StepReview, StepState
from gate.rules.task_states import TaskState
from gate.tasks import step_review
from gate.tasks.step_review import ReviewConflict, ReviewRequest
from storage.database import open_engine
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.redis_reviews import RedisPending
from tests.chaos.hammer_process import LIMITS, TEAM, Anvil, Crowd, Nobody, Striker, insisting
from tests.gate.gate_setup import Obeying
from tests.tasks import step_of, task_of

ANN = "U_ANN"
POLICY = Policy("p1", reviews=(Review("race", Phase.BEFORE, tools=("desk.poke",)),))


def run(anvil: Anvil, line: Connection) -> None:
    """Do what comes down the line, until it says None."""
    asyncio.run(_run(anvil, line))


def nothing(connection: SqlConnection, run: Run) -> None:
    """What follows from a decision is not what races here."""


async def _run(anvil: Anvil, line: Connection) -> None:
    sql, redis = open_engine(anvil.database), open_redis(anvil.redis)
    world = World(
        ledger=SqlLedger(sql, nothing, anvil.key.encode()), leases=RedisLeases(redis, "race"),
        tools=Striker(anvil.log), people=Crowd(), chat=Nobody(), planner=Obeying(), policy=POLICY,
        limits=LIMITS, clock=SystemClock(), ids=RandomIds(), executor=str(os.getpid()),
        fits=lambda a: True, reviewable=lambda a: True, pending=RedisPending(redis, "race"),
    )  # fmt: skip
    line.send("ready")
    while order := await asyncio.to_thread(line.recv):
        deed, *what = order
        line.send(await {"make": _made, "resume": _resumed}[deed](world, *what))
    await redis.aclose()
    await sql.dispose()
    line.send(None)


async def _made(world: World, number: int, phase: Phase) -> tuple[str, str, int]:
    """Something that is paused for review: its execution, node and version."""
    session = Session(TEAM, "C_OPS", f"{1_700_000_000 + number}.000000")
    if phase is Phase.BEFORE:
        asked = CallRequest(f"a{number}", session, ANN, Call("desk", "poke", {"at": str(number)}))
        made = await insisting(lambda: prepare(world, asked))
        assert isinstance(made, Prepared), made
        return made.action.id, made.action.id, version_before(made.action)
    result = {"text": "poked", "number": number}
    step = step_of(
        "s1", "", "desk", "poke", {}, state=StepState.DONE, action="x", result=result, look=StepReview(1)
    )
    task = task_of(
        id=f"t{number}", revision=1, state=TaskState.PAUSED, session=session, requester=ANN, text="race",
        switches=Switches(), created_at=datetime.now(UTC), since=datetime.now(UTC), flow=Flow.PLAN,
        plan=Plan(1, (step, replace(step, id="s2", state=StepState.WAITING, look=None))), why=PauseReason.REVIEW, pauses=1,
    )  # fmt: skip
    async with world.ledger.begin() as tx:
        assert await tx.open_task(task) == task
    return task.id, "s1", 1


async def _resumed(world: World, paused: tuple[str, str, int], count: int) -> list[str]:
    """So many resumes at once, of every kind; what each was told."""
    return list(await asyncio.gather(*(_resume(world, paused, number) for number in range(count))))


async def _resume(world: World, paused: tuple[str, str, int], number: int) -> str:
    after = paused[1] == "s1"
    decision = ReviewDecision.REJECT if number % 5 == 1 else ReviewDecision.APPROVE
    edited = {"text": "by hand", "number": number} if after and number % 5 == 2 else None
    asked = ReviewRequest(*paused, decision, TEAM, ANN, edited, f"number {number}")
    said: Any = await insisting(lambda: step_review.decide_review(world, asked))
    if isinstance(said, ReviewConflict):
        return "conflict"
    return "won" if isinstance(said, PressResult) and said.ok else str(said)
