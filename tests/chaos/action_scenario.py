"""One action from the mention to its last card, through whatever happens to the replicas meanwhile, and its oracle."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.mcp_connect import connected
from bot.settings import Settings
from gate.rules.action import Action
from gate.rules.action_states import SETTLED, State
from gate.rules.canonical_json import parse
from gate.rules.ids import derive_id
from gate.rules.planner_port import Mode
from gate.rules.ports import Unavailable
from gate.rules.tool import Pin
from storage.audit_log import entries, verify
from storage.database import open_engine
from storage.ledger import SqlLedger
from storage.row_macs import row_macs_of
from storage.tool_pins import PinStore
from tests.chaos.recording_server import ASKED, Bell, heard, strikes
from tests.chaos.replicas import INSTALLED, KEY, SECONDS, Fleet, settings_for, until
from views import buttons, card, rendering
from workspace.context import Options
from workspace.delivery import Timing
from workspace.faults import NotPossible
from workspace.server import Workspace
from workspace.state import Message

OPS, ANN, TEAM = "C_OPS", "U_ANN", "T1"
# Slack sends an event three times more, over six minutes: here over half a minute.
TIMING = Timing(retries=(0.3, 3.0, 30.0))
ENDED = SETTLED | {State.UNKNOWN}


@dataclass
class Stage:
    """A workspace, a bell and the replicas between them; `ledger` looks from outside at their database."""

    ws: Workspace
    bell: Bell
    fleet: Fleet
    ledger: SqlLedger
    sql: Any
    _keepers: list[asyncio.Task[None]] = field(default_factory=list)

    async def reach(self) -> None:
        """Deliver to the replicas that live."""
        await self.ws.deliver_to(*self.fleet.urls)

    async def ask(self, mark: str, **more: float) -> Told:
        words = " ".join(f"{name}={value}" for name, value in {"mark": mark, **more}.items())
        said = await self.ws.as_(ANN).say(OPS, f"<@UBOT> bell.strike {words}")
        return Told(self, mark, said, first_action(said))

    async def rows(self, question: str) -> list[Any]:
        async with self.sql.connect() as connection:
            return list(await connection.execute(sa.text(question)))


def task_id(said: Message) -> str:
    """The task that this message asked for."""
    return derive_id("task", f"{TEAM}:{OPS}:{said.ts}")


def first_action(said: Message) -> str:
    """The action of the first call of a simple task."""
    turn = derive_id("turn", task_id(said), 1, Mode.ACT)
    return derive_id("action", turn, 0, 0)


@dataclass
class Told:
    """What Ann asked for."""

    stage: Stage
    mark: str
    said: Message
    id: str

    @property
    def cards(self) -> list[Message]:
        """The app's messages in the thread that are cards of the action."""
        return [m for m in self.stage.ws.by_app(OPS, self.said.ts) if _key(m) == self.id]

    async def now(self) -> Action | None:
        """As it stands in the ledger; None as long as it is not there, or the ledger is busy."""
        try:
            return await self.stage.ledger.action(self.id)
        except Unavailable:
            return None

    async def confirm(self) -> None:
        """Press Confirm until it counts, as a person would whose app does not respond at the moment."""
        ann = self.stage.ws.as_(ANN)
        await until(lambda: self.cards, f"the card of {self.mark}")
        async with asyncio.timeout(SECONDS):
            while (action := await self.now()) is None or action.state is State.PREPARED:
                with contextlib.suppress(NotPossible):  # the card says by now what became of an earlier try
                    await ann.click(self.cards[-1], buttons.CONFIRM)
                await asyncio.sleep(0.05)

    async def end(self, *states: State) -> Action:
        """The action once it is in one of these states, any end by default, and its card says so."""
        async with asyncio.timeout(SECONDS):
            while True:
                action = await self.now()
                if action and await self._ended(action, states or ENDED):
                    return action
                await asyncio.sleep(0.05)

    async def _ended(self, action: Action, states: Collection[State]) -> bool:
        try:
            posted = await self.stage.ledger.posted(self.id)
        except Unavailable:  # the ledger is busy: look again
            return False
        return action.state in states and posted is not None and posted.revision >= action.revision

    async def assert_shown(self, action: Action) -> None:
        """One card, or one more where its maker died between posting and writing down where; it comes to tell the
        truth, with the question whether it was right where its task asks that."""
        wanted = await self._wanted(action)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SECONDS):
                while await self._shown() != wanted:
                    await asyncio.sleep(0.05)
                    wanted = await self._wanted(action)
        assert len(self.cards) in (1, 2)
        assert await self._shown() == wanted

    async def _wanted(self, action: Action) -> tuple[str, Any]:
        votes = await self.stage.ledger.votes(action.id, action.version)
        task = await self.stage.ledger.task(action.task) if rendering.shows_task(action) else None
        message = card.card(action, votes, task)
        return message.text, _unnumbered(message.blocks)

    async def _shown(self) -> tuple[str, Any]:
        posted = await self.stage.ledger.posted(self.id)
        assert posted is not None
        (shown,) = [m for m in self.cards if m.ts == posted.ts]
        return shown.text, _unnumbered(shown.blocks)

    async def assert_struck(self, times: int) -> None:
        """The bell was asked at most once, sounded so often, and heard the very bytes that were shown."""
        log = self.stage.bell.log
        assert strikes(log, ASKED)[self.mark] <= 1
        assert strikes(log)[self.mark] == times
        action = await self.now()
        assert action is not None
        assert all(line["args"] == parse(action.args) for line in heard(log) if line["mark"] == self.mark)

    async def events(self) -> list[str]:
        """The events of the action in the audit log, in their order."""
        return [line.entry.event async for line in entries(self.stage.sql) if line.entry.action == self.id]


