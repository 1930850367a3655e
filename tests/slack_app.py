"""The whole Slack edge in one place: the local workspace, the real Bolt app, cards and people, on real stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from aiohttp import web
from sqlalchemy import Connection

from bot import slack_app
from bot.cards import Cards, OnDraw
from bot.connections import listening
from bot.engine import TRANSIENT
from bot.http_limits import HttpLimits
from bot.job_routes import jobs
from bot.message_streams import Streams
from bot.slack_messages import Hints
from bot.slack_users import SlackPeople
from gate.actions import expiry
from gate.rules.action import Action, Session
from gate.rules.approvers import Approvers
from gate.rules.ids import derive_id
from gate.rules.jobs import Run
from gate.rules.planner_port import Call, Mode, Propose
from gate.rules.policy import Policy, Rule
from gate.rules.ports import Limits, Unavailable, World
from gate.rules.reviews import Phase, Review
from gate.rules.settings import Switches
from gate.rules.task import PauseReason
from gate.tasks.pending import waiting_for
from handlers.slack.events import register
from storage.leases import RedisLeases, open_redis
from storage.ledger import SqlLedger
from storage.slack_users import PeopleStore
from storage.transaction import SqlTx
from tests.engines import engine_for
from tests.gate.fake_tools import Desk
from tests.gate.gate_setup import CountedIds, FixedClock, Obeying, waits_over
from tests.plain_messages import assert_plain
from views.preview import fits, reviewable
from views.task_plan import shows
from views.wording import TITLES, UNDO_TITLES
from workspace.context import Installation, Options
from workspace.delivery import AppResponse, Timing
from workspace.person import Person
from workspace.server import Workspace
from workspace.state import Message

TEAM, OPS = "T1", "C_OPS"
ANN, BEN, CLEO, GIL, SAM, DORA, ROBOT = "U_ANN U_BEN U_CLEO U_GIL U_SAM U_DORA U_ROBOT".split()
INSTALLED = Installation()
AGES = 20.0  # seconds: these tests share the machine with others, and are not about how fast it is
PATIENT = Timing(ack=AGES, trigger=AGES, retries=(0.0, 0.05, 0.1))
HASTY = Timing(ack=0.7, trigger=AGES, retries=(0.0, 0.05, 0.1))
# Poking is decided by the ops group, putting back by two others, whispering in private; Cleo is an admin.
POLICY = Policy(
    "p1",
    rules=(
        Rule("ops decide", ("desk.poke",), approvers=Approvers(groups=frozenset({"S_OPS"}))),
        Rule("two others", ("desk.put_back",), approvers=Approvers(needed=2)),
        Rule("in private", ("desk.whisper",), private=True),
    ),
    admins=frozenset({CLEO}),
    reviews=(
        Review("first looks", Phase.BEFORE, steps=("look before*",)),
        Review("second looks", Phase.AFTER, steps=("look after*",)),
        Review("looks outside of plans", Phase.AFTER, tools=("desk.jot",)),
    ),
)


class Pump:
    """The engine of these tests: starts a run once its transaction is committed, and repeats what is transient."""

    def __init__(self) -> None:
        self.work: Callable[[Run], Awaitable[None]] | None = None
        self.failed: list[tuple[Run, Exception]] = []
        self.carried: list[Run] = []
        self._staged: dict[Any, list[Run]] = {}  # by the asyncio task whose transaction asked for them
        self._known: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    def enqueue(self, connection: Connection, run: Run) -> None:
        self._staged.setdefault(asyncio.current_task(), []).append(run)

    def committed(self) -> None:
        for run in self._staged.pop(asyncio.current_task(), []):
            if run.key in self._known:
                continue
            self._known.add(run.key)
            assert not run.delay
            self.start(run)

    def rolled_back(self) -> None:
        self._staged.pop(asyncio.current_task(), None)

    def start(self, run: Run) -> None:
        task = asyncio.create_task(self._carry(run))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry(self, run: Run) -> None:
        assert self.work is not None
        for _ in range(500):
            try:
                await self.work(run)
                self.carried.append(run)
                return
            except TRANSIENT:
                await asyncio.sleep(0.02)
            except Exception as error:
                self.failed.append((run, error))
                return
        self.failed.append((run, TimeoutError("it stayed transient")))

    async def idle(self) -> None:
        """Until nothing runs."""
        while self._tasks:
            await asyncio.wait(set(self._tasks), timeout=20)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


class PumpedLedger(SqlLedger):
    """The real ledger, which tells the pump when a transaction is over."""

    pump: Pump
    away = False  # the database cannot be had

    @asynccontextmanager
    async def begin(self, seconds: float | None = None) -> AsyncIterator[SqlTx]:
        if self.away:
            raise Unavailable("the database does not answer")
        try:
            async with super().begin(seconds) as tx:
                yield tx
        except BaseException:
            self.pump.rolled_back()
            raise
        self.pump.committed()

    async def _ask(self, *questions: Any, **values: Any) -> Any:
        if self.away:
            raise Unavailable("the database does not answer")
        return await super()._ask(*questions, **values)


@dataclass
class Edge:
    """What a test acts in. People act through `ws.as_`; `propose` makes the planner obey them."""

    ws: Workspace
    world: World
    ledger: PumpedLedger
    desk: Desk
    planner: Obeying
    people: SlackPeople
    pump: Pump
    cards: Cards
    bolt: Any
    mode: str
    url: str
    skew: timedelta = field(default=timedelta())
    switches: Switches = field(default=Switches())
    patient: bool = False  # summaries are shown for their time

    @property
    def ann(self) -> Person:
        return self.ws.as_(ANN)

    async def propose(self, tool: str, user: str = ANN, channel: str = OPS, **args: Any) -> Card:
        """Somebody mentions the bot, the planner proposes this call, the card appears."""
        self.planner.script.append(Propose((Call("desk", tool, args),)))
        said = await self.ws.as_(user).say(channel, "<@UBOT> please do it")
        card = Card(self, said, channel)
        await self.ws.wait_for(lambda: self.ws.by_app(channel, said.ts))
        await self.settled()
        return card

    async def settled(self) -> None:
        """Until every delivery has been answered and nothing runs; summaries go on at once, as nobody holds them."""
        await self.pump.idle()
        while not self.patient and not self.ledger.away and await self.summaries_over():
            pass

    async def summaries_over(self) -> bool:
        """The time of every summary that is shown ends now; whether there was one."""
        over = await waits_over(self.ledger, self.world.limits.proceed, PauseReason.SUMMARY)
        await expiry.process_items(self.world, over)
        await self.pump.idle()
        return bool(over)

    async def sweep(self) -> None:
        """What is due by now is settled."""
        await expiry.overdue(self.world)
        await self.pump.idle()

    def hints(self, user: str = ANN, channel: str = OPS) -> list[str]:
        """What this person alone was told there."""
        return [m.text for m in self.ws.messages(channel) if m.visible_to == user]

    async def told(self, user: str, words: str, channel: str = OPS) -> str:
        """Wait until this person alone is told something with these words."""

        def find() -> str | None:
            return next((text for text in self.hints(user, channel) if words in text), None)

        return await self.ws.wait_for(find, AGES)

    @contextmanager
    def nothing_ran(self) -> Iterator[None]:
        before = list(self.desk.calls)
        yield
        assert self.desk.calls == before

    def travel(self, seconds: float) -> None:
        """The database's clock, and ours about people, go on by so much."""
        self.ledger.offset += timedelta(seconds=seconds)
        self.skew += timedelta(seconds=seconds)

    async def send(self, kind: Any, payload: dict[str, Any]) -> AppResponse:
        answer = await self.ws.forge.send(kind, payload)
        await self.settled()
        return answer


