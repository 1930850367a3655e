"""Socket Mode: single-use tickets, open connections, envelopes and their acknowledgements."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from aiohttp import WSMsgType, web

from workspace.delivery import Answer, Attempt, Kind, Payload
from workspace.errors import SlackError
from workspace.faults import Faults
from workspace.state import State

MOST_CONNECTIONS = 10


class Line:
    """One open WebSocket and the envelopes it has not acknowledged."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.waiting: dict[str, asyncio.Future[Any]] = {}

    def acknowledge(self, frame: dict[str, Any]) -> None:
        future = self.waiting.get(frame.get("envelope_id", ""))
        if future and not future.done():
            future.set_result(frame.get("payload"))

    def broken(self) -> None:
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(ConnectionError("the socket closed"))


class Sockets:
    """The transport of Socket Mode."""

    def __init__(self, state: State, faults: Faults, patience: float) -> None:
        self._state, self._faults, self._patience = state, faults, patience
        self._tickets: set[str] = set()
        self._lines: list[Line] = []

    def open_ticket(self) -> str:
        if len(self._lines) >= MOST_CONNECTIONS:
            raise SlackError("too_many_websockets")
        ticket = self._state.ids("ticket")
        self._tickets.add(ticket)
        return ticket

    def receivers(self) -> Sequence[Line]:
        return [line for line in self._lines if not line.socket.closed]

    async def connect(self, request: web.Request) -> web.StreamResponse:
        """The WebSocket route. A used or unknown ticket is refused for ever."""
        ticket = request.query.get("ticket", "")
        if ticket not in self._tickets:
            return web.Response(status=404, text="unknown or used ticket")
        self._tickets.discard(ticket)
        if self._faults.refuse_handshakes > 0:
            self._faults.refuse_handshakes -= 1
            return web.Response(status=503, text="try again")
        socket = web.WebSocketResponse(heartbeat=30, timeout=1)
        await socket.prepare(request)
        line = Line(socket)
        self._lines.append(line)
        try:
            await self._talk(line)
        finally:
            self._lines.remove(line)
            line.broken()
            self._state.changed()
        return socket

    async def _talk(self, line: Line) -> None:
        await line.socket.send_json(
            {
                "type": "hello",
                "num_connections": len(self._lines),
                "connection_info": {"app_id": self._state.app.id},
                "debug_info": {"host": "workspace", "approximate_connection_time": 18060},
            }
        )
        self._state.changed()
        async for frame in line.socket:
            if frame.type == WSMsgType.TEXT:
                line.acknowledge(json.loads(frame.data))

    async def send(self, to: Line, kind: Kind, payload: Payload, attempt: Attempt) -> Answer:
        envelope_id = self._state.ids("envelope")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        to.waiting[envelope_id] = future
        envelope = {
            "envelope_id": envelope_id,
            "type": kind,
            "accepts_response_payload": kind != "events_api",
            "payload": payload,
        }
        if kind == "events_api":
            envelope |= {"retry_attempt": attempt.number, "retry_reason": attempt.reason or ""}
        try:
            await to.socket.send_json(envelope)
            return Answer(True, "ok", await asyncio.wait_for(future, self._patience))
        except TimeoutError:
            return Answer(False, "http_timeout")
        except ConnectionError:
            return Answer(False, "connection_failed")
        finally:
            del to.waiting[envelope_id]

    async def disconnect(self, reason: str = "refresh_requested") -> None:
        """Asks every client to connect anew, as Slack does every few hours."""
        for line in list(self.receivers()):
            await line.socket.send_json({"type": "disconnect", "reason": reason})

    async def hang_up(self) -> None:
        """Closes every connection without a word."""
        for line in list(self._lines):
            await line.socket.close()
