"""One server's connection: a single task opens, lists, watches, closes and reopens it. It never calls a tool."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from mcp import MCPError
from mcp.client import IncomingMessage
from mcp_types import Tool, ToolListChangedNotification

from gate.tool import ServerStatus, ServerUnavailable
from tools.dial import Dialler, Open, rotate

log = logging.getLogger(__name__)
MAX_PAGES = 100
CONNECTING, READY, BACKOFF, STOPPED = "connecting", "ready", "backoff", "stopped"


@dataclass(frozen=True, slots=True)
class Times:
    """How long things may take, in seconds."""

    connect: float = 30.0  # spawn, negotiate and list
    listing: float = 15.0
    health: float = 60.0  # between two listings of a quiet server
    wait: float = 10.0  # that a call waits for a server on its way back
    grace: float = 8.0  # to stop; the SDK itself takes 4 before it kills a stubborn child
    delay: float = 0.5  # before the first new try; doubled each time
    longest_delay: float = 60.0
    stable: float = 60.0  # connected for this long, a server is forgiven its past


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers now: tools in its order, and those that nobody could use, with the reason."""

    tools: tuple[Tool, ...]
    rejected: dict[str, str]
    calls_itself: str = ""


class Connection:
    """Keeps one server within reach. `start` and `stop` it; everybody else borrows `open` for calls.

    The SDK's client is entered and left by the owner task alone, and a transport that dies cancels that task
    (mcp.md pitfalls 1 to 3), so nobody else's work may run in it.
    """

    def __init__(
        self, dialler: Dialler, times: Times, on_listing: Callable[[Listing], Awaitable[None]]
    ) -> None:
        self.name = dialler.config.name
        self.slots = asyncio.Semaphore(dialler.config.concurrency)
        self.state, self.detail, self.tools, self.busy = CONNECTING, "", 0, 0
        self.settled = asyncio.Event()  # the first try is over, well or badly
        self._dialler, self._times, self._on_listing = dialler, times, on_listing
        self._mode = dialler.config.mode
        self._open: Open | None = None
        self._ready, self._wake = asyncio.Event(), asyncio.Event()
        self._stopping = self._broken = False
        self._wanted = self._served = 0  # listings asked for and done: `refresh` waits for its own
        self._listed = asyncio.Condition()
        self._patience: asyncio.Timeout | None = None
        self._owner: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._owner = asyncio.create_task(self._own(), name=f"mcp {self.name}")

    async def stop(self) -> None:
        """Close, within the grace; whatever the owner still waits for is given up at once."""
        self._stopping = True
        self._wake.set()
        if self._patience is not None:
            with contextlib.suppress(RuntimeError):  # it has just ended by itself
                self._patience.reschedule(asyncio.get_running_loop().time())
        if self._owner is not None:
            _, late = await asyncio.wait({self._owner}, timeout=self._times.grace)
            if late:
                self._owner.cancel()
                await asyncio.wait({self._owner}, timeout=2)
        self.state = STOPPED

    def status(self) -> ServerStatus:
        return ServerStatus(self.name, self.state, self.detail, self.tools)

    async def ready(self, seconds: float) -> Open:
        """The open client. Raises ServerUnavailable when there is none after `seconds`."""
        try:
            async with asyncio.timeout(min(seconds, self._times.wait)):
                while self._open is None:
                    await self._ready.wait()
                return self._open
        except TimeoutError:
            why = f": {self.detail}" if self.detail else ""
            raise ServerUnavailable(f"{self.name} is not connected{why}") from None

    def lost(self, client: Open) -> None:
        """A caller found this client dead: later calls wait for the next one."""
        if self._open is client:
            self._withdraw()
            self._broken = True
            self._wake.set()

    def suspect(self) -> None:
        """A call got no answer in time: see whether the server still answers at all."""
        self._hint()

    async def refresh(self) -> None:
        """List the tools anew, now. Raises ServerUnavailable when that does not work out in time."""
        await self.ready(self._times.wait)
        self._wanted += 1
        mine = self._wanted
        self._wake.set()
        try:
            async with asyncio.timeout(self._times.listing), self._listed:
                await self._listed.wait_for(lambda: self._served >= mine)
        except TimeoutError:
            raise ServerUnavailable(f"{self.name} did not list its tools in time") from None

    async def _own(self) -> None:
        delay, clock = self._times.delay, asyncio.get_running_loop().time
        while not self._stopping:
            self.state, self._broken, began = CONNECTING, False, clock()
            connected = await self._try_once()
            if self._stopping:
                break
            if clock() - began > self._times.stable:
                delay = self._times.delay
            self.state = BACKOFF
            if not connected and self._change_mode():
                continue
            self.settled.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay * random.uniform(0.7, 1.3)):
                    while not self._stopping:
                        self._wake.clear()
                        await self._wake.wait()
            delay = min(delay * 2, self._times.longest_delay)
        self.state = STOPPED
        self.settled.set()

    def _change_mode(self) -> bool:
        """Some servers exit when asked for the modern protocol: try the old one at once, then wait as usual."""
        if self._dialler.config.mode == "legacy":
            return False
        self._mode = "legacy" if self._mode == "auto" else "auto"
        return self._mode == "legacy"

    async def _try_once(self) -> bool:
        """One connection, from opening to its end; whether it was ever good. The reason goes to `detail`."""
        good = False
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with asyncio.timeout(self._times.connect) as self._patience:
                    client = await stack.enter_async_context(
                        self._dialler(self._mode, self._on_message, self._on_end)
                    )
                    await self._list(client)
                self._patience, good = None, True
                self._publish(client)
                await self._attend(client, stack)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            self.detail = "the connection broke"  # a dying transport cancels whoever entered it
        except BaseException as error:
            if not isinstance(error, Exception | BaseExceptionGroup):
                raise
            self.detail = reason(error, self._times)
        finally:
            self._patience = None
            self._withdraw()
        log.info("mcp server %s: connection ended (%s)", self.name, self.detail)
        return good

    def _publish(self, client: Open) -> None:
        self._open, self.state, self.detail = client, READY, ""
        if not client.modern:
            self._mode = "legacy"  # remembered: a silent server would cost ten seconds again
        self._ready.set()
        self.settled.set()

    def _withdraw(self) -> None:
        self._open = None
        self._ready.clear()

    async def _attend(self, client: Open, stack: contextlib.AsyncExitStack) -> None:
        """Until the end: list again when asked, when notified, and now and then to see whether it lives."""
        if client.modern:
            watcher = asyncio.create_task(self._watch(client))
            stack.callback(watcher.cancel)
        while not (self._stopping or self._broken):
            asked = True
            try:
                async with asyncio.timeout(self._times.health):
                    await self._wake.wait()
            except TimeoutError:
                asked = self._wanted > self._served
            self._wake.clear()
            if self._stopping or self._broken:
                return
            if asked or not self.busy:  # a server may be too busy with a call to say that it lives
                await self._relist(client)

    async def _relist(self, client: Open) -> None:
        rotate(self._dialler.log)
        try:
            async with asyncio.timeout(self._times.listing) as self._patience:
                await self._list(client)
        except (TimeoutError, MCPError):
            if not self.busy:
                raise
        finally:
            self._patience = None

    async def _list(self, client: Open) -> None:
        wanted, line = self._wanted, client.line
        if line:
            line.rejected.clear()
            line.listed.clear()
        tools: dict[str, Tool] = {}
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await client.client.list_tools(cursor=cursor)
            tools |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                break
        rejected = dict(line.rejected) if line else {}
        for name in (line.listed if line else set()) - tools.keys():
            rejected[name] = "its x-mcp-header annotations are not valid"
        self.tools = len(tools)
        info = client.client.server_info
        await self._on_listing(Listing(tuple(tools.values()), rejected, info.name if info else ""))
        async with self._listed:
            self._served = wanted
            self._listed.notify_all()

    async def _watch(self, client: Open) -> None:
        """Modern servers tell of changes on a stream of their own. Only a hint: it is not resumed when lost."""
        with contextlib.suppress(Exception):  # whatever ends the stream: the timer still lists
            async with client.client.listen(tools_list_changed=True) as changes:
                async for _ in changes:
                    self._hint()

    async def _on_message(self, message: IncomingMessage) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._hint()

    def _hint(self) -> None:
        self._wanted += 1
        self._wake.set()

    def _on_end(self) -> None:
        self._broken = True
        self._wake.set()


def reason(error: BaseException, times: Times) -> str:
    """The first leaf of an error in one line, for status and logs."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError):
        return f"no answer within {times.connect:g} seconds"
    if isinstance(error, FileNotFoundError):
        return f"there is no program or folder “{error.filename}”"
    text = " ".join(str(error).split())[:300]
    return text or type(error).__name__
