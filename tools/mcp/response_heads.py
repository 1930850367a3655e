"""Bounds on what an HTTP server may send before its answer begins: endless headers, endless 1xx responses."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpcore2
import httpx2

MAX_HEAD_BYTES = 128 * 1024  # of one answer up to its body, 1xx responses before it included
PIECE = 4096  # bytes that are parsed at once: 64 KiB of 1xx responses would stop the event loop for 0.1 s
TOO_LONG = f"what comes before its answer is longer than {MAX_HEAD_BYTES >> 10} KiB"


@dataclass(slots=True)
class _Head:
    """The bytes of an answer's head that were read."""

    size: int = 0


_HEAD: ContextVar[_Head | None] = ContextVar("the head that is read", default=None)


@contextmanager
def reading_head() -> Iterator[None]:
    """Every byte that this task reads in the block counts as head. Raises httpx2.RemoteProtocolError."""
    token = _HEAD.set(_Head())
    try:
        yield
    finally:
        _HEAD.reset(token)


def bound(client: httpx2.AsyncClient) -> None:
    """Let the connections of this client keep to the bound.

    httpx2 skips 1xx responses without end and has no hook there, so its connection pools are reached by private names.
    """
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx2.AsyncHTTPTransport):
            pool = transport._pool
            pool._network_backend = _Backend(pool._network_backend)


class _Backend(httpcore2.AsyncNetworkBackend):
    """The backend of a pool, with streams that count."""

    def __init__(self, inner: httpcore2.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(self, *args: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.connect_tcp(*args, **more))

    async def connect_unix_socket(self, *args: Any, **more: Any) -> httpcore2.AsyncNetworkStream:
        return _Stream(await self._inner.connect_unix_socket(*args, **more))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    """A connection that counts what it reads while a head is read."""

    def __init__(self, inner: httpcore2.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        head = _HEAD.get()
        if head is None:
            return await self._inner.read(max_bytes, timeout)
        data = await self._inner.read(min(max_bytes, PIECE), timeout)
        head.size += len(data)
        if head.size > MAX_HEAD_BYTES:
            raise httpcore2.RemoteProtocolError(TOO_LONG)
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
        return _Stream(await self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
