"""Delivery of events, interactions and commands to the app by Socket Mode or signed HTTP, with Slack's retries."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import random
import time
from collections import deque
from collections.abc import Awaitable, Coroutine, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol
from urllib.parse import urlencode

import aiohttp
from aiohttp import WSMsgType, web

from workspace.faults import Duplication, Faults, SlackError
from workspace.state import State

Kind = Literal["events_api", "interactive", "slash_commands"]
Payload = dict[str, Any]
MAX_CONNECTIONS = 10


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

    def send_event(self, event: Payload, shared: bool = False, made_by: str = "") -> str:
        """Starts the delivery of an event, with retries, in the background; returns its event_id. `made_by`: the other
        workspace that made its channel. Slack names that one in `team_id`, and the app's in `authorizations`."""
        app = self._state.app
        event_id = self._state.ids("Ev")
        bot = {"enterprise_id": None, "team_id": app.team, "user_id": app.bot_user}
        payload = {
            "token": "legacy",
            "team_id": made_by or app.team,
            "context_team_id": app.team,
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


def sign(secret: str, body: str, timestamp: int | None = None) -> dict[str, str]:
    """The signature headers of a body.

    `timestamp`: seconds since the epoch; by default the system time, not the workspace's clock, as the receiver
    compares it with its own.
    """
    stamp = str(int(time.time()) if timestamp is None else timestamp)
    digest = hmac.new(secret.encode(), f"v0:{stamp}:{body}".encode(), hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={digest}"}


def encode(kind: Kind, payload: Payload) -> tuple[str, str]:
    """The content type and the body of this kind of delivery."""
    if kind == "events_api":
        return "application/json", json.dumps(payload)
    form = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
    return "application/x-www-form-urlencoded", urlencode(form)


class SignedHttp:
    """Delivers to `urls`; each request times out after `ack_seconds`."""

    def __init__(self, urls: Sequence[str], secret: str, ack_seconds: float) -> None:
        self._urls, self._secret, self._ack_seconds = list(urls), secret, ack_seconds
        self._session: aiohttp.ClientSession | None = None

    def receivers(self) -> Sequence[str]:
        return self._urls

    async def send(self, url: str, kind: Kind, payload: Payload, attempt: Attempt) -> AppResponse:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        if self._session.closed:  # `stop` was called since Delivery chose this transport
            return AppResponse(False, "connection_failed")
        content_type, body = encode(kind, payload)
        headers = {"Content-Type": content_type, **sign(self._secret, body)}
        if attempt.number:
            headers |= {"X-Slack-Retry-Num": str(attempt.number)}
            headers |= {"X-Slack-Retry-Reason": attempt.reason or "unknown_error"}
        timeout = aiohttp.ClientTimeout(total=self._ack_seconds)
        try:
            async with self._session.post(
                url, data=body.encode(), headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                return await _read_response(response)
        except TimeoutError:
            return AppResponse(False, "http_timeout")
        except aiohttp.ClientError:
            return AppResponse(False, "connection_failed")

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()


async def _read_response(response: aiohttp.ClientResponse) -> AppResponse:
    text = await response.text()
    ok = response.status == 200
    body = text
    if response.content_type == "application/json" and text:
        body = json.loads(text)
    no_retry = response.headers.get("x-slack-no-retry") == "1"
    return AppResponse(ok, "ok" if ok else "http_error", body or None, response.status, no_retry)


class Connection:
    """One open WebSocket, and the envelopes that the app has not acknowledged on it."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.pending: dict[str, asyncio.Future[Any]] = {}

    def acknowledge(self, frame: dict[str, Any]) -> None:
        future = self.pending.get(frame.get("envelope_id", ""))
        if future and not future.done():
            future.set_result(frame.get("payload"))

    def fail_pending(self) -> None:
        for future in self.pending.values():
            if not future.done():
                future.set_exception(ConnectionError("the socket closed"))


class Sockets:
    """Delivers over open WebSockets; an acknowledgement is awaited for `ack_seconds`."""

    def __init__(self, state: State, faults: Faults, ack_seconds: float) -> None:
        self._state, self._faults, self._ack_seconds = state, faults, ack_seconds
        self._tickets: set[str] = set()
        self._connections: list[Connection] = []

    def open_ticket(self) -> str:
        if len(self._connections) >= MAX_CONNECTIONS:
            raise SlackError("too_many_websockets")
        ticket = self._state.ids("ticket")
        self._tickets.add(ticket)
        return ticket

    def receivers(self) -> Sequence[Connection]:
        return [connection for connection in self._connections if not connection.socket.closed]

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """The WebSocket endpoint. Answers 404 to a used or unknown ticket."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=404, text="unknown or used ticket")
        self._tickets.discard(ticket)
        if self._faults.refuse_handshakes > 0:
            self._faults.refuse_handshakes -= 1
            return web.Response(status=503, text="try again")
        socket = web.WebSocketResponse(heartbeat=30, timeout=1)
        await socket.prepare(request)
        connection = Connection(socket)
        self._connections.append(connection)
        try:
            await self._serve(connection)
        finally:
            self._connections.remove(connection)
            connection.fail_pending()
            self._state.changed()
        return socket

    async def _serve(self, connection: Connection) -> None:
        await connection.socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self._connections),
                "connection_info": {"app_id": self._state.app.id},
                "debug_info": {"host": "workspace", "approximate_connection_time": 18060},
            }
        )
        self._state.changed()
        async for frame in connection.socket:
            if frame.type == WSMsgType.TEXT:
                connection.acknowledge(json.loads(frame.data))

    async def send(
        self, connection: Connection, kind: Kind, payload: Payload, attempt: Attempt
    ) -> AppResponse:
        envelope_id = self._state.ids("envelope")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        connection.pending[envelope_id] = future
        envelope = {
            "envelope_id": envelope_id,
            "type": kind,
            "accepts_response_payload": kind != "events_api",
            "payload": payload,
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt.number, "retry_reason": attempt.reason or ""}
        try:
            await connection.socket.send_json(envelope)
            return AppResponse(True, "ok", await asyncio.wait_for(future, self._ack_seconds))
        except TimeoutError:
            return AppResponse(False, "http_timeout")
        except ConnectionError:
            return AppResponse(False, "connection_failed")
        finally:
            del connection.pending[envelope_id]

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Asks every client to reconnect, as Slack does every few hours."""
        for connection in list(self.receivers()):
            await connection.socket.send_json({"type": "disconnect", "reason": reason})

    async def close(self) -> None:
        """Closes every connection without a disconnect message."""
        for connection in list(self._connections):
            await connection.socket.close()
