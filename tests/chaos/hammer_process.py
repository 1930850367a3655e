"""One of the processes under the hammer: real ledger, leases and engine; people, tool and chat are bare."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

from bot.engine import Engine
from bot.job_routes import jobs
from bot.wiring import RandomIds, SystemClock
from gate.actions import claim_click, edit
from gate.actions.button_press import Press, PressResult
from gate.actions.prepare import CallRequest, Prepared, prepare
from gate.rules.action import Action, Person, Ref, Session
from gate.rules.canonical_json import canonical
from gate.rules.messages import CardKey
from gate.rules.planner_port import Call
from gate.rules.policy import Policy
from gate.rules.ports import Limits, Unavailable, World
from gate.rules.tool import Answer
from storage.database import open_engine
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import Obeying

T = TypeVar("T")
TEAM, SESSION = "T1", Session("T1", "C_OPS", "1700000000.000000")
GUEST, STRANGER, ROBOT, LEFT = "U_GUEST", "U_STRANGER", "U_ROBOT", "U_LEFT"
MARKS = {
    GUEST: {"is_guest": True},
    STRANGER: {"home": "T2"},
    ROBOT: {"is_bot": True},
    LEFT: {"is_deleted": True},
}
LIMITS = Limits(ttl=600, decision=60, pending_per_user=1000)  # what the machine is slow at is no refusal


@dataclass(frozen=True)
class Anvil:
    """Where a process finds the rest of the world."""

    database: str
    redis: str
    key: str
    log: Path  # of the tool


@dataclass(frozen=True)
class Shown:
    """What stood on a card: a version and the bytes that would run."""

    ref: Ref
    args: bytes
    requester: str


class Crowd:
    """Implements gate.rules.ports.People: whoever has no mark is a full member."""

    async def known(self, team: str, user: str) -> Person | None:
        return replace(Person(team, user, user, team), **MARKS.get(user, {}))

    async def fresh(self, team: str, user: str, seconds: float = 60) -> Person | None:
        return await self.known(team, user)


class Striker(Desk):
    """Implements gate.rules.ports.Tools: `poke` writes the bytes that it got into a file, and onto the disk."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self._log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        await asyncio.to_thread(self._strike, args)
        return Answer("poked")

    def _strike(self, args: bytes) -> None:
        os.write(self._log, args + b"\n")
        os.fsync(self._log)


class Nobody:
    """Implements gate.rules.ports.Chat."""

    async def draw(self, key: CardKey, within: float, seen: Any) -> None: ...


def run(anvil: Anvil, line: Connection) -> None:
    """Do what comes down the line, until it says None."""
    asyncio.run(_run(anvil, line))


async def _run(anvil: Anvil, line: Connection) -> None:
    sql, redis = open_engine(anvil.database), open_redis(anvil.redis)
    engine = Engine(anvil.database, f"hammer-{os.getpid()}")
    ledger = SqlLedger(sql, engine.enqueue, anvil.key.encode())
    world = World(
        ledger=ledger, leases=RedisLeases(redis, "hammer"), tools=Striker(anvil.log), people=Crowd(),
        chat=Nobody(), planner=Obeying(), policy=Policy("p1"), limits=LIMITS, clock=SystemClock(),
        ids=RandomIds(), executor=str(os.getpid()), fits=lambda a: True, reviewable=lambda a: True,
    )  # fmt: skip
    await engine.start(jobs(world))
    line.send("ready")
    deeds = {"prepare": _prepare, "press": _press}
    while order := await asyncio.to_thread(line.recv):
        deed, what = order
        line.send(await deeds[deed](world, what))
    await engine.drain(20)
    await redis.aclose()
    await sql.dispose()
    line.send(None)


async def _prepare(world: World, keys: Sequence[str]) -> list[list[Shown]]:
    """For each key an action of somebody else: every version as it was shown, the last one stands."""
    return list(await asyncio.gather(*(_prepared(world, key) for key in keys)))


async def _prepared(world: World, key: str) -> list[Shown]:
    user = f"U_{key}"
    asked = CallRequest(key, SESSION, user, Call("desk", "poke", {"at": f"{key} first"}))
    made = await insisting(lambda: prepare(world, asked))
    assert isinstance(made, Prepared), made
    first = made.action
    if not key.endswith(("0", "5")):
        return [shown(first)]
    change = Press(shown(first).ref, TEAM, user)
    await insisting(lambda: edit.submit(world, change, {"at": f"{key} edited"}))
    edited = await _refreshed(world, key)
    return [shown(first), shown(edited)]


async def _refreshed(world: World, key: str) -> Action:
    """The edited action once its new preview is there."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        action = await insisting(lambda: world.ledger.action(key))
        if action and action.version == 3:
            return action
        await asyncio.sleep(0.05)
    raise TimeoutError(f"{key} was not refreshed")


def shown(action: Action) -> Shown:
    assert action.args == canonical({"at": action.preview.facts[0].value})  # the card says these very bytes
    return Shown(Ref(action.id, action.version, action.receipt[:16]), action.args, action.requester)


async def _press(world: World, presses: Sequence[tuple[str, Ref]]) -> Counter[tuple[str, str, str]]:
    """All at once; how often which action, who and what came of it."""
    said = await asyncio.gather(*(_confirm(world, Press(ref, TEAM, user)) for user, ref in presses))
    return Counter((ref.id, user, s.code) for (user, ref), s in zip(presses, said, strict=True))


async def _confirm(world: World, press: Press) -> PressResult:
    return await insisting(lambda: claim_click.confirm(world, press))


async def insisting(deed: Callable[[], Awaitable[T]]) -> T:
    """Again, where a store on a busy machine had no time and nothing was changed."""
    for _ in range(20):
        with contextlib.suppress(Unavailable):
            return await deed()
    return await deed()
