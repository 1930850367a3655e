"""A scene: flows on a real ledger and a real Redis, with runs carried out in order by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from bot.cards import OnDraw
from bot.job_routes import jobs
from gate.actions import claim_click, expiry
from gate.actions.button_press import Press, PressResult
from gate.actions.prepare import CallRequest, prepare
from gate.rules.action import Action, Person, Ref, Session
from gate.rules.due_times import card_waited_at
from gate.rules.jobs import Run
from gate.rules.messages import ASKS, CardKey, CardKind
from gate.rules.planner_port import (
    Call,
    Done,
    Incoming,
    Mode,
    Planner,
    PlannerAssessment,
    PlannerContext,
    PlannerReply,
    Reply,
    Turn,
)
from gate.rules.policy import Policy, Rule
from gate.rules.ports import DueItem, Limits, Note, Posted, World
from gate.rules.task import Assessment, PauseReason, Task
from gate.rules.task_states import TaskState
from gate.tasks import inbox
from gate.tasks.slow_answers import TOLD_AFTER
from storage.leases import RedisLeases
from storage.ledger import SqlLedger
from storage.redis_reviews import RedisPending
from tests.gate.fake_tools import Desk

TEAM, CHANNEL = "T1", "C_OPS"
YEAR = 366 * 24 * 3600.0
ANN, BEN, CLEO, GIL, SAM, DORA, BOT = "U_ANN", "U_BEN", "U_CLEO", "U_GIL", "U_SAM", "U_DORA", "U_ROBOT"
PEOPLE = {
    ANN: Person(TEAM, ANN, "Ann", TEAM),
    BEN: Person(TEAM, BEN, "Ben", TEAM, groups=frozenset({"S_OPS"})),
    CLEO: Person(TEAM, CLEO, "Cleo", TEAM, groups=frozenset({"S_OPS"})),
    GIL: Person(TEAM, GIL, "Gil", TEAM, is_guest=True),
    SAM: Person(TEAM, SAM, "Sam", "T2"),
    DORA: Person(TEAM, DORA, "Dora", TEAM, is_deleted=True),
    BOT: Person(TEAM, BOT, "Robot", TEAM, is_bot=True),
}


class Directory:
    """Implements gate.rules.ports.People."""

    def __init__(self) -> None:
        self.people = dict(PEOPLE)

    async def known(self, team: str, user: str) -> Person | None:
        return self.people.get(user)

    async def fresh(self, team: str, user: str, seconds: float = 60) -> Person | None:
        return self.people.get(user)


class Wall:
    """Implements gate.rules.ports.Chat: remembers what hangs there, and tells the ledger as the real one does."""

    def __init__(self, ledger: SqlLedger) -> None:
        self.ledger = ledger
        self.cards: dict[str, Action] = {}
        self.notes: list[Note] = []
        self.tasks: dict[str, Task] = {}
        self.places: dict[str, str] = {}  # where each card hangs
        self.stamps = count(1)

    async def draw(self, key: CardKey, within: float, seen: OnDraw) -> None:
        await self.ledger.begin_drawing(key.id)
        match key.kind:
            case CardKind.ACTION:
                await self._action(await self.ledger.action(key.id), seen)
            case CardKind.GROUP:
                for one in await self.ledger.actions_of_group(key.id):
                    await self._action(one if one.shares else None, seen)
            case CardKind.TASK:
                await self._task(await self.ledger.task(key.id), seen)
            case CardKind.NOTE:
                note = await self.ledger.note(key.id)
                self.notes += [note] if note else []
                stamp = f"{1_700_000_000 + next(self.stamps)}.000000"
                await self.ledger.set_posted(key.id, Posted(CHANNEL, stamp, 0))

    async def _action(self, action: Action | None, seen: OnDraw) -> None:
        if action is not None:
            await seen(action)
            await self.draw_action(action, action.shares or action.id)

    async def _task(self, task: Task | None, seen: OnDraw) -> None:
        if task is not None:
            await seen(task)
            await self.draw_task(task)

    async def draw_action(self, action: Action, key: str) -> None:
        """On a card of its own, or on that of its group."""
        before = await self.ledger.posted(action.id)
        if key not in self.places:
            new = f"{1_700_000_000 + next(self.stamps)}.000000"
            self.places[key] = before.ts if before and before.ts and not action.group else new
        ts = self.places[key]
        task = await self.ledger.task(action.task) if action.task else None
        asks = task is not None and task.state is TaskState.SATISFACTION and task.asked_on == action.id
        shown = Posted(CHANNEL, ts, action.revision, f"v{action.version}{ASKS if asks else ''}")
        await self.ledger.set_posted(action.id, shown)
        self.cards[action.id] = action

    async def draw_task(self, task: Task) -> None:
        self.tasks[task.id] = task
        stamp = f"{1_700_000_000 + next(self.stamps)}.000000"
        for kind, number in (
            ("question", task.asked),
            ("plan", task.plan.version if task.plan else 0),
            ("pause", task.pauses),
            ("satisfaction", task.ends),
            ("requirements", task.attempts),
        ):
            key = f"{task.id}:{kind}:{number}"
            if number and await self.ledger.posted(key) is None:
                await self.ledger.set_posted(key, Posted(CHANNEL, stamp, task.revision))


class Obeying:
    """A planner that proposes whatever the message says, and obeys everything that it reads."""

    follows = True

    def __init__(self) -> None:
        self.script: list[Reply] = []
        self.answers: list[Reply] = []  # at the end of a plan
        self.seen: list[Turn] = []
        self.briefs: list[PlannerContext] = []
        self.assessments: list[Assessment] = []  # to be given in turn; then everything is simple
        self.thinks: Planner | None = None  # replies in its place

    async def assess(self, turn: Turn, brief: PlannerContext) -> PlannerAssessment:
        return PlannerAssessment(self.assessments.pop(0) if self.assessments else Assessment(10, 1))

    async def reply(self, turn: Turn, brief: PlannerContext, pending: tuple[Action, ...]) -> PlannerReply:
        self.seen.append(turn)
        self.briefs.append(brief)
        if self.thinks is not None:
            return await self.thinks.reply(turn, brief, pending)
        script = self.answers if turn.mode is Mode.ANSWER else self.script
        return PlannerReply(script.pop(0) if script else Done())


class FixedClock:
    tells_at_once = False  # whether people are told at once that a model or a server has not answered yet

    def now(self) -> datetime:
        return datetime.now(UTC)

    def uptime(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        late = seconds == TOLD_AFTER and not self.tells_at_once
        await asyncio.sleep(YEAR if late else 0.01)


class CountedIds:
    def __init__(self) -> None:
        self.counter = count(1)

    def new(self) -> str:
        return f"id{next(self.counter)}"


async def waits_over(ledger: SqlLedger, within: float, why: str = "") -> list[DueItem]:
    """The tasks whose wait ends within so many seconds, as if it ended now at the latest. `why`: only those that are
    paused because of it."""
    found = []
    for one in await ledger.due(within):
        task = await ledger.task(one.id) if one.kind == "task" else None
        if task and card_waited_at(task) and (not why or task.why == why):
            found.append(replace(one, left=min(one.left, 0.0)))
    return found


@dataclass
class Scene:
    """What a test plays in. `runs` holds what was enqueued; `play` carries out what is due."""

    world: World
    ledger: SqlLedger
    desk: Desk
    directory: Directory
    wall: Wall
    planner: Obeying
    runs: list[Run]
    done: set[str] = field(default_factory=set)

    @property
    def session(self) -> Session:
        return Session(TEAM, CHANNEL, "1700000000.000000")

    async def prepare(self, tool: str = "write", user: str = ANN, key: str = "", **args: Any) -> Action:
        """A pending action, its card posted."""
        call = Call("desk", tool, args)
        made = await prepare(self.world, CallRequest(key or self.world.ids.new(), self.session, user, call))
        assert hasattr(made, "action"), made
        await self.play()
        return await self.now(made.action.id)

    async def now(self, action_id: str) -> Action:
        action = await self.ledger.action(action_id)
        assert action is not None
        return action

    def press(self, action: Action, user: str = ANN, **more: Any) -> Press:
        return Press(Ref(action.id, action.version, action.receipt[:16]), TEAM, user, **more)

    async def confirm(self, action: Action, user: str = ANN, **more: Any) -> PressResult:
        return await claim_click.confirm(self.world, self.press(action, user, **more))

    async def play(self, timers: bool = False) -> None:
        """Carry out every run that is due, and what comes of summaries that nobody holds, until none is left. With
        `timers` the wait of every task ends, however long it is, and what has expired is looked at."""
        work, looked = jobs(self.world), set[Any]()
        while True:
            due = [r for r in self.runs if r.key not in self.done and not r.delay]
            for run in due:
                self.done.add(run.key)
                await work[run.name].work(*run.args)
            if not due and not await self._looked_at(looked, timers):
                return

    async def _looked_at(self, before: set[Any], timers: bool) -> bool:
        """One sweep; whether anything was new to it."""
        found = await waits_over(self.ledger, YEAR if timers else 0, "" if timers else PauseReason.SUMMARY)
        found += [one for one in await self.ledger.due() if timers and one.kind == "action"]
        new = [one for one in found if (one.id, one.revision) not in before]
        before |= {(one.id, one.revision) for one in new}
        await expiry.process_items(self.world, new)
        return bool(new)

    async def say(self, text: str, user: str = ANN, ts: str = "", mentioned: bool = True) -> None:
        """Somebody writes in the session's thread; without `ts` in the year 2096, after every card."""
        ts = ts or f"{4_000_000_000 + len(self.done)}.000000"
        await inbox.receive(
            self.world, Incoming(f"{TEAM}:{CHANNEL}:{ts}", self.session, user, text, ts, mentioned)
        )
        await self.play()

    def travel(self, seconds: float) -> None:
        self.ledger.offset += timedelta(seconds=seconds)

    def rule(self, *rules: Rule, **more: Any) -> None:
        policy = Policy("p2", rules=(*self.world.policy.rules, *rules), **more)
        self.world = replace(self.world, policy=policy)

    @property
    def texts(self) -> list[str]:
        return [str(note.body.get("text", note.kind)) for note in self.wall.notes]


def scene(
    ledger: SqlLedger, leases: RedisLeases, runs: list[Run], pending: RedisPending | None = None
) -> Scene:
    desk, directory, wall, planner = Desk(), Directory(), Wall(ledger), Obeying()
    world = World(
        ledger=ledger, leases=leases, tools=desk, people=directory, chat=wall, planner=planner,
        policy=Policy("p1"), limits=Limits(decision=20, proceed=0), clock=FixedClock(), ids=CountedIds(), executor="me",
        fits=lambda a: len(a.args) < 3000, reviewable=lambda a: len(a.args) < 60_000,
        shows=lambda plan: frozenset(step.id for step in plan.steps), pending=pending,
        address="https://slack.test/",
    )  # fmt: skip
    return Scene(world, ledger, desk, directory, wall, planner, runs)


@contextmanager
def nothing_ran(stage: Scene) -> Iterator[None]:
    """The desk was not touched inside."""
    before = list(stage.desk.calls)
    yield
    assert stage.desk.calls == before
