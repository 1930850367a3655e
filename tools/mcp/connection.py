"""One server's connection: a single task opens, lists, monitors, closes and reopens it. No tool is called here."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp import MCPError
from mcp.client import IncomingMessage
from mcp_types import ListToolsResult, Tool, ToolListChangedNotification

from gate.rules.tool import ServerStatus, ServerUnavailable
from tools.mcp.limits import FairSlots, RelistBackoff, error_line
from tools.mcp.transport import Connector, OpenClient

log = logging.getLogger(__name__)
MAX_PAGES = 100
NOT_LISTED = "it does not list its tools: {why}"
MAX_WAITING_CALLS = 20  # of one person for one server
CONNECTING, READY, BACKOFF, STOPPED = "connecting", "ready", "backoff", "stopped"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Time limits and intervals, in seconds."""

    connect: float = 30.0  # spawn, negotiate and list
    listing: float = 15.0
    health_check: float = 60.0  # between two listings of a server that reports no changes
    max_listing_age: float = 5.0  # of the listing by which a confirmed call is checked before it is claimed
    reconnect: float = 10.0  # for which a call waits for the connection
    shutdown: float = 8.0  # the SDK itself takes 4 before it kills a child that does not exit
    first_retry: float = 0.5  # before the first retry; doubled each time
    longest_retry: float = 60.0
    stable: float = 60.0  # a connection of this length resets the retry delay


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools that a server offers, in its order, and the names of invalid ones with the reason."""

    tools: tuple[Tool, ...]
    rejected: dict[str, str]
    reported_name: str = ""


class Connection:
    """Keeps one server connected between `start` and `stop`. Callers borrow the client from `ready`.

    The SDK's client has to be entered and left by one task (modelcontextprotocol/python-sdk#79). A transport that
    dies cancels that task, so nothing else may run in it.
    """

    def __init__(
        self, connector: Connector, timeouts: Timeouts, on_listing: Callable[[Listing], Awaitable[None]]
    ) -> None:
        self.name = connector.config.name
        slots = connector.config.concurrency
        self.slots = FairSlots(slots, max(1, slots // 2), MAX_WAITING_CALLS, by_person=True)
        self.state, self.detail, self.tools, self.active_calls = CONNECTING, "", 0, 0
        self.first_attempt_done = asyncio.Event()  # whether or not it succeeded
        self._connector, self._timeouts, self._on_listing = connector, timeouts, on_listing
        self._mode = connector.config.mode
        self._client: OpenClient | None = None
        self._ready, self._wake = asyncio.Event(), asyncio.Event()
        self._stopping = self._broken = False
        self._refreshes_requested = self._refreshes_done = 0
        self._sdk_list_changes = 0  # notifications by the SDK that the tools changed
        self._listed_changes = (0, 0)  # `_change_counts` when the last listing began
        self._listed_at = -math.inf  # when the last listing began, on the loop's clock
        self._listing_done = asyncio.Condition()
        self._backoff, self._relist_scheduled = RelistBackoff(), False
        self._timeout: asyncio.Timeout | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name=f"mcp {self.name}")

    async def stop(self) -> None:
        """Close the connection within the shutdown time; the task's current wait is ended at once."""
        self._stopping = True
        self._wake.set()
        if self._timeout is not None:
            with contextlib.suppress(RuntimeError):  # the timeout has just ended
                self._timeout.reschedule(asyncio.get_running_loop().time())
        if self._task is not None:
            _, late = await asyncio.wait({self._task}, timeout=self._timeouts.shutdown)
            if late:
                self._task.cancel()
                await asyncio.wait({self._task}, timeout=2)
        self.state = STOPPED

    def status(self) -> ServerStatus:
        return ServerStatus(self.name, self.state, self.detail, self.tools)

    async def ready(self, seconds: float) -> OpenClient:
        """The open client, after at most `seconds`. Raises ServerUnavailable."""
        try:
            async with asyncio.timeout(min(seconds, self._timeouts.reconnect)):
                while self._client is None:
                    await self._ready.wait()
                return self._client
        except TimeoutError:
            why = f": {self.detail}" if self.detail else ""
            raise ServerUnavailable(f"{self.name} is not connected{why}") from None

    def mark_lost(self, client: OpenClient) -> None:
        """Report that calls on this client fail: later calls wait for the next connection."""
        if self._client is client:
            self._clear_client()
            self._broken = True
            self._wake.set()

    def check_health(self) -> None:
        """List the tools soon, to see whether the server still answers; for a call that had no answer in time."""
        self.request_refresh()

    async def refresh(self) -> None:
        """List the tools now. Raises ServerUnavailable when that does not succeed in time."""
        await self.ready(self._timeouts.reconnect)
        self._refreshes_requested += 1
        request = self._refreshes_requested
        self._wake.set()
        try:
            async with asyncio.timeout(self._timeouts.listing), self._listing_done:
                await self._listing_done.wait_for(lambda: self._refreshes_done >= request)
        except TimeoutError:
            raise ServerUnavailable(f"{self.name} did not list its tools in time") from None

    async def ensure_current(self, seconds: float = math.inf) -> None:
        """List the tools if the server has reported a change since, or if the last listing began more than `seconds`
        ago. Raises ServerUnavailable when the listing does not succeed."""
        outdated = self._client is not None and self._change_counts(self._client) != self._listed_changes
        if outdated or asyncio.get_running_loop().time() - self._listed_at > seconds:
            await self.refresh()

    def _change_counts(self, client: OpenClient) -> tuple[int, int]:
        """The number of reported changes of the tools: by the SDK, and as seen by the transport, which is sooner."""
        return self._sdk_list_changes, client.transport.list_changes if client.transport else 0

    async def _run(self) -> None:
        delay, clock = self._timeouts.first_retry, asyncio.get_running_loop().time
        while not self._stopping:
            self.state, self._broken, began = CONNECTING, False, clock()
            connected = await self._connect_once()
            if self._stopping:
                break
            if clock() - began > self._timeouts.stable:
                delay = self._timeouts.first_retry
            self.state = BACKOFF
            if not connected and self._change_mode():
                continue
            self.first_attempt_done.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay * random.uniform(0.7, 1.3)):
                    while not self._stopping:
                        self._wake.clear()
                        await self._wake.wait()
            delay = min(delay * 2, self._timeouts.longest_retry)
        self.state = STOPPED
        self.first_attempt_done.set()

    def _change_mode(self) -> bool:
        """Switch to the legacy protocol for an immediate retry: some servers exit when the modern one is requested.
        False where the switch was made already."""
        if self._connector.config.mode == "legacy":
            return False
        self._mode = "legacy" if self._mode == "auto" else "auto"
        return self._mode == "legacy"

    async def _connect_once(self) -> bool:
        """One connection from opening to its end; whether it was ever ready. `detail` gets the reason of the end."""
        connected = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self._timeouts.connect) as self._timeout:
                    client = await stack.enter_async_context(
                        self._connector(self._mode, self._on_message, self._on_close)
                    )
                    await self._list(client)
                self._timeout, connected = None, True
                self._set_client(client)
                await self._monitor(client, stack)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self.detail = "the connection broke"  # a transport that dies cancels the task that entered it
        except BaseException as error:
            if not isinstance(error, Exception | BaseExceptionGroup):
                raise
            self.detail = error_reason(error, self._timeouts)
        finally:
            self._timeout = None
            self._clear_client()
        log.info("mcp server %s: connection ended (%s)", self.name, self.detail)
        return connected

    def _set_client(self, client: OpenClient) -> None:
        self._client, self.state, self.detail = client, READY, ""
        if not client.is_modern:
            self._mode = "legacy"  # kept, because a server that ignores the probe costs ten seconds each time
        self._ready.set()
        self.first_attempt_done.set()

    def _clear_client(self) -> None:
        self._client = None
        self._ready.clear()

    async def _monitor(self, client: OpenClient, stack: contextlib.AsyncExitStack) -> None:
        """Until the end: list the tools when requested, and periodically as a health check."""
        if client.is_modern:
            watcher = asyncio.create_task(self._watch(client))
            stack.callback(watcher.cancel)
        while not (self._stopping or self._broken):
            requested_now = True
            try:
                async with asyncio.timeout(self._timeouts.health_check):
                    await self._wake.wait()
            except TimeoutError:
                requested_now = self._refreshes_requested > self._refreshes_done
            self._wake.clear()
            if self._stopping or self._broken:
                return
            if requested_now or not self.active_calls:  # a server may be too busy with a call to answer
                await self._relist(client)

    async def _relist(self, client: OpenClient) -> None:
        try:
            async with asyncio.timeout(self._timeouts.listing) as self._timeout:
                await self._list(client)
        except (TimeoutError, MCPError):
            if not self.active_calls:
                raise
        finally:
            self._timeout = None

    async def _list(self, client: OpenClient) -> None:
        requested, transport, scheduled, clock = (
            self._refreshes_requested,
            client.transport,
            self._relist_scheduled,
            asyncio.get_running_loop().time,
        )
        self._relist_scheduled, changes, began = False, self._change_counts(client), clock()
        if transport:
            transport.begin_listing()
        tools: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await _page(client, cursor)
            tools |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                break
        rejected = dict(transport.rejected) if transport else {}
        for name in (transport.listed_names if transport else set()) - tools.keys():
            rejected[name] = "its x-mcp-header annotations are not valid"
        self.tools = len(tools)
        info = client.sdk.server_info
        await self._on_listing(Listing(tuple(tools.values()), rejected, info.name if info else ""))
        self._listed_at, self._listed_changes = began, changes
        if scheduled:
            self._backoff.record(clock(), clock() - began)
        async with self._listing_done:
            self._refreshes_done = requested
            self._listing_done.notify_all()

    async def _watch(self, client: OpenClient) -> None:
        """Follow the change notifications that modern servers send on a stream. It is not resumed when it is lost."""
        with contextlib.suppress(Exception):  # whatever ends the stream, the periodic listing remains
            async with client.sdk.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._tools_changed()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._tools_changed()

    def _tools_changed(self) -> None:
        """Count a reported change, and schedule a listing no earlier than the backoff allows. A call that is to be
        claimed does not wait for it: it lists at once."""
        self._sdk_list_changes += 1
        if not self._relist_scheduled:
            self._relist_scheduled, loop = True, asyncio.get_running_loop()
            loop.call_later(self._backoff.delay(loop.time()), self.request_refresh)

    def request_refresh(self) -> None:
        """Have the tools listed soon, where the server is connected."""
        self._refreshes_requested += 1
        self._wake.set()

    def _on_close(self) -> None:
        self._broken = True
        self._wake.set()


async def _page(client: OpenClient, cursor: str | None) -> ListToolsResult:
    """One page of the tools. Raises MCPError, whose text says that it was about these."""
    try:
        return await client.sdk.list_tools(cursor=cursor)
    except MCPError as error:
        raise MCPError(error.code, NOT_LISTED.format(why=error.message)) from error


def error_reason(error: BaseException, timeouts: Timeouts) -> str:
    """The first leaf of an exception group in one line, for status and logs."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {timeouts.connect:g} seconds"
    if isinstance(error, FileNotFoundError):
        return f"there is no program or folder “{error.filename}”"
    return error_line(error)