@dataclass
class Card:
    """The card of one proposal."""

    edge: Edge
    said: Message
    channel: str

    @property
    def id(self) -> str:
        key = f"{TEAM}:{self.channel}:{self.said.ts}"
        turn = derive_id("turn", derive_id("task", key), 1, Mode.ACT)
        return derive_id("action", turn, 0, 0)

    @property
    def session(self) -> Session:
        return Session(TEAM, self.channel, self.said.ts)

    @property
    def message(self) -> Message:
        """The card as it stands; the only one of its action."""
        ours = self.edge.ws.by_app(self.channel, self.said.ts)
        mine = [m for m in ours if (m.metadata or {}).get("event_payload", {}).get("key") == self.id]
        assert len(mine) == 1, [m.text for m in ours]
        return mine[0]

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def buttons(self) -> list[str]:
        return [e["action_id"] for e in self.elements]

    @property
    def elements(self) -> list[dict[str, Any]]:
        rows = [b for b in self.message.blocks or [] if b["type"] in ("actions", "context_actions")]
        return [e for row in rows for e in row["elements"]]

    @property
    def value(self) -> str:
        return str(next(e["value"] for e in self.elements if "value" in e))

    async def action(self) -> Action:
        found = await self.edge.ledger.action(self.id)
        assert found is not None
        return found

    async def click(self, button: str, user: str = ANN, **given: Any) -> Any:
        """Press it, and wait until all that follows is done."""
        outcome = await self.edge.ws.as_(user).click(self.message, button, **given)
        await self.edge.settled()
        return outcome

    async def more(self, kind: str, user: str = ANN) -> Any:
        """Choose from the overflow menu."""
        return await self.click("more", user, choose=f"{kind}:{(await self.action()).button}")

    async def shows(self, title: str) -> None:
        """Wait until the card says so."""
        await self.edge.ws.wait_for(lambda: says(self.text, title))
        await self.edge.settled()

    async def modal(self, user: str, callback: str) -> Any:
        """Wait for this person's modal."""

        def find() -> Any:
            top = self.edge.ws.as_(user).modal
            return top if top and top.body["callback_id"] == callback else None

        return await self.edge.ws.wait_for(find)


