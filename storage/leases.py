"""The chance to confirm, kept in Redis: one record per pending action, which ends by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, RedisError

from gate.rules.ports import Lease, Unavailable
from storage.codec import dumps, loads

SECONDS = 1.0  # for one question, connecting included
AWAY = "One of my stores (Redis) does not answer, so nothing can be confirmed now. Nothing ran: try again in a moment."

# KEYS: the record. ARGV: the record, its version, its milliseconds. A newer version that is there already stays: two
# edits may arrive in the wrong order.
PUT = """
local ours, record = pcall(cjson.decode, redis.call('GET', KEYS[1]))
local version = ours and type(record) == 'table' and tonumber(record.version)
if version and version > tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', tonumber(ARGV[3]))
return 1
"""


def open_redis(url: str) -> Redis:
    """A client that gives up after a second, and tries again once where the connection was closed meanwhile.

    Not for a Redis cluster: the scripts touch keys of several slots.
    """
    once = Retry(NoBackoff(), 1, supported_errors=(ConnectionError,))
    return Redis.from_url(
        url, decode_responses=True, retry=once, socket_timeout=SECONDS, socket_connect_timeout=SECONDS
    )


class RedisLeases:
    """gate.rules.ports.Leases. Keys: `{namespace}:{action}`."""

    def __init__(self, redis: Redis, namespace: str = "confirmation") -> None:
        self._redis = redis
        self._space = namespace
        self._put = redis.register_script(PUT)

    async def put(self, lease: Lease, ttl: float) -> None:
        """Write or replace, for `ttl` seconds; an older version never replaces a newer."""
        record: list[str | int] = [dumps(Lease, lease), lease.version, max(round(ttl * 1000), 1)]
        await ask_redis(self._put([self._key(lease.action)], record))

    async def get(self, action_id: str) -> Lease | None:
        text = await ask_redis(self._redis.get(self._key(action_id)))
        return _read(text) if text else None

    async def drop(self, action_id: str) -> None:
        await ask_redis(self._redis.delete(self._key(action_id)))

    def _key(self, action_id: str) -> str:
        return f"{self._space}:{action_id}"


def _read(text: str) -> Lease | None:
    """The lease, or None for a record that is none of ours: as good as none, so nothing is confirmed by it."""
    try:
        lease: Lease = loads(Lease, text)
        return lease
    except (ValueError, TypeError, KeyError):
        return None


async def ask_redis(answer: Awaitable[Any]) -> Any:
    """The answer of Redis. Raises Unavailable when there is none in time."""
    try:
        async with asyncio.timeout(SECONDS):  # the client's own limit counts anew for each of its attempts
            return await answer
    except (RedisError, OSError) as error:  # OSError has TimeoutError in it
        raise Unavailable(AWAY) from error
