"""Delivery of events, interactions and commands to the app, with Slack's retries and injected duplicates."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol

from workspace.faults import Duplication, Faults
from workspace.state import State

Kind = Literal["events_api", "interactive", "slash_commands"]
Payload = dict[str, Any]


@dataclass(frozen=True)
class Timing:
    """Slack's time limits and retry delays, in seconds. Tests shorten them.

    stream: after its start, a stream is closed. stream_idle: after the last text in it.
    """

    ack: float = 3.0
    retries: tuple[float, ...] = (0.0, 60.0, 300.0)
    trigger: float = 3.0
    response_url: float = 1800.0
    stream: float = 300.0
    stream_idle: float = 30.0


@dataclass(frozen=True)
class Attempt:
    """The retry number, 0 for the first delivery, and the reason why the delivery before failed."""

    number: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class AppResponse:
    """The app's response to a delivery. `reason` is as in Slack's retry header: http_timeout, http_error,
    connection_failed; or ok."""

    ok: bool
    reason: str
    body: Any = None
    status: int | None = None
    no_retry: bool = False


@dataclass(frozen=True)
class Entry:
    """One request and its response. `name` is a Web API method or the type of a delivery."""

    at: float
    side: Literal["call", "delivery"]
    name: str
    sent: dict[str, Any]
    answer: Any
    note: str = ""


class CallLog:
    """The newest calls by the app and deliveries to it. Tokens are never written to it."""

    def __init__(self, max_entries: int = 20_000) -> None:
        self._entries: deque[Entry] = deque(maxlen=max_entries)

    def write(self, entry: Entry) -> None:
        self._entries.append(entry)

    def trim(self, newest: int) -> None:
        """Removes all but the newest entries."""
        while len(self._entries) > newest:
            self._entries.popleft()

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._entries))

    def as_json(self) -> list[dict[str, Any]]:
        return [asdict(entry) for entry in self]


class Transport(Protocol):
    """Socket Mode or HTTP. A receiver is one open socket or one request URL."""

    def receivers(self) -> Sequence[Any]: ...

    async def send(self, receiver: Any, kind: Kind, payload: Payload, attempt: Attempt) -> AppResponse: ...


class Delivery:
    """Delivers to the app; one per workspace. `transport` may be replaced at any time."""

    def __init__(
        self, transport: Transport, state: State, faults: Faults, timing: Timing, random_source: random.Random
    ) -> None:
        self.transport, self._state, self._faults, self._timing = transport, state, faults, timing
        self._random = random_source
        self.call_log = CallLog()
        self._tasks: set[asyncio.Task[Any]] = set()

    def run_in_background(self, work: Coroutine[Any, Any, Any]) -> None:
        """Starts a task and keeps a reference to it until it ends or `stop` cancels it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def send_event(self, event: Payload, shared: bool = False) -> str:
        """Starts the delivery of an event, with retries, in the background; returns its event_id."""
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
        self.run_in_background(self.deliver_with_retries(payload))
        return event_id

    async def deliver_with_retries(self, payload: Payload) -> AppResponse:
        """Delivers an event until it is acknowledged or no retries are left; returns the last response."""
        duplication = self._faults.next_duplication(payload["event"]["type"])
        response = await self._deliver("events_api", payload, Attempt(), duplication)
        for number, pause in enumerate(self._timing.retries, start=1):
            if (response.ok and duplication != "late") or response.no_retry:
                break
            await asyncio.sleep(pause)
            reason, duplication = "http_timeout" if response.ok else response.reason, None
            response = await self._deliver("events_api", payload, Attempt(number, reason), None)
        return response

    async def send_interaction(self, kind: Kind, payload: Payload) -> AppResponse:
        """Delivers an interaction or a command; returns the response. Slack does not retry these."""
        duplication = self._faults.next_duplication(payload.get("type", kind))
        response = await self._deliver(kind, payload, Attempt(), duplication)
        if duplication == "late":
            self.run_in_background(self._deliver(kind, payload, Attempt(), None))
        return response

    async def _deliver(
        self, kind: Kind, payload: Payload, attempt: Attempt, duplication: Duplication | None
    ) -> AppResponse:
        receivers = list(self.transport.receivers())
        if not receivers:
            return self._write(kind, payload, attempt, AppResponse(False, "connection_failed"))
        chosen = pick(receivers, duplication, self._random)
        sends: list[Awaitable[AppResponse]] = [
            self.transport.send(receiver, kind, payload, attempt) for receiver in chosen
        ]
        responses = [self._write(kind, payload, attempt, a) for a in await asyncio.gather(*sends)]
        return next((a for a in responses if a.ok), responses[0])

    def _write(self, kind: Kind, payload: Payload, attempt: Attempt, response: AppResponse) -> AppResponse:
        name = payload["event"]["type"] if kind == "events_api" else payload.get("type", kind)
        note = f"{response.reason} (try {attempt.number})"
        self.call_log.write(Entry(self._state.clock(), "delivery", name, payload, response.body, note))
        self._state.changed()
        return response


def pick(
    receivers: Sequence[Any], duplication: Duplication | None, random_source: random.Random
) -> Sequence[Any]:
    """The receivers of one delivery: one at random; for `twice` two, different if possible; for `everywhere` all."""
    if duplication == "everywhere":
        return receivers
    shuffled = random_source.sample(list(receivers), len(receivers))
    return (shuffled * 2)[:2] if duplication == "twice" else shuffled[:1]
