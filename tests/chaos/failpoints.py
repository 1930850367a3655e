"""Named points in the life of an action at which a replica kills itself, reached through the ports of its world."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp import web

from bot.cards import OnDraw
from gate.rules.action import Action
from gate.rules.action_states import Event, State
from gate.rules.audit import Entry
from gate.rules.messages import CardKey
from gate.rules.ports import LedgerEvent, World
from gate.rules.reviews import Phase
from gate.rules.task import PauseReason, Task
from gate.rules.task_states import TaskState
from gate.rules.tool import Answer
from tests.chaos.recording_server import ASKED, DONE, strikes

COMMITS = {Event.APPROVE: "decision commit", Event.START: "claim"}
COMMITS |= dict.fromkeys((Event.SUCCEED, Event.FAIL), "result commit")
NAMES = (
    "inbox commit",
    "ack",
    "prepare commit",
    "card posted",
    "decision commit",
    "claim",
    "tool called",
    "tool answered",
    "result commit",
    "card redrawn",
)
POINTS = [f"{when} {name}" for name in NAMES for when in ("before", "after")]
# In the life of a review: its pause, what Redis lists, its card, and its decision.
SHOWN = {Phase.BEFORE: ("card posted", "card redrawn"), Phase.AFTER: ("look posted", "look redrawn")}
PAUSING, RESUMING = ("pause commit", "list put"), ("review commit", "list dropped")


@dataclass(frozen=True)
class Fuse:
    """Kills this process at `point`; the replica that makes the file `spent` is the one that dies."""

    point: str
    spent: Path
    bell: Path  # the log of the tool, which says how far a call has come

    def reach(self, when: str, name: str) -> None:
        """This is the point `when` (before, after) `name`."""
        if f"{when} {name}" != self.point:
            return
        try:
            os.close(os.open(self.spent, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)

    def dress(self, world: World) -> World:
        """The world with a fuse in its ledger, its tools and its chat."""
        return replace(
            world,
            ledger=Ledger(world.ledger, self),
            tools=Tools(world.tools, self),
            chat=Chat(world.chat, self),
            pending=Pending(world.pending, self),
        )

    @web.middleware
    async def acks(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """The acknowledgement of an event: the answer to its request."""
        response: web.StreamResponse = await handler(request)
        if request.content_type != "application/json" or response.status != 200:
            return response
        self.reach("before", "ack")
        await response.prepare(request)
        await response.write_eof()
        self.reach("after", "ack")
        return response


class Port:
    """Another port, with the methods of a subclass in place of its own."""

    def __init__(self, port: Any, fuse: Fuse) -> None:
        self._port = port
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)


class Ledger(Port):
    def for_token(self, token: str) -> Ledger:
        """Requests of the API have a ledger of their own, which burns as well."""
        return Ledger(self._port.for_token(token), self._fuse)

    @asynccontextmanager
    async def begin(self, seconds: float | None = None) -> AsyncIterator[Any]:
        async with self._port.begin(seconds) as port:
            tx = Tx(port, self._fuse)
            yield tx
            for name in tx.meant:
                self._fuse.reach("before", name)
        for name in tx.meant:
            self._fuse.reach("after", name)

    async def receive_at_once(self, incoming: Any, most: int, run: Any) -> bool:
        """The same commit, of a message of a crowd."""
        self._fuse.reach("before", "inbox commit")
        taken: bool = await self._port.receive_at_once(incoming, most, run)
        if taken:
            self._fuse.reach("after", "inbox commit")
        return taken


class Tx(Port):
    """Notes what its transaction is about."""

    def __init__(self, port: Any, fuse: Fuse) -> None:
        super().__init__(port, fuse)
        self.meant: list[str] = []

    async def receive(self, incoming: Any, most: int | None = None) -> bool:
        new: bool = await self._port.receive(incoming, most)
        self.meant += ["inbox commit"] if new else []
        return new

    async def insert(self, action: Action) -> Action:
        self.meant.append("prepare commit")
        stored: Action = await self._port.insert(action)
        return stored

    async def move(self, action: Action, event: Event, **more: Any) -> Action:
        moved: Action = await self._port.move(action, event, **more)
        self.meant += [COMMITS[event]] if event in COMMITS else []
        return moved

    def audit(self, entry: Entry) -> None:
        """Every change of a task has an entry of its own."""
        self.meant += [entry.event] if entry.event.startswith("task_") else []
        self._port.audit(entry)

    def publish(self, happening: LedgerEvent) -> None:
        """The start and the end of a review are told."""
        told = {"workflow_paused": "pause commit", "workflow_resumed": "review commit"}
        self.meant += [told[happening.kind]] if happening.kind in told else []
        self._port.publish(happening)


class Tools(Port):
    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        self._fuse.reach("before", "tool called")
        call = asyncio.create_task(self._port.call(server, tool, args, seconds, definition))
        mark = json.loads(args)["mark"]
        for when, name, event in (("after", "tool called", ASKED), ("before", "tool answered", DONE)):
            while self._fuse.point == f"{when} {name}" and not call.done():
                if strikes(self._fuse.bell, event)[mark]:
                    self._fuse.reach(when, name)
                await asyncio.sleep(0.01)
        answer: Answer = await call
        self._fuse.reach("after", "tool answered")
        return answer


class Chat(Port):
    async def draw(self, key: CardKey, within: float, seen: OnDraw) -> None:
        name = ""

        async def noticed(record: Action | Task) -> None:
            nonlocal name
            await seen(record)
            name = _task_point(record) if isinstance(record, Task) else _action_point(record)
            self._fuse.reach("before", name)

        await self._port.draw(key, within, noticed)
        self._fuse.reach("after", name)


def _action_point(action: Action) -> str:
    return {State.PREPARED: "card posted", State.SUCCEEDED: "card redrawn"}.get(action.state, "")


def _task_point(task: Task) -> str:
    reviewed = (task.state, task.why) == (TaskState.PAUSED, PauseReason.REVIEW)
    went_on = task.pauses > 0 and task.state is not TaskState.PAUSED
    return "look posted" if reviewed else "look redrawn" if went_on else ""


class Pending(Port):
    """The list in Redis of what waits for a review."""

    async def put(self, waiting: Any) -> None:
        self._fuse.reach("before", "list put")
        await self._port.put(waiting)
        self._fuse.reach("after", "list put")

    async def drop(self, team: str, key: str) -> None:
        self._fuse.reach("before", "list dropped")
        await self._port.drop(team, key)
        self._fuse.reach("after", "list dropped")
