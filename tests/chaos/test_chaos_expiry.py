"""Races at the end of an action's time: confirm, cancel, edit, expiry and the wrong people, within 3 ms of it."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from gate.actions import claim_click, edit, expiry
from gate.actions.button_press import Press, PressResult
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.rules.action import Action
from gate.rules.action_states import State
from gate.rules.jobs import Run
from gate.rules.planner_port import Call
from gate.rules.ports import DueItem
from gate.sentences.thread_commands import Replace
from storage.audit_log import entries, verify
from storage.database import open_engine
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from tests.chaos.hammer_process import SESSION, TEAM, Crowd, shown
from tests.chaos.replicas import KEY
from tests.gate.gate_setup import Scene, scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
WINDOW = 0.003  # seconds before and after
STEP = 0.001  # seconds by which the aim is corrected after each shot
ENDS = ("confirmed", "cancelled", "expired")
HANDICAP = 0.012  # seconds
T = TypeVar("T")
# What people were told, by how it ended. What was confirmed can be cancelled as long as it has not started.
WON = {
    State.APPROVED: [["confirmed"]],
    State.CANCELLED: [["cancelled"], ["cancelled", "confirmed"]],
    State.EXPIRED: [[]],
}
New = Callable[[Path], str]


async def prepared(stage: Scene, key: str) -> Action:
    made = await prepare(
        stage.world, CallRequest(key, SESSION, f"U_{key}", Call("desk", "poke", {"at": "here"}))
    )
    assert isinstance(made, Prepared), made
    return made.action


async def race(stage: Scene, action: Action, lead: float) -> str:
    """Everybody at once, `lead` seconds before its time is over on the database's clock; how it ended."""
    ref, owner = shown(action).ref, Press(shown(action).ref, TEAM, action.requester)
    world, wrong = stage.world, Press(ref, TEAM, "U_SOMEBODY_ELSE")
    runners = [
        claim_click.confirm(world, owner),
        claim_click.confirm(world, owner),
        claim_click.confirm(world, wrong),
        _behind(claim_click.cancel(world, owner)),
        _behind(edit.edit_by_text(world, owner, Replace("here", "there"))),
        _behind(expiry.process_items(world, [DueItem("action", action.id, action.revision, 0.0)])),
    ]
    random.shuffle(runners)
    stage.ledger.offset = action.expires_at - datetime.now(UTC) - timedelta(seconds=lead)
    said = await asyncio.gather(*runners)
    won = sorted(s.code for s in said if isinstance(s, PressResult) and s.ok and s.code != "edited")
    if (now := await stage.now(action.id)).state is State.PREPARED:  # all too early for expiry, or edited
        stage.travel(world.limits.ttl + 60)  # an edit gives the time anew
        await expiry.process_items(world, [DueItem("action", now.id, now.revision, 0.0)])
    now = await stage.now(action.id)
    assert won in WON[now.state]
    stage.ledger.offset = timedelta(0)
    return f"{now.state}, edited" if now.edited_by else str(now.state)


async def _behind(deed: Awaitable[T]) -> T:
    """A confirmation reads more before it decides: the others start later, so that each may be first."""
    await asyncio.sleep(random.uniform(0, HANDICAP))
    return await deed


async def races(home: Path, url: str, redis_url: str, count: int) -> str:
    """So many races; what they have shown."""
    sql, redis, runs = open_engine(url), open_redis(redis_url), list[Run]()
    ledger = SqlLedger(sql, lambda _, run: runs.append(run), KEY.encode())
    stage = scene(ledger, RedisLeases(redis, "expiry"), runs)
    limits = replace(stage.world.limits, decision=30)
    stage.world = replace(stage.world, people=Crowd(), limits=limits)
    ended: dict[str, str] = {}
    actions: dict[str, Action] = {}
    lead, step, was_late = 0.02, STEP, False
    try:
        for number in range(4 * count):
            if number >= count and {State.APPROVED, State.EXPIRED} <= set(ended.values()):
                break
            action = await prepared(stage, f"a{number}")
            actions[action.id] = action
            ended[action.id] = await race(stage, action, lead + random.uniform(-WINDOW, WINDOW))
            late = ended[action.id].startswith(State.EXPIRED)
            step = step * 1.5 if late == was_late else STEP  # the edge moves with the load: follow it faster
            lead, was_late = lead + (step if late else -step), late
        await _judge(stage, sql, actions, ended)
    finally:
        await redis.aclose()
        await sql.dispose()
    return f"n={len(ended)} races at expiry, aimed {lead * 1000:.0f} ms ahead: {dict(Counter(ended.values()))}, one outcome each"


async def _judge(stage: Scene, sql: AsyncEngine, actions: dict[str, Action], ended: dict[str, str]) -> None:
    """From the record: each ended once, in time, by the right person; what was confirmed and nothing else runs."""
    lines = [line async for line in entries(sql) if line.entry.event in ENDS]
    for line in lines:
        action = actions[line.entry.action]
        assert line.entry.actor == ("system" if line.entry.event == "expired" else action.requester)
        assert line.entry.event != "expired" or line.at >= action.expires_at
    events = {key: [line.entry.event for line in lines if line.entry.action == key] for key in actions}
    assert all(
        each in ([end] for end in ENDS) or each == ["confirmed", "cancelled"] for each in events.values()
    )
    confirmed = [key for key, each in events.items() if "confirmed" in each]
    for key in confirmed:
        (vote,) = await stage.ledger.votes(key, 1)
        assert (vote.person, vote.at < actions[key].expires_at) == (actions[key].requester, True)
    assert sorted(run.args[0] for run in stage.runs if run.name == "carry_out") == sorted(confirmed)
    await stage.play()
    approved = [key for key, state in ended.items() if state == State.APPROVED]
    assert len(stage.desk.calls) == len(approved)
    assert (await verify(sql, KEY.encode())).broken_at is None
    assert {State.APPROVED, State.EXPIRED} <= set(ended.values())  # the aim was good


@pytest.mark.parametrize("count", [30, pytest.param(2000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
async def test_everything_at_once_at_the_end_of_time_has_one_outcome_on_sqlite(
    count: int, home: Path, new_sqlite: New, redis_url: str, claim: Callable[[str], None]
) -> None:
    claim("SQLite: " + await races(home, new_sqlite(home), redis_url, count))


@pytest.mark.parametrize("count", [30, pytest.param(2000, marks=[pytest.mark.soak, pytest.mark.timeout(0)])])
async def test_everything_at_once_at_the_end_of_time_has_one_outcome_on_postgresql(
    count: int, home: Path, new_postgres: New, redis_url: str, claim: Callable[[str], None]
) -> None:
    claim("PostgreSQL: " + await races(home, new_postgres(home), redis_url, count))
