"""The MCP host: all servers and their tools, and the only module that calls a tool."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence, Set
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread
from mcp.server import MCPServer
from mcp_types import CallToolResult

from gate.rules.action import Json
from gate.rules.jobs import OWNER
from gate.rules.sampling import RECORD, Sampler, SamplingBounds
from gate.rules.send_guard import SEND_GUARD
from gate.rules.tool import Answer, Pin, Problem, ServerStatus, ServerUnavailable, ToolSpec
from tools.mcp.catalogue import Catalogue, Pins
from tools.mcp.catalogue_builds import CatalogueBuilder
from tools.mcp.connection import MAX_WAITING_CALLS, Connection, Listing, Timeouts
from tools.mcp.limits import QueueFull, Slot
from tools.mcp.results import classify_error, to_answer
from tools.mcp.schema import problems
from tools.mcp.server_config import INPROC, ServerConfig
from tools.mcp.server_requests import CURRENT, AskingCall, Elicitations, Sampling
from tools.mcp.session import CURRENT_CALL, CallTrace
from tools.mcp.transport import Connector, OpenClient
from tools.recipes.reader import RecipeFiles

log = logging.getLogger(__name__)
SPARE_THREADS = 40  # of anyio, for what is no call of a tool
CANCEL_SECONDS = 1.0  # beyond the limit, in which the SDK may send the cancellation


class PinStore(Protocol):
    """Stores the definitions of tools as they were first seen, or reviewed."""

    async def of(self, server: str, tools: Collection[str]) -> Sequence[Pin]:
        """The current pins of these tools of one server."""

    async def first_seen(self, server: str, definitions: Mapping[str, str]) -> None:
        """Pin the definitions of tools that are not pinned. An existing pin is kept."""


class InMemoryPins:
    """Pins for the lifetime of the process, where nothing is stored."""

    def __init__(self, pins: Iterable[Pin] = ()) -> None:
        self._pins = {(pin.server, pin.tool): pin for pin in pins}

    async def of(self, server: str, tools: Collection[str]) -> Sequence[Pin]:
        return [pin for pin in self._pins.values() if pin.server == server and pin.tool in tools]

    async def first_seen(self, server: str, definitions: Mapping[str, str]) -> None:
        for tool, definition in definitions.items():
            self._pins.setdefault((server, tool), Pin(server, tool, definition))


@dataclass(frozen=True, slots=True)
class HostOptions:
    """What the host needs besides its servers. `inproc`: in-process servers by name. `pins` is read at each
    listing."""

    logs: Path
    inproc: Mapping[str, MCPServer] = field(default_factory=dict)
    recipes: RecipeFiles = field(default_factory=dict)
    pins: PinStore = field(default_factory=InMemoryPins)
    timeouts: Timeouts = field(default_factory=Timeouts)
    sampler: Sampler | None = None  # answers the servers that may sample
    sampling_bounds: SamplingBounds = field(default_factory=SamplingBounds)


class Host:
    """Implements gate.rules.ports.Tools. `find` and the lists are local; `declared`, `refresh` and `call` ask the
    server."""

    def __init__(self, servers: Sequence[ServerConfig], options: HostOptions) -> None:
        self._options = options
        self._listings: dict[str, tuple[Listing, Pins | None]] = {}  # what each catalogue was built from
        self._configs = {config.name: config for config in servers}
        self._catalogues = {config.name: Catalogue() for config in servers}
        self._samplings = {config.name: self._sampling(config) for config in servers if config.sampling}
        # Who answers what the servers ask that may ask.
        self._elicitations = {
            config.name: Elicitations(config.name) for config in servers if config.elicitation
        }
        self._builder = CatalogueBuilder(options.recipes)
        self._connections = {config.name: self._connection(config) for config in servers}
        self._abandoned: set[asyncio.Task[CallToolResult]] = set()

    def _sampling(self, config: ServerConfig) -> Sampling:
        bounds, sampler = self._options.sampling_bounds, self._options.sampler
        return Sampling(config.name, bounds, sampler, in_words=config.is_bundled)

    def _connection(self, config: ServerConfig) -> Connection:
        inproc = self._options.inproc.get(config.name) if config.transport == INPROC else None

        async def on_listing(listing: Listing) -> None:
            await self._publish(config, listing)

        name = config.name
        connector = Connector(
            config, self._options.logs, inproc, self._samplings.get(name), self._elicitations.get(name)
        )
        return Connection(connector, self._options.timeouts, on_listing)

    async def start(self, seconds: float = 0.0) -> None:
        """Begin to connect to every server, and wait up to `seconds` for the first attempts."""
        self._ensure_threads()
        for connection in self._connections.values():
            connection.start()
        attempts = [asyncio.create_task(c.first_attempt_done.wait()) for c in self._connections.values()]
        if attempts:
            _, late = await asyncio.wait(attempts, timeout=seconds)
            for wait in late:
                wait.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _ensure_threads(self) -> None:
        """A thread for each call that the servers in this process may have at once: else the calls of one person that
        wait for something could take all of them."""
        limiter = anyio.to_thread.current_default_thread_limiter()
        calls = sum(config.concurrency for config in self._configs.values() if config.transport == INPROC)
        limiter.total_tokens = max(limiter.total_tokens, calls + SPARE_THREADS)

    async def stop(self) -> None:
        """Close all connections concurrently. Calls in progress end as unknown."""
        await asyncio.gather(*(connection.stop() for connection in self._connections.values()))
        self._builder.close()

    def find(self, server: str, tool: str) -> ToolSpec | None:
        catalogue = self._catalogues.get(server)
        return catalogue.specs.get(tool) if catalogue else None

    def specs(self) -> Sequence[ToolSpec]:
        """Every tool of every server, in a stable order; those of a disconnected server as last listed."""
        return [
            self._catalogues[server].specs[tool]
            for server in sorted(self._catalogues)
            for tool in sorted(self._catalogues[server].specs)
        ]

    def servers(self) -> Sequence[ServerStatus]:
        return [connection.status() for connection in self._connections.values()]

    @property
    def problems_found(self) -> Sequence[str]:
        """What an operator should fix in tools and recipes, one sentence each, as of the last listings."""
        return [problem for catalogue in self._catalogues.values() for problem in catalogue.problems]

    def reported_name(self, server: str) -> str:
        """The name that a server reports in `serverInfo`; "" before the first listing."""
        return self._catalogues[server].reported_name

    def problems(self, schema: Mapping[str, Json], value: Json) -> tuple[Problem, ...]:
        return problems(schema, value)

    async def refresh(self, server: str) -> None:
        """List one server's tools now. Raises ServerUnavailable."""
        await self._connection_of(server).refresh()

    def relist(self, server: str) -> None:
        connection = self._connections.get(server)
        if connection is not None:
            connection.request_refresh()

    async def declared(self, server: str, tool: str) -> ToolSpec | None:
        """As `find`, from a listing that is not older than some seconds. Raises ServerUnavailable."""
        await self._connection_of(server).ensure_current(self._options.timeouts.max_listing_age)
        return self.find(server, tool)

    async def call(
        self, server: str, tool: str, args: bytes, seconds: float | None = None, definition: str = ""
    ) -> Answer:
        """Call a tool, within `seconds` and the server's own limit. `args` is canonical JSON.

        With `definition`, only while the server declares exactly that. Raises ServerUnavailable (it did not run) or
        OutcomeUnknown (it may have run).
        """
        connection, config = self._connection_of(server), self._configs[server]
        limit, owner = min(config.timeout, seconds or config.timeout), OWNER.get()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + limit
        slot = await self._slot(connection, owner, limit / 2)
        connection.active_calls += 1
        try:
            client = await connection.ready(deadline - loop.time())
            if definition:
                client = await self._client_if_declared(connection, tool, definition, deadline)
            trace = CallTrace(
                tool=tool,
                owner=owner,
                client=client,
                record=RECORD.get(),
                slot=slot,
                guard=SEND_GUARD.get(),
            )
            with self._may_ask(connection, client, deadline - loop.time(), slot):
                return await self._call(connection, client, trace, args, deadline - loop.time())
        finally:
            connection.active_calls -= 1
            slot.close()

    def _may_ask(
        self, connection: Connection, client: OpenClient, seconds: float, slot: Slot
    ) -> AbstractContextManager[AskingCall | None]:
        """Within it, the server may ask the person behind the call, if it may at all."""
        asking = self._elicitations.get(connection.name)
        return asking.call(seconds, slot, client) if asking else nullcontext()

    async def _slot(self, connection: Connection, owner: str, seconds: float) -> Slot:
        """Wait for one of this server's slots for calls. Raises ServerUnavailable."""
        slot = Slot(connection.slots, owner)
        try:
            async with asyncio.timeout(seconds):
                await slot.taken()
                return slot
        except TimeoutError:
            busy = self._configs[connection.name].concurrency
            raise ServerUnavailable(
                f"{connection.name} is busy: {busy} calls at once, half of them for one person"
            ) from None
        except QueueFull:
            raise ServerUnavailable(
                f"{connection.name} has {MAX_WAITING_CALLS} of your calls waiting: wait until some are done"
            ) from None

    async def _client_if_declared(
        self, connection: Connection, tool: str, definition: str, deadline: float
    ) -> OpenClient:
        """The open client, if the server still declares this definition. Nothing is awaited after the comparison.
        Raises ServerUnavailable."""
        try:
            async with asyncio.timeout_at(deadline):
                await connection.ensure_current()
                if guard := SEND_GUARD.get():
                    await guard.confirm()
                    await connection.ensure_current()  # it may have reported a change meanwhile
                client = await connection.ready(self._options.timeouts.reconnect)
        except TimeoutError:
            raise ServerUnavailable(f"{connection.name} did not list its tools in time") from None
        spec = self.find(connection.name, tool)
        if spec is None or spec.definition != definition:
            raise ServerUnavailable(f"the definition of {connection.name}.{tool} has just changed")
        return client

    async def _call(
        self, connection: Connection, client: OpenClient, trace: CallTrace, args: bytes, seconds: float
    ) -> Answer:
        sampling = self._samplings.get(connection.name)
        try:
            with sampling.during(trace) if sampling else nullcontext():
                result = await self._call_in_task(seconds, client, json.loads(args), trace)
            self._check_output(connection.name, trace.tool, result)
            return to_answer(result)
        except ServerUnavailable:  # it may not be sent any more
            raise
        except Exception as error:
            failure = classify_error(error, trace, connection.name, observed=client.transport is not None)
        if failure.connection_lost:
            connection.mark_lost(client)
        if failure.timed_out:
            connection.check_health()
        if isinstance(failure.outcome, Answer):
            return failure.outcome
        raise failure.outcome

    def _check_output(self, server: str, tool: str, result: CallToolResult) -> None:
        """Raise RuntimeError where a result breaks its declared schema; what cannot be checked is accepted."""
        spec = self.find(server, tool)
        if spec is None or spec.output_schema is None or result.is_error:
            return
        if result.structured_content is None and "structured_content" not in result.model_fields_set:
            raise RuntimeError(f"Tool {tool} has an output schema but did not return structured content")
        violations = [
            one for one in problems(spec.output_schema, result.structured_content) if not one.unsure
        ]
        if violations:
            raise RuntimeError(f"Invalid structured content returned by tool {tool}: {violations[0].text}")

    async def _call_in_task(
        self, seconds: float, client: OpenClient, arguments: dict[str, Json], trace: CallTrace
    ) -> CallToolResult:
        """Call in a task of its own, so that the limit holds even where the SDK cannot be interrupted: in a write
        into a full pipe, or in an in-process tool that blocks its thread."""
        CURRENT_CALL.set(trace)
        asking = CURRENT.get()  # the SDK's own limit would go on while a person is asked
        limit = None if asking else seconds
        scope = anyio.CancelScope()
        called = partial(client.sdk.call_tool, trace.tool, arguments, read_timeout_seconds=limit)
        call = asyncio.create_task(_within(scope, trace, called))
        try:
            if asking:
                await asking.clock.wait(call)
            else:
                await asyncio.wait({call}, timeout=seconds + CANCEL_SECONDS)
        finally:
            CURRENT_CALL.set(None)
            if not call.done():
                if client.transport is None and trace.slot is not None:
                    scope.cancel()  # a thread sees that, and its task waits for it to end
                    trace.slot.keep_until(call)
                else:
                    call.cancel()
                self._abandoned.add(call)
                call.add_done_callback(self._discard)
        if not call.done():
            raise TimeoutError
        if call.cancelled():
            raise ConnectionError("the transport gave it up")
        return call.result()

    def _discard(self, call: asyncio.Task[CallToolResult]) -> None:
        self._abandoned.discard(call)
        if not call.cancelled():
            call.exception()  # retrieved, so that asyncio does not log it

    def _connection_of(self, server: str) -> Connection:
        connection = self._connections.get(server)
        if connection is None:
            raise ServerUnavailable(f"there is no server “{server}”")
        return connection

    async def _publish(self, config: ServerConfig, listing: Listing) -> None:
        """Rebuild the catalogue if the listing or the pins changed, and pin new tools."""
        pins = await self._pins_of(config, {tool.name for tool in listing.tools})
        if self._listings.get(config.name) != (listing, pins):
            catalogue = await self._builder.built(config, listing, pins)
            self._catalogues[config.name], self._listings[config.name] = catalogue, (listing, pins)
        specs = self._catalogues[config.name].specs
        new = {name: spec.definition for name, spec in specs.items() if pins is not None and name not in pins}
        if new and not config.is_bundled:
            try:
                await self._options.pins.first_seen(config.name, new)
            except Exception:  # the store cannot be reached: the next listing tries again
                log.exception("what %s offers could not be pinned", config.name)

    async def _pins_of(self, config: ServerConfig, tools: Set[str]) -> Pins | None:
        """The pins of these tools of a server, by name. When the store fails, those of the last listing; None when that
        had not all of these tools: what was pinned of the others is not known."""
        if config.is_bundled:
            return {}
        try:
            return {pin.tool: pin for pin in await self._options.pins.of(config.name, tools)}
        except Exception:
            log.exception("the pins of %s could not be read", config.name)
            last, pins = self._listings.get(config.name, (None, None))
            return pins if last and tools <= {tool.name for tool in last.tools} else None


async def _within(
    scope: anyio.CancelScope, trace: CallTrace, call: Callable[[], Awaitable[CallToolResult]]
) -> CallToolResult:
    """What a call gives, unless the scope is cancelled. Raises ConnectionError then."""
    with scope:
        trace.check()  # for a server in this process, which no transport looks at
        return await call()
    raise ConnectionError("it was given up")
