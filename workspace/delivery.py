"""Hands events, interactions and commands to the app, again where Slack would, twice when told to."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from workspace.faults import Doubling, Faults
from workspace.journal import Entry, Journal
from workspace.state import State

Kind = Literal["events_api", "interactive", "slash_commands"]
Payload = dict[str, Any]


@dataclass(frozen=True)
class Timing:
    """Slack's patience, in seconds. Tests shorten it."""

    ack: float = 3.0
    retries: tuple[float, ...] = (0.0, 60.0, 300.0)
    trigger: float = 3.0
    response_url: float = 1800.0


@dataclass(frozen=True)
class Attempt:
    """Which try this is: 0 the first; a later one says why the last one failed."""

    number: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class Answer:
    """What the app answered. `reason` is Slack's word: ok, http_timeout, http_error, connection_failed."""

    ok: bool
    reason: str
    body: Any = None
    status: int | None = None
    no_retry: bool = False


class Transport(Protocol):
    """A way to the app's replicas; a receiver is one socket or one URL."""

    def receivers(self) -> Sequence[Any]: ...

    async def send(self, to: Any, kind: Kind, payload: Payload, attempt: Attempt) -> Answer: ...


class Delivery:
    """One per workspace. `transport` may be exchanged while it runs."""

    def __init__(
        self, transport: Transport, state: State, faults: Faults, timing: Timing, chance: random.Random
    ) -> None:
        self.transport, self._state, self._faults, self._timing = transport, state, faults, timing
        self._chance = chance
        self.journal = Journal()
        self._tasks: set[asyncio.Task[Any]] = set()

    def background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs on, with a strong reference, until done or until the workspace stops."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def event(self, event: Payload, shared: bool = False) -> str:
        """Sends an event on its way, with retries; returns its event_id at once."""
        app = self._state.app
        event_id = self._state.ids("Ev")
        bot = {"enterprise_id": None, "team_id": app.team, "user_id": app.bot_user}
        payload = {
            "token": "legacy",
            "team_id": app.team,
            "api_app_id": app.id,
            "event": event,
            "type": "event_callback",
            "event_id": event_id,
            "event_time": int(self._state.clock()),
            "authorizations": [{**bot, "is_bot": True, "is_enterprise_install": False}],
            "is_ext_shared_channel": shared,
            "event_context": self._state.ids("EC"),
        }
        self.background(self.insist(payload))
        return event_id

    async def insist(self, payload: Payload) -> Answer:
        """Delivers an event until it is acknowledged or the schedule ends."""
        how = self._faults.take_delivery(payload["event"]["type"])
        answer = await self._deliver("events_api", payload, Attempt(), how)
        for number, pause in enumerate(self._timing.retries, start=1):
            if (answer.ok and how != "late") or answer.no_retry:
                break
            await asyncio.sleep(pause)
            reason, how = "http_timeout" if answer.ok else answer.reason, None
            answer = await self._deliver("events_api", payload, Attempt(number, reason), None)
        return answer

    async def ask(self, kind: Kind, payload: Payload) -> Answer:
        """Delivers an interaction or a command. Slack tries these once, and a person sees the outcome."""
        how = self._faults.take_delivery(payload.get("type", kind))
        answer = await self._deliver(kind, payload, Attempt(), how)
        if how == "late":
            self.background(self._deliver(kind, payload, Attempt(), None))
        return answer

    async def _deliver(self, kind: Kind, payload: Payload, attempt: Attempt, how: Doubling | None) -> Answer:
        everyone = list(self.transport.receivers())
        if not everyone:
            return self._write(kind, payload, attempt, Answer(False, "connection_failed"))
        chosen = pick(everyone, how, self._chance)
        sends: list[Awaitable[Answer]] = [self.transport.send(to, kind, payload, attempt) for to in chosen]
        answers = [self._write(kind, payload, attempt, a) for a in await asyncio.gather(*sends)]
        return next((a for a in answers if a.ok), answers[0])

    def _write(self, kind: Kind, payload: Payload, attempt: Attempt, answer: Answer) -> Answer:
        name = payload["event"]["type"] if kind == "events_api" else payload.get("type", kind)
        note = f"{answer.reason} (try {attempt.number})"
        self.journal.write(Entry(self._state.clock(), "delivery", name, payload, answer.body, note))
        self._state.changed()
        return answer


def pick(everyone: Sequence[Any], how: Doubling | None, chance: random.Random) -> Sequence[Any]:
    """One receiver at random; two different ones where there are two; or all."""
    if how == "everywhere":
        return everyone
    shuffled = chance.sample(list(everyone), len(everyone))
    return (shuffled * 2)[:2] if how == "twice" else shuffled[:1]
