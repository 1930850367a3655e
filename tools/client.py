"""The MCP host: every server, every tool, and the only place in the house that calls one."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import CallToolResult

from gate.action import Json
from gate.tool import Answer, Problem, ServerStatus, ServerUnavailable, ToolSpec
from tools.answers import answer, judge
from tools.catalogue import Catalogue
from tools.connection import Connection, Listing, Times
from tools.dial import Dialler, Open
from tools.line import FLIGHT, Flight
from tools.recipes import RecipeFiles
from tools.schema import problems
from tools.servers import INPROC, ServerConfig

log = logging.getLogger(__name__)
MARGIN = 1.0  # seconds beyond the limit in which the SDK may tell the server that nobody waits any more
Seen = Callable[[str, Mapping[str, str]], Awaitable[None]]


async def _unkept(server: str, definitions: Mapping[str, str]) -> None:
    """Where nobody keeps them, first-seen definitions are remembered for as long as the process lives."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What the host is given besides its servers.

    `inproc`: ready servers by name. `pins`: (server, tool) -> the definition that was first seen or last
    reviewed. `on_seen` is told of definitions seen for the first time, to keep them for the next start.
    """

    logs: Path
    inproc: Mapping[str, MCPServer] = field(default_factory=dict)
    recipes: RecipeFiles = field(default_factory=dict)
    pins: Mapping[tuple[str, str], str] = field(default_factory=dict)
    on_seen: Seen = _unkept
    times: Times = field(default_factory=Times)


class Host:
    """Implements gate.world.Tools. Finding and listing are local and cheap; only `call` travels."""

    def __init__(self, servers: Sequence[ServerConfig], setting: Setting) -> None:
        self._setting = setting
        self._pins = dict(setting.pins)
        self._configs = {config.name: config for config in servers}
        self._catalogues = {config.name: Catalogue() for config in servers}
        self._connections = {config.name: self._connection(config) for config in servers}
        self._abandoned: set[asyncio.Task[CallToolResult]] = set()

    def _connection(self, config: ServerConfig) -> Connection:
        inproc = self._setting.inproc.get(config.name) if config.way == INPROC else None

        async def listed(listing: Listing) -> None:
            await self._listed(config, listing)

        return Connection(Dialler(config, self._setting.logs, inproc), self._setting.times, listed)

    async def start(self, seconds: float = 0.0) -> None:
        """Begin to connect to every server, and give them up to `seconds` for their first try."""
        for connection in self._connections.values():
            connection.start()
        waits = [asyncio.create_task(c.settled.wait()) for c in self._connections.values()]
        if waits:
            _, late = await asyncio.wait(waits, timeout=seconds)
            for wait in late:
                wait.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def stop(self) -> None:
        """Close every connection, all at once. Calls still under way end as unknown."""
        await asyncio.gather(*(connection.stop() for connection in self._connections.values()))

    def find(self, server: str, tool: str) -> ToolSpec | None:
        catalogue = self._catalogues.get(server)
        return catalogue.specs.get(tool) if catalogue else None

    def specs(self) -> Sequence[ToolSpec]:
        """Every tool of every server, in a stable order; those of a server in backoff as last listed."""
        return [
            self._catalogues[server].specs[tool]
            for server in sorted(self._catalogues)
            for tool in sorted(self._catalogues[server].specs)
        ]

    def servers(self) -> Sequence[ServerStatus]:
        return [connection.status() for connection in self._connections.values()]

    @property
    def problems_found(self) -> Sequence[str]:
        """What an operator should mend: broken tools and recipes, one sentence each, as of the last listing."""
        return [problem for catalogue in self._catalogues.values() for problem in catalogue.problems]

    def calls_itself(self, server: str) -> str:
        """The name that a server gives itself; "" while it was not heard."""
        return self._catalogues[server].calls_itself

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        return problems(schema, value)

    async def refresh(self, server: str) -> None:
        """List one server's tools anew. Raises ServerUnavailable."""
        await self._of(server).refresh()

    async def call(self, server: str, tool: str, args: bytes, seconds: float | None = None) -> Answer:
        """Call a tool, within `seconds` and the server's own limit. `args` is canonical JSON.

        Raises ServerUnavailable (it did not run) or OutcomeUnknown (it may have run).
        """
        connection, config = self._of(server), self._configs[server]
        limit = min(config.timeout, seconds or config.timeout)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        try:
            async with asyncio.timeout_at(deadline):
                await connection.slots.acquire()
        except TimeoutError:
            raise ServerUnavailable(f"{server} is busy with {config.concurrency} other calls") from None
        connection.busy += 1
        try:
            client = await connection.ready(deadline - loop.time())
            return await self._send(connection, client, tool, args, deadline - loop.time())
        finally:
            connection.busy -= 1
            connection.slots.release()

    async def _send(
        self, connection: Connection, client: Open, tool: str, args: bytes, seconds: float
    ) -> Answer:
        flight = Flight()
        try:
            return answer(await self._within(seconds, client, tool, json.loads(args), flight))
        except Exception as error:
            verdict = judge(error, flight, connection.name, watched=client.line is not None)
        if verdict.lost:
            connection.lost(client)
        if verdict.late:
            connection.suspect()
        if isinstance(verdict.outcome, Answer):
            return verdict.outcome
        raise verdict.outcome

    async def _within(
        self, seconds: float, client: Open, tool: str, arguments: dict[str, Json], flight: Flight
    ) -> CallToolResult:
        """The call in a task of its own, so that the limit holds even where the SDK cannot be interrupted:
        a write into a full pipe, or an in-process tool that blocks its thread."""
        FLIGHT.set(flight)
        call = asyncio.create_task(client.client.call_tool(tool, arguments, read_timeout_seconds=seconds))
        try:
            done, _ = await asyncio.wait({call}, timeout=seconds + MARGIN)
        finally:
            FLIGHT.set(None)
            if not call.done():
                call.cancel()
                self._abandoned.add(call)
                call.add_done_callback(self._forget)
        if not done:
            raise TimeoutError
        if call.cancelled():
            raise ConnectionError("the transport gave it up")
        return call.result()

    def _forget(self, call: asyncio.Task[CallToolResult]) -> None:
        self._abandoned.discard(call)
        if not call.cancelled():
            call.exception()  # looked at, so that asyncio does not report it

    def _of(self, server: str) -> Connection:
        connection = self._connections.get(server)
        if connection is None:
            raise ServerUnavailable(f"there is no server “{server}”")
        return connection

    async def _listed(self, config: ServerConfig, listing: Listing) -> None:
        """Publish a listing, and pin what was seen for the first time."""
        catalogue = Catalogue.of(config, listing, self._setting.recipes, self._pins)
        self._catalogues[config.name] = catalogue
        new = {
            name: spec.definition
            for name, spec in catalogue.specs.items()
            if (config.name, name) not in self._pins
        }
        if new:
            try:
                await self._setting.on_seen(config.name, new)
            except Exception:  # the store is out of reach: the next listing tells it again
                log.exception("what %s offers could not be pinned", config.name)
                return
            self._pins |= {(config.name, name): definition for name, definition in new.items()}