def says(text: str, title: str) -> bool:
    """Whether a card's text has this title. "Done" is told in the past tense, without any title."""
    others = {*TITLES.values(), *UNDO_TITLES.values()} - {title}
    begun = text.startswith(tuple(f"{other}:" for other in others))
    return not begun if title == "Done" else text.startswith(f"{title}:")


def said_in(view: Any) -> str:
    """All the text of a view or message."""
    found: list[str] = []

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            found.extend(str(value[key]) for key in ("text",) if isinstance(value.get(key), str))
            for each in value.values():
                walk(each)
        elif isinstance(value, list):
            for each in value:
                walk(each)

    walk(view.blocks)
    return "\n".join(found)


def noted(drawn: list[Any]) -> OnDraw:
    """Puts what is drawn on a list."""

    async def note(record: Any) -> None:
        drawn.append(record)

    return note


def _desk() -> Desk:
    desk = Desk()
    desk.specs_now["whisper"] = replace(desk.specs_now["poke"], name="whisper", definition="d-whisper")
    desk.specs_now["jot"] = replace(desk.specs_now["write"], name="jot", definition="d-jot")
    return desk


@asynccontextmanager
async def joined(
    mode: str, sqlite_url: str, redis_url: str, timing: Timing = PATIENT, seconds: float = 10
) -> AsyncIterator[Edge]:
    """A running edge, which gives each call to Slack so many seconds.

    At its end no payload may have been refused, no run may have failed, and every message was plain.
    """
    ws = Workspace(INSTALLED, options=Options(timing=timing))
    await ws.start()
    engine, redis, pump = engine_for(sqlite_url), open_redis(redis_url), Pump()
    session = slack_app.http_session(seconds)
    fast, patient = slack_app.clients(session, INSTALLED.bot_token, ws.api_url)
    ledger = PumpedLedger(engine, pump.enqueue, b"key")
    ledger.pump = pump
    skewed: list[Edge] = []
    people = SlackPeople(
        fast,
        PeopleStore(engine, ledger.seals),
        frozenset({"S_OPS"}),
        now=lambda: datetime.now(UTC) + (skewed[0].skew if skewed else timedelta()),
    )
    desk, planner, cards = _desk(), Obeying(), Cards(patient, ledger, gap=0, streams=Streams(fast, beat=0))
    me = await slack_app.identity(fast, INSTALLED.bot_token)
    world = World(
        ledger=ledger, leases=RedisLeases(redis), tools=desk, people=people, chat=cards, planner=planner,
        policy=POLICY, limits=Limits(decision=AGES), clock=FixedClock(), ids=CountedIds(), executor="me",
        fits=fits, reviewable=reviewable, shows=shows, switches=lambda channel: skewed[0].switches,
        address=me.url or "",
    )  # fmt: skip
    cards.undecided = partial(waiting_for, world)
    ledger.draw_now, ledger.signal = cards.draw_now, cards.statuses.signal
    work = jobs(world)
    pump.work = lambda run: work[run.name].work(*run.args)
    app = slack_app.bolt(fast, INSTALLED.signing_secret, me)
    register(app, world, Hints(fast, cards), str(me.bot_user_id))
    try:
        async with _way_in(ws, app, mode) as url:
            edge = Edge(ws, world, ledger, desk, planner, people, pump, cards, app, mode, url)
            skewed.append(edge)
            yield edge
            await pump.idle()
    finally:
        await pump.stop()
        await cards.statuses.stop()
        await ws.stop()
        await session.close()
        await redis.aclose()
        await engine.dispose()
    assert ws.refused == []
    assert pump.failed == [], [repr(error) for _, error in pump.failed]
    assert_plain(ws, desk.specs())


@asynccontextmanager
async def _way_in(ws: Workspace, app: Any, mode: str) -> AsyncIterator[str]:
    """Socket Mode, or signed HTTP; the guarded route is there in both."""
    site = web.Application(client_max_size=slack_app.MOST_BYTES)
    site.router.add_post("/slack/events", slack_app.Guard(app, INSTALLED.signing_secret).handle)
    async with listening(site, "127.0.0.1", 0, HttpLimits(), grace=0.1) as port:
        url = f"http://127.0.0.1:{port}/slack/events"
        sockets = slack_app.Sockets(app, INSTALLED.app_token) if mode == "socket" else None
        if sockets:
            await sockets.start()
            await ws.settled()
        else:
            await ws.deliver_to(url)
        try:
            yield url
        finally:
            if sockets:
                await sockets.stop()
