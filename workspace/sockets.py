"""The transport of Socket Mode: single-use tickets, connections, envelopes and acknowledgements."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from aiohttp import WSMsgType, web

from workspace.delivery import AppResponse, Attempt, Kind, Payload
from workspace.errors import SlackError
from workspace.faults import Faults
from workspace.state import State

MAX_CONNECTIONS = 10


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
