"""Bounds on what is read of one answer over HTTP, before any library makes something of it."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, NoReturn

import httpcore2
import httpx2

from tools.name_lookups import NameLookups, TooManyLookups

MAX_HEAD_BYTES = 128 * 1024  # of one answer up to its body, 1xx responses before it included
MAX_HEAD_LINES = 2000  # a header takes 7 µs
# Bytes that are parsed at once: 64 KiB of 1xx responses would stop the event loop for 0.1 s
PIECE = 4096
NEXT_ADDRESS = 2.0  # seconds after which the next address of a host is tried instead
FOREVER = 24 * 3600.0  # seconds, where there is no limit
MAX_ADDRESSES = 16  # of one host that are tried
NO_ADDRESS = "the address of {} was not found: {}"
SILENT = "{} did not answer within {:g} s"
HEAD_TOO_LONG = (
    f"what comes before its answer is longer than {MAX_HEAD_BYTES >> 10} KiB or {MAX_HEAD_LINES:,} lines"
)


@dataclass(slots=True)
class Bound:
    """How much may be read, and `why` no more is. `exceeded`: whether there was more."""

    why: str
    most_bytes: int
    most_lines: int
    exceeded: bool = False

    def take(self, data: bytes) -> None:
        """Count what was read. Raises httpcore2.RemoteProtocolError."""
        self.most_bytes -= len(data)
        self.most_lines -= data.count(b"\n")
        if self.most_bytes < 0 or self.most_lines < 0:
            self.exceeded = True
            raise httpcore2.RemoteProtocolError(self.why)


_BOUND: ContextVar[Bound | None] = ContextVar("the bound on what is read now", default=None)


@contextmanager
def reading(bound: Bound) -> Iterator[Bound]:
    """Every byte that this task reads in the block counts. Raises httpx2.RemoteProtocolError."""
    token = _BOUND.set(bound)
    try:
        yield bound
    finally:
        _BOUND.reset(token)


def reading_head() -> AbstractContextManager[Bound]:
    """The bound on the head of an answer."""
    return reading(Bound(HEAD_TOO_LONG, MAX_HEAD_BYTES, MAX_HEAD_LINES))


def refuse(why: str) -> NoReturn:
    """Read no more in this block, as if its bound were exceeded. Raises httpx2.RemoteProtocolError."""
    if bound := _BOUND.get():
        bound.why, bound.exceeded = why, True
    raise httpx2.RemoteProtocolError(why)


class OwnTurns:
    """Turns of the event loop, one for each caller: many answers that come at once are not parsed in one turn."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def next(self) -> None:
        """Return in a turn in which it returns to nobody else."""
        async with self._lock:
            await asyncio.sleep(0)


def keep_bounds(client: httpx2.AsyncClient, turns: OwnTurns, lookups: NameLookups) -> None:
    """Let the connections of this client keep to the bounds, parse what each has read in a turn of its own, and look up
    names there: all of one client have one owner.

    httpx2 skips 1xx responses without end and has no hook there, so its connection pools are reached by private names.
    """
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.AsyncHTTPTransport):
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend, turns, lookups)


class _Backend(httpcore2.AsyncNetworkBackend):
    """The backend of a pool, with streams that count, and look-ups that take no thread of the event loop's."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend, turns: OwnTurns, lookups: NameLookups) -> None:
        self._inner, self._turns, self._lookups = inner, turns, lookups

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *args: Any, **more: Any
    ) -> httpcore2.AsyncNetworkStream:
        clock = asyncio.get_running_loop().time
        end = clock() + (FOREVER if timeout is None else timeout)
        try:
            async with asyncio.timeout(timeout):
                *first, last = await self._addresses(host, port)
        except TimeoutError:
            silent = SILENT.format(f"the name server for {host}", timeout)
            raise httpcore2.ConnectTimeout(silent) from None
        for one in first:  # not at once: of two that connect, one would be left open
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                seconds = min(NEXT_ADDRESS, max(0.0, end - clock()))
                return _Stream(await self._inner.connect_tcp(one, port, seconds, *args, **more), self._turns)
        try:
            seconds = max(0.0, end - clock())
            return _Stream(await self._inner.connect_tcp(last, port, seconds, *args, **more), self._turns)
        except httpcore2.ConnectTimeout:
            raise httpcore2.ConnectTimeout(SILENT.format(host, timeout)) from None

    async def _addresses(self, host: str, port: int) -> list[str]:
        """The first addresses of this host, each once. Raises httpcore2.ConnectError."""
        try:
            return [str(ip_address(host))]
        except ValueError:
            pass
        try:
            found = await self._lookups.addresses("", host, port)
        except TooManyLookups as error:
            raise httpcore2.ConnectError(str(error)) from None
        except (OSError, UnicodeError) as error:
            raise httpcore2.ConnectError(NO_ADDRESS.format(host, error)) from error
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))[:MAX_ADDRESSES]

    async def connect_unix_socket(self, *args: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.connect_unix_socket(*args, **more), self._turns)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that counts what is read of it while there is a bound."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream, turns: OwnTurns) -> None:
        self._inner, self._turns = inner, turns

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        bound = _BOUND.get()
        data = await self._inner.read(min(max_bytes, PIECE) if bound else max_bytes, timeout)
        if bound:
            bound.take(data)
        await self._turns.next()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        inner = await self._inner.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(inner, self._turns)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