def _unnumbered(blocks: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Blocks without the ids that Slack gives to those that have none."""
    return [{name: value for name, value in block.items() if name != "block_id"} for block in blocks or []]


def _key(message: Message) -> str:
    return str(((message.metadata or {}).get("event_payload") or {}).get("key", ""))


async def assert_nothing_is_left(stage: Stage) -> None:
    """Every message is done with, no run is lost, no payload was refused by Slack, and the log is whole."""
    schema = "" if "sqlite" in stage.fleet.settings.database_url else "dbos."
    unread = "SELECT key FROM inbox WHERE done_at IS NULL"
    waiting = f"SELECT name FROM {schema}workflow_status WHERE status IN ('ENQUEUED', 'PENDING')"
    async with asyncio.timeout(SECONDS):
        while await stage.rows(unread) or await stage.rows(waiting):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    ended = "SELECT name, status FROM {}workflow_status WHERE status NOT IN ('SUCCESS', 'DELAYED')"
    assert await stage.rows(ended.format(schema)) == []
    assert stage.ws.refused == []
    assert (await verify(stage.sql, KEY.encode())).broken_at is None


@asynccontextmanager
async def staged(home: Path, url: str, redis_url: str, point: str = "", **more: Any) -> AsyncIterator[Stage]:
    """A stage without replicas; at its end none is left. `more`: settings of its replicas."""
    ws, bell = Workspace(INSTALLED, options=Options(timing=TIMING)), Bell(home / "bell.log")
    sql = open_engine(url, connections=2)
    await ws.start()
    await bell.start()
    settings = replace(settings_for(home, url, redis_url, ws.api_url, bell.url), **more)
    fleet = Fleet(settings, bell.log, point)
    await _reviewed(settings, sql)
    try:
        yield Stage(ws, bell, fleet, SqlLedger(sql, _nothing, KEY.encode()), sql)
    except (AssertionError, TimeoutError) as error:
        log = [f"{entry.side} {entry.name} {entry.note}" for entry in ws.log]
        error.add_note(f"{point or 'no point'}, {url}\n{log[-12:]}\n{fleet.said()}")
        raise
    finally:
        await asyncio.to_thread(fleet.close)
        await sql.dispose()
        await bell.stop()
        await ws.stop()


async def _reviewed(settings: Settings, sql: AsyncEngine) -> None:
    """An operator has read the server's tools, so that they are believed to reach nothing outside."""
    async with connected(settings, settings.servers, {}) as host:
        now = datetime.now(UTC)
        read = [Pin(tool.server, tool.name, tool.definition, "U_ANN", now) for tool in host.specs()]
        await PinStore(sql, row_macs_of(KEY.encode())).review(read, KEY.encode())


def _nothing(*_: Any) -> None:
    raise AssertionError("the test only looks")
